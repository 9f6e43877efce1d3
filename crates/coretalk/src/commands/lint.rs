//! `lint`: what is doubtful about matrices of other tools.

use crate::args::LintArgs;
use crate::args::options::Global;
use crate::commands::shape::say;
use crate::exit::{ExitCode, Failure};
use crate::report::lint::{LintView, blocks};
use crate::resolve::files;
use crate::resolve::output::{self, Verbosity, remark};
use coretalk_model::formats::ImportedMatrix;
use coretalk_model::lint::lint;
use std::path::Path;

/// Reads every file first. One that cannot be read is named at the end, and does not stop the others.
///
/// # Errors
/// A file cannot be read.
pub fn act(global: &Global, args: &LintArgs) -> Result<ExitCode, Failure> {
    let (matrices, refused) = files::matrices_of_all(&args.files)?;
    let named = |(file, matrix): (&Path, ImportedMatrix)| (file.display().to_string(), matrix);
    let matrices: Vec<(String, ImportedMatrix)> = matrices.into_iter().map(named).collect();
    let views: Vec<LintView<'_>> =
        matrices.iter().map(|(name, matrix)| LintView { name, matrix, doubts: lint(matrix) }).collect();
    say(global, &blocks(&views))?;
    if let Some(refused) = refused {
        return Err(refused);
    }
    let doubted = views.iter().filter(|view| !view.doubts.is_empty()).count();
    if global.strict && doubted > 0 {
        let text = format!("{doubted} of {} matrices are doubtful, which fails with --strict", views.len());
        remark(output::options(global).verbosity, Verbosity::Normal, &text);
        return Ok(ExitCode::Found);
    }
    Ok(ExitCode::Done)
}
