//! Everything that touches the hardware, and the simulated machine that stands in for it.
