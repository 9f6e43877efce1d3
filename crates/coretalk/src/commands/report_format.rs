//! [`ReportFormat`]: what a page or a picture is written as.

use crate::exit::Failure;
use crate::report::picture::{Medium, Picture};
use std::path::Path;

/// What a report is written as, by the ending of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportFormat {
    /// A page.
    Html,
    /// A picture of shapes.
    Svg,
    /// A picture of dots.
    Png,
}

impl ReportFormat {
    /// `None` for every other ending.
    pub fn of(path: &Path) -> Option<ReportFormat> {
        let ending = path.extension()?.to_string_lossy().to_ascii_lowercase();
        match ending.as_str() {
            "html" | "htm" => Some(ReportFormat::Html),
            "svg" => Some(ReportFormat::Svg),
            "png" => Some(ReportFormat::Png),
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
            ReportFormat::Html => page().map(String::into_bytes),
            ReportFormat::Svg => Ok(picture()?.to_svg(Medium::File).into_bytes()),
            ReportFormat::Png => {
                let too_large =
                    || Failure::Usage("the picture is too large for a PNG; write .svg or .html".into());
                picture()?.to_png().ok_or_else(too_large)
            }
        }
    }
}
