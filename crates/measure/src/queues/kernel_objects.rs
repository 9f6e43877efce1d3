//! Queues out of objects of the kernel: every message costs system calls, and full or empty is known to the kernel
//! only. A wait ends when the other end goes.

pub mod eventfd;
pub mod pipe;
pub mod sem_t;
pub mod socketpair;
