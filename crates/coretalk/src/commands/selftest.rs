//! `selftest`: checks on this machine what the documentation promises.

use crate::args::options::Global;
use crate::commands::shape::{Shape, say, shape};
use crate::exit::{ExitCode, Failure};
use crate::resolve::machine;
use crate::resolve::output::{self, Verbosity, print_notice};
use crate::run::out::Out;
use crate::run::signals;
use crate::selftest;
use coretalk_measure::Machine;
use coretalk_model::Verdict;
use coretalk_report as report;
use coretalk_report::document::SelftestDoc;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs all checks. If the document goes to a file, the text goes to standard output.
pub fn execute(global: &Global) -> Result<ExitCode, Failure> {
    let shape = shape(global, "selftest")?;
    let mut machine = machine::host()?;
    let stop = signals::stop()?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::Environment(format!("failed to find this program's own file: {error}")))?;
    let scratch = Scratch::new()?;
    let cpus = machine.allowance().mask.intersection(&machine.allowance().cpuset);
    let doctor_findings = machine.examine(&cpus, None);
    let verbosity = output::options(global).verbosity;
    let began = Instant::now();
    let mut announce = |promise: &str| {
        print_notice(verbosity, Verbosity::Normal, &format!("checking: {promise}"));
    };
    let findings = selftest::run(&program, &scratch.0, &cpus, &stop, &mut announce);
    if stop.is_raised() {
        return Err(Failure::Interrupted("interrupted; `selftest` saves nothing".into()));
    }
    let verdict = selftest::verdict(&findings);
    let blocks = report::facts::selftest(&findings, began.elapsed().as_secs_f64());
    match shape {
        Shape::Text => {
            say(global, &blocks)?;
        }
        Shape::Json(identity) => {
            let document = SelftestDoc::new(
                machine.topology(),
                machine.environment(),
                &doctor_findings,
                &findings,
                verdict,
                identity,
            );
            Out::open(global.output.as_deref())?.write(|out| Ok(document.write_to(out)?))?;
            if global.output.is_some() {
                say(&Global { output: None, ..global.clone() }, &blocks)?;
            }
        }
    }
    Ok(match verdict {
        Verdict::Ok | Verdict::Warn => ExitCode::Done,
        Verdict::Fail => ExitCode::Found,
        Verdict::CannotTell => ExitCode::CannotTell,
    })
}

/// A temporary directory that is removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, Failure> {
        let path = std::env::temp_dir().join(format!("coretalk-selftest-{}", std::process::id()));
        // Only the owner has access, because runs are private.
        private_directory(&path).map_err(|source| Failure::Write { to: Some(path.clone()), source })?;
        Ok(Scratch(path))
    }
}

#[cfg(unix)]
fn private_directory(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn private_directory(path: &Path) -> std::io::Result<()> {
    fs::create_dir(path)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // After a failure, the system removes temporary files eventually.
        let _ = fs::remove_dir_all(&self.0);
    }
}
