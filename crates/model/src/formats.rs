//! Matrix files of other tools: pure functions over bytes.
