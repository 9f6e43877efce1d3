//! Architectures whose counter is the standard library's clock: nothing is declared.

use super::DeclaredRate;

/// None.
pub fn declared_rates() -> Vec<DeclaredRate> {
    Vec::new()
}

/// Unknown.
pub fn invariant() -> Option<bool> {
    None
}
