//! [`Screen`] and [`Saved`]: on which occasion a run is shown, and under what name it can be found again.

/// Where the run was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved<'a> {
    /// Under this name: a tag or the shortest unique prefix of the id.
    As(&'a str),
    /// Nowhere, as asked.
    Not,
}

/// Which screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen<'a> {
    /// After measuring.
    Measured(Saved<'a>),
    /// Of a run read from its file; says when it was started.
    Shown(Saved<'a>),
}

impl<'a> Saved<'a> {
    /// The name, where it has one.
    pub fn name(self) -> Option<&'a str> {
        match self {
            Saved::As(id) => Some(id),
            Saved::Not => None,
        }
    }
}

impl<'a> Screen<'a> {
    /// Where the run was saved.
    pub fn saved(self) -> Saved<'a> {
        match self {
            Screen::Measured(saved) | Screen::Shown(saved) => saved,
        }
    }
}
