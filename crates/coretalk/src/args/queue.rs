//! Options of `queue`.

use crate::args::runtime::RuntimeArgs;
use crate::args::series::{SeriesArgs, list};
use crate::args::value::{self, AutoOr, PairsWord, RatesWord};
use clap::Args;
use coretalk_model::Picos;
use coretalk_model::series::{ParameterValue, Parameters};

/// Options of `queue`.
#[derive(Debug, Clone, Default, Args)]
pub struct QueueArgs {
    /// Capacities in messages, 1 to 4194302 (default: 1,10,100,1000,10000; 1000 with --rate, --rate-sweep or --batch)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub capacity: Vec<String>,
    /// Queues: {names}; semaphore-spin:N, which polls N times; and RUNTIME:NAME of a runtime of another language
    /// (default: semaphore-slim,semaphore,spsc; mutex,array-queue,crossbeam with several producers or consumers)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub queue: Vec<String>,
    /// Message types: u64, bytes:16, bytes:64, bytes:256, bytes:1024, string (default: u64)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub payload: Vec<String>,
    /// Messages per cell over the first eight passes, if the budget allows, such as 25M (default: passes of a few ms)
    #[arg(long, value_name = "N", value_parser = value::messages)]
    pub messages: Option<u64>,
    /// Send at a fixed rate, for example 100k/s, and measure message latency
    #[arg(long, value_name = "N/s", value_parser = value::rate, conflicts_with_all = ["producers", "consumers"])]
    pub rate: Option<f64>,
    /// Send at 21 rates from FROM to TO, for example 100k..10M/s, measure message latency at each, and find the highest
    /// rate that the queue sustains (default: 10k..100M/s)
    #[arg(
        long,
        value_name = "FROM..TO",
        num_args = 0..=1,
        default_missing_value = "auto",
        value_parser = value::rates,
        conflicts_with_all = ["rate", "producers", "consumers"]
    )]
    pub rate_sweep: Option<RatesWord>,
    /// Numbers of producers per queue, for queues that allow several; a list gives a table of producers and consumers
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=255))]
    pub producers: Vec<u32>,
    /// Numbers of consumers per queue, for queues that allow several
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=255))]
    pub consumers: Vec<u32>,
    /// Numbers of messages sent and received at once, for queues with batches; a list gives a table; --rate gives the
    /// delay of the first and the last message of a batch (default: single messages; queues spsc,slots; capacity 1000)
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with_all = ["rate_sweep", "producers", "consumers"]
    )]
    pub batch: Vec<String>,
    /// Pairs to measure, producer first: all, representatives, or a list such as 0-1,9-4 (default: all if that takes
    /// about a minute, otherwise representatives of each relation and some others; with --rate, --rate-sweep or
    /// --batch, one pair of each relation)
    #[arg(long, value_name = "PAIRS", value_parser = value::pairs, conflicts_with_all = ["producers", "consumers"])]
    pub pairs: Option<PairsWord>,
    /// Number of pairs measured concurrently (default: auto, one unless that takes too long)
    #[arg(long, value_name = "auto|N", value_parser = value::parallel, conflicts_with_all = ["rate", "rate_sweep", "producers", "consumers", "batch"])]
    pub parallel: Option<AutoOr>,
    /// Runtimes of other languages.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
}

impl SeriesArgs for QueueArgs {
    fn probe(&self) -> &'static str {
        coretalk_model::queue::names::PROBE
    }

    fn options(&self) -> Parameters {
        let several = !self.producers.is_empty() || !self.consumers.is_empty();
        let side = |counts: &[u32]| {
            several.then(|| match counts {
                [] => ParameterValue::Number(1.0),
                [count] => f64::from(*count).into(),
                counts => counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",").into(),
            })
        };
        let pairs = self.pairs.as_ref().map(|pairs| match pairs {
            PairsWord::All => "all",
            PairsWord::Representatives => "representatives",
            PairsWord::Listed(_) => "listed",
        });
        Parameters::default()
            .with_some("capacity", list(&self.capacity))
            .with_some("queue", list(&self.queue))
            .with_some("payload", list(&self.payload))
            .with_some("messages", self.messages.map(|messages| messages as f64))
            .with_some("rate_per_s", self.rate)
            .with_some("rate_sweep", self.rate_sweep.map(|rates| rates.to_string()))
            .with_some("batch", list(&self.batch))
            .with_some("producers", side(&self.producers))
            .with_some("consumers", side(&self.consumers))
            .with_some("pairs", pairs)
    }

    fn pairs(&self) -> Option<&PairsWord> {
        self.pairs.as_ref()
    }

    fn parallel(&self) -> Option<AutoOr> {
        self.parallel
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

    fn budget(&self) -> Picos {
        Picos::from_ms(60_000)
    }
}
