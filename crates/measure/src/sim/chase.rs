//! One role reads, each read depending on the one before, lines that the other dirtied.

/// One dependent read. Nobody waits for the other, so no spin slows it down.
pub fn read_ns(transfer_ns: f64, transfers_per_read: f64) -> f64 {
    transfer_ns * transfers_per_read
}
