//! The tool from outside, in one binary.

mod cli;
