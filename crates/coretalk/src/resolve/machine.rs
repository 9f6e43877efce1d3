//! Opens the host or a simulated machine.

use crate::args::options::Global;
use crate::args::value::MachineWord;
use crate::build_facts::build_facts;
use crate::exit::Failure;
use crate::resolve::files;
use crate::resolve::output::{Verbosity, print_notice};
use coretalk_measure::host::HostMachine;
use coretalk_measure::sim::{Scenario, SimMachine};
use coretalk_measure::{Machine, MachineError};
use coretalk_model::Matrix;
use coretalk_model::stats::Key;
use std::ffi::OsStr;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;

/// Opens the requested machine. `seed` drives the random events of a simulated machine. Fails for an unknown name, a
/// file that does not describe a machine, or a host that cannot measure.
pub fn open(word: Option<&MachineWord>, seed: u64) -> Result<Box<dyn Machine>, Failure> {
    match word {
        None | Some(MachineWord::Host) => Ok(Box::new(host()?)),
        Some(MachineWord::Sim(what)) => Ok(Box::new(SimMachine::open(scenario(what)?, seed))),
    }
}

/// Opens the requested machine with the requested or a random seed. Fails as [`open`] does.
pub fn open_seeded(global: &Global) -> Result<(Box<dyn Machine>, u64), Failure> {
    let seed = global.seed.unwrap_or_else(fresh_seed);
    Ok((open(global.machine.as_ref(), seed)?, seed))
}

/// Opens this machine. Fails if it cannot measure.
pub fn host() -> Result<HostMachine, MachineError> {
    Ok(HostMachine::open()?.measured_by(build_facts()))
}

/// Chooses a random seed that is easy to type and exact in every JSON reader.
fn fresh_seed() -> u64 {
    // The standard library takes the keys of hash maps from the randomness of the system.
    std::hash::RandomState::new().build_hasher().finish() >> 32
}

fn scenario(what: &OsStr) -> Result<Scenario, Failure> {
    let path = Path::new(what);
    let what: &str = &path.to_string_lossy();
    if let Some(scenario) = Scenario::builtin(what) {
        return Ok(scenario);
    }
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "toml" => {
            let text = String::from_utf8(files::read(path)?)
                .map_err(|_| Failure::Input(format!("failed to read {what}: it is not UTF-8 text")))?;
            Scenario::from_toml(&text).map_err(|error| Failure::Input(format!("{what}: failed to {error}")))
        }
        ending if ending == "csv" || path.is_file() => {
            let Some(first) = files::matrices_of(&files::read(path)?, what)?.into_iter().next() else {
                return Err(Failure::Input(format!("{what}: it contains no matrix")));
            };
            if first.unit != coretalk_model::formats::Unit::Ns {
                return Err(Failure::Input(format!(
                    "{what}: its unit is {}, but a simulated machine needs ns",
                    first.unit
                )));
            }
            let all = first.matrix.len() * (first.matrix.len() - 1) / 2;
            let has_transposed = |row, column| first.matrix.get(column, row).is_some_and(Option::is_some);
            let is_missing = |(row, column, cell): &(usize, usize, &Option<f64>)| {
                row > column && cell.is_none() && !has_transposed(*row, *column)
            };
            let missing = first.matrix.iter().filter(is_missing).count();
            if missing > 0 {
                let text = format!(
                    "{what}: {missing} of {all} latencies are missing; the simulated machine uses the median of the others"
                );
                print_notice(Verbosity::Normal, Verbosity::Normal, &text);
            }
            Scenario::from_matrix(&matrix_name(&first.matrix), first.matrix)
                .map_err(|error| Failure::Input(format!("{what}: failed to {error}")))
        }
        _ => Err(Failure::Usage(format!(
            "unknown simulated machine `{what}`; use {}, a FILE.toml, or a file with a matrix",
            Scenario::names().join(", ")
        ))),
    }
}

/// Names a machine made of a matrix by a hash of its content, so equal matrices have equal names. The file name is not
/// used, because it may be private.
fn matrix_name(matrix: &Matrix<Option<f64>>) -> String {
    let mut key = Key::from_words(&matrix.cpus().iter().map(|cpu| u64::from(cpu.0)).collect::<Vec<_>>());
    for (_, _, value) in matrix.iter() {
        key = key.with(value.map_or(0, f64::to_bits));
    }
    format!("matrix-{:08x}", key.bits(0) >> 32)
}
