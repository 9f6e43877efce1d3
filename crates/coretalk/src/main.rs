//! coretalk: measures how fast the CPUs of a machine talk to each other.

fn main() {}
