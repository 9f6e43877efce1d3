//! Ids and time stamps of runs.

use coretalk_model::run::RunHeader;
use std::hash::{BuildHasher, RandomState};

/// Creates the header of a run that begins now.
pub fn header(command: Vec<String>, seed: u64) -> RunHeader {
    RunHeader {
        id: fresh_id(),
        started: now(),
        command,
        seed,
        simulated: false,
        complete: false,
        departed: Vec::new(),
        tags: Vec::new(),
        segments: 1,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn fresh_id() -> String {
    let millis = jiff::Timestamp::now().as_millisecond().try_into().unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &random()).into_uuid().to_string()
}

/// Returns random bytes from the keys of hash maps, which the standard library gets by a system call. Other libraries
/// need a libc function that static binaries lack. Their fallback is /dev, which containers may lack.
fn random() -> [u8; 10] {
    let hashes = [0, 1].map(|_| RandomState::new().hash_one(std::process::id()).to_ne_bytes());
    std::array::from_fn(|index| hashes[index / 8][index % 8])
}

/// Returns the present time in RFC 3339, UTC, whole milliseconds.
pub fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_sort_by_time() {
        let (first, at_once) = (fresh_id(), fresh_id());
        assert_ne!(first, at_once);
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(first < fresh_id());
        let id = uuid::Uuid::parse_str(&first).unwrap();
        assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
    }
}
