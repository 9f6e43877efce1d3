//! `lint`: finds doubtful values in matrices of other tools.

use crate::args::LintArgs;
use crate::args::options::Global;
use crate::commands::shape::say;
use crate::exit::{ExitCode, Failure};
use crate::resolve::files;
use crate::resolve::output::{self, Verbosity, print_notice};
use coretalk_model::formats::ImportedMatrix;
use coretalk_model::lint::lint;
use coretalk_report::blocks::Block;
use coretalk_report::lint::{LintView, blocks};
use std::path::Path;

/// Reads every file first. Unreadable files do not stop the others; the final error names them.
pub fn execute(global: &Global, args: &LintArgs) -> Result<ExitCode, Failure> {
    let (matrices, refused) = files::matrices_of_all(&args.files)?;
    let (printed, doubted) = with_views(&matrices, |views| {
        (say(global, &blocks(views)), views.iter().filter(|view| !view.doubts.is_empty()).count())
    });
    printed?;
    if let Some(refused) = refused {
        return Err(refused);
    }
    if global.strict && doubted > 0 {
        let text =
            format!("{doubted} of {} matrices are doubtful, which fails with --strict", matrices.len());
        print_notice(output::options(global).verbosity, Verbosity::Normal, &text);
        return Ok(ExitCode::Found);
    }
    Ok(ExitCode::Done)
}

pub(super) fn with_blocks<R>(args: &LintArgs, show: impl FnOnce(&[Block<'_>]) -> R) -> Result<R, Failure> {
    let (matrices, _) = files::matrices_of_all(&args.files)?;
    Ok(with_views(&matrices, |views| show(&blocks(views))))
}

fn with_views<R>(matrices: &[(&Path, ImportedMatrix)], show: impl FnOnce(&[LintView<'_>]) -> R) -> R {
    let names: Vec<String> = matrices.iter().map(|(file, _)| file.display().to_string()).collect();
    let mut views = Vec::new();
    for (name, (_, matrix)) in names.iter().zip(matrices) {
        views.push(LintView { name, matrix, doubts: lint(matrix) });
    }
    show(&views)
}
