//! One role stamps its clock into a line, the other reads its own clock on sight.

/// One message in one direction.
pub fn message_ns(transfer_ns: f64, transfers_per_message: f64, direction: f64) -> f64 {
    transfer_ns * transfers_per_message * direction
}
