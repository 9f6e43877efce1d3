//! Options of `wake`.

use crate::args::runtime::RuntimeArgs;
use crate::args::series::{SeriesArgs, list};
use crate::args::value::{self, PairsWord};
use clap::Args;
use coretalk_measure::probes::wake;
use coretalk_model::series::Parameters;

/// Options of `wake`.
#[derive(Debug, Clone, Default, Args)]
pub struct WakeArgs {
    /// Primitives, listed by `coretalk probes`; and RUNTIME:NAME of a runtime of another language (default:
    /// semaphore,std-mutex,condvar-one,park,eventfd,pipe)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub primitive: Vec<String>,
    /// Idle time before each wake-up, for example 1us,20us,1ms, or 1us..1s in powers of ten (default: 20us,1ms,20ms;
    /// 20us with --pairs all)
    #[arg(long, value_name = "LIST", value_parser = value::gaps)]
    pub gap: Option<value::Gaps>,
    /// Pairs to measure, waker first: all, representatives, or a list such as 0-1,9-4 (default: representatives)
    #[arg(long, value_name = "PAIRS", value_parser = value::pairs)]
    pub pairs: Option<PairsWord>,
    /// Let both threads use all measured CPUs, and count where the waiter ran relative to the waker
    #[arg(long, conflicts_with = "pairs")]
    pub unpinned: bool,
    /// Minimum number of wake-ups per trial over all passes, if the budget allows; more are made if the
    /// precision requires it (default: 50000)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub samples: Option<u32>,
    /// Runtimes of other languages.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
}

impl SeriesArgs for WakeArgs {
    fn probe(&self) -> &'static str {
        "wake"
    }

    fn options(&self) -> Parameters {
        let primitives = list(&self.primitive);
        // `--pairs all` requests a map, which has a single gap even for few pairs.
        let map_gap =
            (self.pairs == Some(PairsWord::All) && self.fewest_cpus() > 1).then_some(wake::MAP_GAP_NS);
        let gaps = self.gap.as_ref().map_or(map_gap.into_iter().collect(), |gaps| gaps.0.clone());
        let gaps: Vec<String> = gaps.iter().map(ToString::to_string).collect();
        let samples = self.samples.map_or(wake::SAMPLES, f64::from);
        Parameters::default()
            .with_some("primitive", primitives)
            .with_some(wake::names::GAP_NS, (!gaps.is_empty()).then(|| gaps.join(",")))
            .with("samples", samples)
            .with_some(wake::names::UNPINNED, self.unpinned.then_some(1.0))
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
        let needs_one =
            !self.primitive.is_empty() && self.primitive.iter().all(|name| wake::needs_one_cpu(name));
        if needs_one { 1 } else { 2 }
    }
}
