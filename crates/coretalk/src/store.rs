//! Run files and the directory that holds them.
