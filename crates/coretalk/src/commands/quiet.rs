//! `quiet`: prints the quietest CPUs for `taskset`.

use crate::args::QuietArgs;
use crate::args::options::Global;
use crate::exit::{ExitCode, Failure};
use crate::resolve::cpus::{Chosen, cpus_and_pairs, selected};
use crate::resolve::machine;
use crate::run::out::Out;
use coretalk_model::{CpuSelection, CpuSet};

pub fn execute(global: &Global, args: &QuietArgs) -> Result<ExitCode, Failure> {
    let mut machine = machine::open(global.machine.as_ref(), 0)?;
    let wanted = Chosen::for_machine(&mut *machine, global)?;
    let (among, _) = cpus_and_pairs(&*machine, &wanted, None, 1)?;
    let quiet = CpuSelection::quiet(args.number.unwrap_or(1));
    let cpus = selected(&mut *machine, global, "quiet", &quiet, Some(&among))?;
    Out::open(global.output.as_deref())?.text(&format!("{}\n", CpuSet::from_iter(cpus)))?;
    Ok(ExitCode::Done)
}
