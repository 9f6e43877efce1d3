//! Options of `contend`.

use crate::args::runtime::RuntimeArgs;
use crate::args::series::{SeriesArgs, list};
use crate::args::value;
use clap::Args;
use coretalk_model::Picos;
use coretalk_model::series::Parameters;

/// Options of `contend`.
#[derive(Debug, Clone, Default, Args)]
pub struct ContendArgs {
    /// Methods: fetch-add, cas-loop, cas-backoff, std-mutex, parking-lot-mutex, pthread-mutex, tas, ttas, ticket, mcs,
    /// flag-wait, flag-wait-always, atomic-16, rwlock, per-thread, racy; and RUNTIME:NAME of a runtime in another
    /// language, without sections (default: fetch-add,cas-backoff,std-mutex,
    /// parking-lot-mutex,ttas,mcs,per-thread)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub method: Vec<String>,
    /// Numbers of threads (default: 1 to the number of CPUs, in powers of two above eight; plus one more than CPUs,
    /// and twice as many)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub threads: Vec<String>,
    /// Work inside the critical section, for example 50ns (default: 50ns, and also 0)
    #[arg(long, value_name = "TIME", value_parser = value::section)]
    pub critical: Option<f64>,
    /// Work outside the critical section, for example 500ns (default: 500ns, and also 0)
    #[arg(long, value_name = "TIME", value_parser = value::section)]
    pub parallel_section: Option<f64>,
    /// Share of read-only operations with the method rwlock, for example 90% (default: 0%)
    #[arg(long, value_name = "PERCENT", value_parser = value::share)]
    pub read_ratio: Option<f64>,
    /// How threads are placed on CPUs: compact-core, compact-smt, scatter-l3, scatter-node (default: compact-core)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub arrange: Vec<String>,
    /// Runtimes in other languages.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
}

impl SeriesArgs for ContendArgs {
    fn probe(&self) -> &'static str {
        coretalk_model::contend::names::PROBE
    }

    fn options(&self) -> Parameters {
        Parameters::default()
            .with_some("method", list(&self.method))
            .with_some("threads", list(&self.threads))
            .with_some("critical_ns", self.critical)
            .with_some("parallel_ns", self.parallel_section)
            .with_some("read_share", self.read_ratio)
            .with_some("arrange", list(&self.arrange))
    }

    fn runtime(&self) -> Option<&RuntimeArgs> {
        Some(&self.runtime)
    }

    fn fewest_cpus(&self) -> usize {
        1
    }

    fn budget(&self) -> Picos {
        Picos::from_ms(60_000)
    }
}
