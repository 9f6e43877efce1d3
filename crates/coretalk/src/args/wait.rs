//! Options of `wait`.

use crate::args::runtime::RuntimeArgs;
use crate::args::series::{SeriesArgs, list};
use crate::args::value::{self, PairsWord};
use clap::Args;
use coretalk_model::series::Parameters;
use coretalk_model::wait::names;

/// Options of `wait`.
#[derive(Debug, Clone, Default, Args)]
pub struct WaitArgs {
    /// Strategies: {names}; clock (the cost of timing); RUNTIME:NAME of a runtime of another language (default: all
    /// that this CPU supports)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub strategy: Vec<String>,
    /// Different strategies for the two CPUs of a pair: with pause:futex the first spins and the second sleeps
    #[arg(long, value_name = "A:B", value_delimiter = ',')]
    pub asym: Vec<String>,
    /// Alternate between --strategy (default: pause) and `busy` on every round trip, with a distribution of each
    #[arg(long, conflicts_with_all = ["no_clock", "cost", "asym"])]
    pub alternate: bool,
    /// Time many round trips at once, without clock reads in the loop
    #[arg(long, conflicts_with = "cost")]
    pub no_clock: bool,
    /// Instead of round trips, time one call of what each strategy does between polls, in ns and cycles
    #[arg(long, conflicts_with_all = ["asym", "trips", "pairs"])]
    pub cost: bool,
    /// Number of round trips per trial, if the budget allows (default: as many as fit in 8 to 24 passes)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    pub trips: Option<u64>,
    /// Pairs to measure, the timing thread first: all, representatives, or a list such as 0-1,9-4 (default:
    /// representatives)
    #[arg(long, value_name = "PAIRS", value_parser = value::pairs)]
    pub pairs: Option<PairsWord>,
    /// Runtimes of other languages.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
}

impl SeriesArgs for WaitArgs {
    fn probe(&self) -> &'static str {
        names::PROBE
    }

    fn options(&self) -> Parameters {
        let mode =
            [(self.alternate, names::ALTERNATE), (self.no_clock, names::NO_CLOCK), (self.cost, names::COST)];
        Parameters::default()
            .with_some("strategy", list(&self.strategy))
            .with_some("asym", list(&self.asym))
            .with_some("mode", mode.into_iter().find(|(asked, _)| *asked).map(|(_, name)| name))
            .with_some("samples", self.trips.map(|trips| trips as f64))
    }

    fn pairs(&self) -> Option<&PairsWord> {
        self.pairs.as_ref()
    }

    fn runtime(&self) -> Option<&RuntimeArgs> {
        Some(&self.runtime)
    }

    fn may_share_a_cpu(&self) -> bool {
        true
    }

    fn fewest_cpus(&self) -> usize {
        1
    }
}
