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

/// Reads every file first, so that a bad one is known before anything is said.
///
/// # Errors
/// A file cannot be read.
pub fn act(global: &Global, args: &LintArgs) -> Result<ExitCode, Failure> {
    let mut matrices: Vec<(String, ImportedMatrix)> = Vec::new();
    for file in &args.files {
        let named = |matrix| (file.display().to_string(), matrix);
        matrices.extend(files::matrices(file)?.into_iter().map(named));
    }
    let views: Vec<LintView<'_>> =
        matrices.iter().map(|(name, matrix)| LintView { name, matrix, doubts: lint(matrix) }).collect();
    say(global, &blocks(&views))?;
    let doubted = views.iter().filter(|view| !view.doubts.is_empty()).count();
    if global.strict && doubted > 0 {
        let text = format!("{doubted} of {} matrices are doubtful, which fails with --strict", views.len());
        remark(output::options(global).verbosity, Verbosity::Normal, &text);
        return Ok(ExitCode::Found);
    }
    Ok(ExitCode::Done)
}
