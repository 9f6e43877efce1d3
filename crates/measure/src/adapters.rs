//! Adapters: programs in other languages that measure the queues, waits, wake-ups, locks and threads of their runtime.
//! `docs/adapters.md` specifies their output and its checks.

pub mod catalogue;
pub mod description;
pub mod error;
pub mod pass;
pub mod protocol;
pub mod sources;

// Pinning and watching threads needs Linux.
#[cfg(all(target_os = "linux", not(miri)))]
mod answer;
#[cfg(all(target_os = "linux", not(miri)))]
pub mod builder;
#[cfg(all(target_os = "linux", not(miri)))]
mod checks;
#[cfg(all(target_os = "linux", not(miri)))]
mod child;
#[cfg(all(target_os = "linux", not(miri)))]
pub mod conformance;
#[cfg(all(target_os = "linux", not(miri)))]
pub mod found;
#[cfg(all(target_os = "linux", not(miri)))]
mod lines;
#[cfg(all(target_os = "linux", not(miri)))]
mod orphans;
#[cfg(all(target_os = "linux", not(miri)))]
mod pace;
#[cfg(all(target_os = "linux", not(miri)))]
pub mod pins;
#[cfg(all(target_os = "linux", not(miri)))]
pub mod pool;
#[cfg(all(target_os = "linux", not(miri)))]
pub mod process;
#[cfg(all(target_os = "linux", not(miri)))]
pub mod runtimes;
#[cfg(all(target_os = "linux", not(miri)))]
mod shares;
#[cfg(all(target_os = "linux", not(miri)))]
mod tree;

pub use description::{Description, DescriptionError, Offer};
pub use error::AdapterError;
pub use pass::{AdapterPass, Note, RoleAccount, RoleShare};
pub use protocol::{AdapterOperation, Events, OperationKind, Payload, Request, RuntimeWork};

use std::ffi::OsString;

/// A program that speaks the protocol of `docs/adapters.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// Prefix of all names that the adapter offers, without the colon: `java`.
    pub name: String,
    /// Program, looked up in `PATH`, and arguments. `describe` or `serve` is appended.
    pub command: Vec<OsString>,
    /// Environment variables added to those of this process.
    pub environment: Vec<(String, String)>,
}
