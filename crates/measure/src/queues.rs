//! Bounded queues between threads, measured by `queue`. All have the same two traits, so that the compiler builds a
//! timed loop for each queue and each payload.
//!
//! A queue has two ends, [`Sender`](ends::Sender) and [`Receiver`](ends::Receiver), each owned by one thread. When an
//! end is dropped, the queue closes and sleepers on the other end wake up. One of two ends can always continue and
//! checks its guard, so every wait ends.

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
