//! Statistics: one idea per file, no formatting of numbers.
