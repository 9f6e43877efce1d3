//! Programs in other languages that perform queues, waits and wake-ups of their runtime: `ADAPTERS.md` says what they
//! print, and what is checked of it.

pub mod description;
pub mod error;
pub mod pass;
pub mod protocol;

pub use description::{Description, DescriptionError, Offer};
pub use error::AdapterError;
pub use pass::{Note, Pass, RoleAccount};
pub use protocol::{Events, Kind, Operation, Payload, Request};

use std::ffi::OsString;

/// A program that speaks the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// The word before the colon of everything that it offers: `java`.
    pub name: String,
    /// The program, looked up in `PATH`, and its arguments; `describe` or `serve` follows them.
    pub command: Vec<OsString>,
    /// Variables that it is started with, beside those of this process.
    pub environment: Vec<(String, String)>,
}
