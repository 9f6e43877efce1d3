//! Builds the trials of the `wait` probe from a request.

use crate::series::{RequestError, SeriesRequest};
use crate::strategies::catalogue::{StrategyKind, strategy_kind};
use coretalk_model::CpuId;
use coretalk_model::external::External;
use coretalk_model::series::{Parameters, TrialSpec};
use coretalk_model::wait::names;

/// Default strategies. Strategies that the CPU lacks are left out.
const DEFAULT: &str = if cfg!(target_arch = "aarch64") {
    "clock,busy,pause,pause:8,fence,yield,spin-futex:1000,futex,backoff,wfe"
} else {
    "clock,busy,pause,pause:8,fence,yield,spin-futex:1000,futex,backoff,umwait,tpause,mwaitx"
};
const DEFAULT_CALLS: &str = if cfg!(target_arch = "aarch64") {
    "busy,pause,pause:8,fence,yield,futex,spin-futex:1000,backoff,wfe"
} else {
    "busy,pause,pause:8,fence,yield,futex,spin-futex:1000,backoff,umwait,tpause,mwaitx"
};
const DEFAULT_ALTERNATE: &str = "pause";
/// Name of the clock in a list of strategies. A runtime's clock has a prefix (`java:clock`).
const CLOCK: &str = "clock";
/// Strategy with which `alternate` compares.
const BUSY: &str = "busy";

/// What a trial times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Every round trip.
    Timed,
    /// Every round trip, alternating between the strategy and `busy`.
    Alternate,
    /// Many round trips together.
    NoClock,
    /// Single calls of the wait action.
    Cost,
    /// Work on a sibling of the waiting thread.
    Sibling,
    /// Two consecutive clock reads.
    Clock,
}

impl Mode {
    const ALL: [Mode; 6] =
        [Mode::Timed, Mode::Alternate, Mode::NoClock, Mode::Cost, Mode::Sibling, Mode::Clock];

    /// Parses the mode of a trial. A run of another version may have an unknown name.
    pub fn from_spec(spec: &TrialSpec) -> Result<Mode, RequestError> {
        let mode = spec.parameters.text("mode");
        Mode::ALL
            .into_iter()
            .find(|known| known.name() == mode)
            .ok_or_else(|| RequestError::Unfit(format!("unknown mode `{}`", mode.unwrap_or_default()).into()))
    }

    fn uses_one_cpu(self) -> bool {
        matches!(self, Mode::Cost | Mode::Clock)
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Mode::Timed => None,
            Mode::Alternate => Some(names::ALTERNATE),
            Mode::NoClock => Some(names::NO_CLOCK),
            Mode::Cost => Some(names::COST),
            Mode::Sibling => Some(names::SIBLING),
            Mode::Clock => Some(names::CLOCK),
        }
    }
}

/// The parsed parameters of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitTrial {
    /// What is timed.
    pub mode: Mode,
    /// The strategy of each side. A single role has only the first.
    pub sides: [Option<StrategyKind>; 2],
}

impl WaitTrial {
    /// Parses the parameters. A run of another version may have an unknown name.
    pub fn from_spec(spec: &TrialSpec) -> Result<WaitTrial, RequestError> {
        let mode = Mode::from_spec(spec)?;
        if mode == Mode::Clock {
            return Ok(WaitTrial { mode, sides: [None, None] });
        }
        let strategy = |name: &str| spec.parameters.text(name).map(strategy_kind).transpose();
        let first = strategy("strategy")?;
        let second = strategy("partner")?.or(first);
        let sides = match mode {
            Mode::Clock => [None, None],
            Mode::Cost | Mode::Sibling => [first, None],
            Mode::Timed | Mode::NoClock | Mode::Alternate => [first, second],
        };
        Ok(WaitTrial { mode, sides })
    }

    /// The distinct strategies.
    pub fn strategies(&self) -> impl Iterator<Item = StrategyKind> + use<> {
        let [first, second] = self.sides;
        let baseline = (self.mode == Mode::Alternate).then_some(StrategyKind::BUSY);
        let second = second.filter(|_| second != first);
        first.into_iter().chain(second).chain(baseline)
    }

    fn spec(mode: Mode, sides: [Option<StrategyKind>; 2], placement: Vec<CpuId>) -> TrialSpec {
        let partner = sides[1].filter(|_| sides[1] != sides[0]);
        let parameters = Parameters::default()
            .with_some("strategy", sides[0].map(|strategy| strategy.to_string()))
            .with_some("partner", partner.map(|strategy| strategy.to_string()))
            .with_some("mode", mode.name());
        TrialSpec { probe: super::DECLARATION.id.to_owned(), parameters, placement }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum WaitSubject {
    /// Native strategies. `None` is the clock alone.
    Native([Option<StrategyKind>; 2]),
    /// A strategy of a runtime, on both sides.
    External(External),
}

fn runtime_spec(external: &External, mode: Mode, placement: Vec<CpuId>) -> TrialSpec {
    let parameters =
        Parameters::default().with("strategy", external.to_string()).with_some("mode", mode.name());
    TrialSpec { probe: super::DECLARATION.id.to_owned(), parameters, placement }
}

/// Makes one trial per strategy and pair. Modes for one CPU use the first. If CPUs are siblings, adds sibling trials.
/// Fails if a name is unknown, duplicated or invalid for the mode.
pub fn trials(request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
    let mode = match request.options.text("mode") {
        Some(names::ALTERNATE) => Mode::Alternate,
        Some(names::NO_CLOCK) => Mode::NoClock,
        Some(names::COST) => Mode::Cost,
        _ => Mode::Timed,
    };
    let (requested, mixed) = (request.options.text("strategy"), request.options.text("asym"));
    let default = match mode {
        _ if mixed.is_some() => "",
        Mode::Alternate => DEFAULT_ALTERNATE,
        Mode::Cost => DEFAULT_CALLS,
        _ => DEFAULT,
    };
    let mut subjects: Vec<WaitSubject> = Vec::new();
    if requested.is_some_and(|requested| requested.split(',').any(|name| name.trim().is_empty())) {
        return Err(RequestError::out_of_range(
            "--strategy contains an empty name",
            "remove the extra comma, as in `busy,pause`",
        ));
    }
    let names: Vec<&str> = requested.unwrap_or(default).split(',').filter(|name| !name.is_empty()).collect();
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            return Err(RequestError::twice("--strategy", name));
        }
        let external = External::parse(name);
        let word = external.as_ref().map_or(*name, |external| external.name.as_str());
        if (mode, word) == (Mode::Alternate, BUSY) {
            let sentence = "--alternate switches between a strategy and `busy`: name another one";
            return Err(RequestError::Unfit(sentence.into()));
        }
        // The clock is not part of single calls or of many trips timed together.
        if word == CLOCK && mode != Mode::Timed {
            if requested.is_some() {
                let sentence = format!("`{name}` is the cost of timing a trip: it is meaningless here");
                return Err(RequestError::Unfit(sentence.into()));
            }
            continue;
        }
        subjects.push(match external {
            Some(external) => WaitSubject::External(external),
            None if word == CLOCK => WaitSubject::Native([None; 2]),
            None => WaitSubject::Native([Some(strategy_kind(name)?); 2]),
        });
    }
    for pair in mixed.iter().flat_map(|mixed| mixed.split(',')) {
        let pair = WaitSubject::Native(parse_sides(pair)?.map(Some));
        if subjects.contains(&pair) {
            let sentence = "--asym lists the same sides twice, or a strategy that --strategy lists too";
            return Err(RequestError::Unfit(sentence.into()));
        }
        subjects.push(pair);
    }
    let pairs = match (request.pairs, request.cpus) {
        ([], &[only]) => vec![[only, only]],
        (pairs, _) => pairs.to_vec(),
    };
    let first = *request.cpus.first().ok_or(RequestError::NoCpu)?;
    let mut trials = Vec::new();
    for subject in &subjects {
        let is_clock = match subject {
            WaitSubject::Native([first, _]) => first.is_none(),
            WaitSubject::External(external) => external.name == CLOCK,
        };
        let mode = if is_clock { Mode::Clock } else { mode };
        let spec = |placement: Vec<CpuId>| match subject {
            WaitSubject::Native(sides) => WaitTrial::spec(mode, *sides, placement),
            WaitSubject::External(external) => runtime_spec(external, mode, placement),
        };
        match mode.uses_one_cpu() {
            true => trials.push(spec(vec![first])),
            false => trials.extend(pairs.iter().map(|pair| spec(pair.to_vec()))),
        }
    }
    // Sibling trials: every strategy, on the first core with siblings.
    if let (Mode::Timed, Some([waiter, sibling])) = (mode, siblings(request)) {
        let common_strategy = |subject: &WaitSubject| match subject {
            WaitSubject::Native([first, second]) if first == second => *first,
            _ => None,
        };
        for strategy in subjects.iter().filter_map(common_strategy) {
            trials.push(WaitTrial::spec(Mode::Sibling, [Some(strategy); 2], vec![waiter, sibling]));
        }
    }
    Ok(trials)
}

fn siblings(request: &SeriesRequest<'_>) -> Option<[CpuId; 2]> {
    let cpus = request.cpus;
    cpus.iter().enumerate().find_map(|(index, &a)| {
        let is_sibling = |&&b: &&CpuId| request.topology.are_siblings(a, b);
        cpus[index + 1..].iter().find(is_sibling).map(|&b| [a, b])
    })
}

/// Parses `A:B`, where a name may itself contain a colon (`pause:8:futex`).
fn parse_sides(pair: &str) -> Result<[StrategyKind; 2], RequestError> {
    let splits = || pair.match_indices(':').map(|(at, _)| (&pair[..at], &pair[at + 1..]));
    let known = splits().find_map(|(a, b)| Some([strategy_kind(a).ok()?, strategy_kind(b).ok()?]));
    if let Some(known) = known {
        return Ok(known);
    }
    // The invalid name, if the other side is valid.
    let wrong = splits().find_map(|(a, b)| match (strategy_kind(a), strategy_kind(b)) {
        (Ok(_), Err(wrong)) | (Err(wrong), Ok(_)) => Some(wrong),
        _ => None,
    });
    let are_runtimes = |(a, b): (&str, &str)| External::parse(a).is_some() && External::parse(b).is_some();
    if splits().any(are_runtimes) {
        let sentence = "--asym takes strategies of coretalk: a runtime waits in one way on both sides, as in `--strategy java:busy`";
        return Err(RequestError::Unfit(sentence.into()));
    }
    let form = || RequestError::Unfit(format!("--asym takes two strategies as A:B, not `{pair}`").into());
    Err(wrong.unwrap_or_else(form))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> StrategyKind {
        strategy_kind(name).unwrap()
    }

    #[test]
    fn two_strategies_are_parsed_even_if_their_names_contain_colons() {
        assert_eq!(parse_sides("busy:pause"), Ok([kind("busy"), kind("pause")]));
        assert_eq!(parse_sides("pause:8:futex"), Ok([kind("pause:8"), kind("futex")]));
        assert_eq!(parse_sides("pause:spin-futex:9"), Ok([kind("pause"), kind("spin-futex:9")]));
        assert_eq!(parse_sides("pause:8:pause:9"), Ok([kind("pause:8"), kind("pause:9")]));
        for wrong in ["busy", "busy:", "busy:nap", ":", "a:b"] {
            assert!(parse_sides(wrong).is_err(), "{wrong}");
        }
        assert!(parse_sides("busy:pauze").unwrap_err().to_string().contains("`pause`"));
    }

    #[test]
    fn a_trial_survives_the_round_trip_through_its_parameters() {
        let sides = [Some(kind("pause:8")), Some(kind("futex"))];
        for mode in [Mode::Timed, Mode::NoClock, Mode::Alternate] {
            let spec = WaitTrial::spec(mode, sides, vec![CpuId(0), CpuId(1)]);
            assert_eq!(WaitTrial::from_spec(&spec), Ok(WaitTrial { mode, sides }));
        }
        let spec = WaitTrial::spec(Mode::Clock, [None; 2], vec![CpuId(0)]);
        assert_eq!(WaitTrial::from_spec(&spec), Ok(WaitTrial { mode: Mode::Clock, sides: [None; 2] }));
    }
}
