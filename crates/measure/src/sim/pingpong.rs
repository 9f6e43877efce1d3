//! Two roles hand a line back and forth.

/// One round trip: two hops, each so many transfers of the line and so many wait hints that overlap with nothing.
pub fn round_trip_ns(
    transfer_ns: f64,
    transfers_per_hop: f64,
    extra_hints_per_hop: f64,
    hint_ns: f64,
) -> f64 {
    2.0 * (transfers_per_hop * transfer_ns + extra_hints_per_hop * hint_ns)
}
