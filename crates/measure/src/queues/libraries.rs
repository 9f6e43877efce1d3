//! Queues of the standard library and of others: each as its makers meant it to be used, with nothing added.
//!
//! Where a library offers a wait with a time limit it is used, so that a wait that nobody ends is looked into after a
//! [nap](super::ends::NAP); elsewhere the other end wakes the sleeper by going. The versions are those of the lock
//! file.

pub mod crossbeam;
pub mod flume;
pub mod kanal;
pub mod ring;
pub mod sync_channel;

use super::ends::{Refusal, Shape};
use super::memory;

/// The libraries and their versions, those of locks among them: a number of theirs is a number of one version.
pub const VERSIONS: [(&str, &str); 6] = [
    ("crossbeam-channel", "0.5.17"),
    ("crossbeam-queue", "0.3.14"),
    ("flume", "0.12.0"),
    ("kanal", "0.1.1"),
    ("parking_lot", "0.12.5"),
    ("rtrb", "0.4.1"),
];

/// The capacity, where it is one that a library takes without bringing the process down.
///
/// # Errors
/// [`Refusal`]: nothing, or more than memory can hold.
fn capacity_of<M>(shape: &Shape) -> Result<usize, Refusal> {
    let capacity = shape.capacity;
    if capacity == 0 {
        let reason = "a capacity of 0 means a meeting here, not a queue".into();
        return Err(Refusal::Capacity { capacity, reason });
    }
    // Libraries abort where memory is refused: ask first for what they will ask for, a stamp beside each message.
    memory::ensure(capacity, size_of::<(M, usize)>())?;
    let mut trial: Vec<(M, usize)> = Vec::new();
    trial.try_reserve_exact(capacity).map_err(|_| Refusal::Memory { capacity })?;
    Ok(capacity)
}

#[cfg(test)]
mod tests {
    use super::VERSIONS;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let lock = include_str!("../../../../Cargo.lock");
        for (name, version) in VERSIONS {
            let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
            assert!(lock.contains(&entry), "{name} is not {version} in Cargo.lock");
        }
    }
}
