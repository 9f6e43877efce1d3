//! [`Payload`]: the type of the messages.

use crate::series::RequestError;

/// The type of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// One word.
    U64,
    /// A plain block of this many bytes, one of [`BLOCKS`].
    Bytes(u32),
    /// Text on the heap.
    String,
}

/// Supported block sizes. Each size is compiled into a loop of its own.
pub const BLOCKS: [u32; 4] = [16, 64, 256, 1024];

impl Payload {
    /// Parses `u64`, `bytes:64` or `string`. Fails if the size is not supported.
    pub fn parse(text: &str) -> Result<Payload, RequestError> {
        let sizes = BLOCKS.map(|bytes| bytes.to_string()).join(", ");
        let known =
            |bytes: &str| bytes.parse().ok().filter(|bytes| BLOCKS.contains(bytes)).map(Payload::Bytes);
        match (text, text.strip_prefix("bytes:")) {
            ("u64", _) => Ok(Payload::U64),
            ("string", _) => Ok(Payload::String),
            (_, Some(bytes)) => known(bytes).ok_or_else(|| {
                RequestError::out_of_range(format!("a message of `{bytes}` bytes"), format!("use {sizes}"))
            }),
            (_, None) => {
                let allowed = format!("use u64, string or bytes:N (N one of {sizes})");
                Err(RequestError::out_of_range(format!("unknown payload `{text}`"), allowed))
            }
        }
    }

    /// Bytes of one message in the queue.
    pub fn bytes(self) -> usize {
        match self {
            Payload::U64 => size_of::<u64>(),
            Payload::Bytes(bytes) => bytes as usize,
            Payload::String => size_of::<String>(),
        }
    }
}

impl std::fmt::Display for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Payload::U64 => f.write_str("u64"),
            Payload::Bytes(bytes) => write!(f, "bytes:{bytes}"),
            Payload::String => f.write_str("string"),
        }
    }
}
