//! Bounded queues between threads: the subjects of `queue`, all behind the same two traits, so that the timed loop is
//! compiled for each queue and each payload.
//!
//! A queue has two ends, [`Sender`](ends::Sender) and [`Receiver`](ends::Receiver), each owned by one thread. Dropping
//! an end closes the queue and wakes sleepers on the other end. Since one of two ends can always continue, and checks
//! its guard meanwhile, every wait ends.

pub mod batches;
pub mod bounded;
pub mod catalogue;
pub mod ends;
pub mod exchange;
pub mod flag_slot;
pub mod futex;
pub mod limits;
pub mod memory;
pub mod message;
pub mod mutex;
pub mod payload;
pub mod row;
pub mod semaphore;
pub mod slot;
pub mod slot_queue;
pub mod slot_row;
pub mod spinning;
pub mod spsc;

#[cfg(all(target_os = "linux", not(miri)))]
pub mod kernel_channels;
#[cfg(all(target_os = "linux", not(miri)))]
pub mod kernel_semaphores;
pub mod libraries;
pub mod paced;
#[cfg(all(target_os = "linux", not(miri)))]
pub mod registry;
pub mod slim;

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests;
