//! [`AsmBlock`]: machine code as text.

/// The code of one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsmBlock {
    /// The function's symbol.
    pub symbol: String,
    /// One instruction per line: hexadecimal offset from the start of the function, and text.
    pub lines: Vec<String>,
}
