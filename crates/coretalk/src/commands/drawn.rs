//! [`Drawn`]: what a page or a picture is written as.

use crate::exit::Failure;
use crate::report::picture::{Medium, Picture};
use std::path::Path;

/// What a report is written as, by the ending of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// A page.
    Html,
    /// A picture of shapes.
    Svg,
    /// A picture of dots.
    Png,
}

impl Drawn {
    /// `None` for every other ending.
    pub fn of(path: &Path) -> Option<Drawn> {
        let ending = path.extension()?.to_string_lossy().to_ascii_lowercase();
        match ending.as_str() {
            "html" | "htm" => Some(Drawn::Html),
            "svg" => Some(Drawn::Svg),
            "png" => Some(Drawn::Png),
            _ => None,
        }
    }

    /// The bytes of the file; only the one that is asked for is made.
    ///
    /// # Errors
    /// What is to be written cannot be made, or is too large for a PNG.
    pub fn bytes(
        self,
        page: impl FnOnce() -> Result<String, Failure>,
        picture: impl FnOnce() -> Result<Picture, Failure>,
    ) -> Result<Vec<u8>, Failure> {
        match self {
            Drawn::Html => page().map(String::into_bytes),
            Drawn::Svg => Ok(picture()?.to_svg(Medium::File).into_bytes()),
            Drawn::Png => {
                let too_large =
                    || Failure::Usage("the picture is too large for a PNG; write .svg or .html".into());
                picture()?.to_png().ok_or_else(too_large)
            }
        }
    }
}
