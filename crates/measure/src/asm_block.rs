//! [`AsmBlock`]: machine code as text.

/// The code of one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsmBlock {
    /// Name of the function, as the linker knows it.
    pub symbol: String,
    /// One instruction each: offset from the start of the function in hexadecimal, and text.
    pub lines: Vec<String>,
}
