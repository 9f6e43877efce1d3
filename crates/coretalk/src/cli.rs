//! The command line: parse, resolve, act.
