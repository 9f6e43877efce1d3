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
    /// Methods: {names}; and RUNTIME:NAME of a runtime of another language, without critical and
    /// parallel sections (default: fetch-add,cas-backoff,std-mutex,parking-lot-mutex,ttas,mcs,per-thread)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub method: Vec<String>,
    /// Numbers of threads (default: 1 to the number of CPUs, above eight in powers of two; also one more than CPUs, and
    /// twice as many)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub threads: Vec<String>,
    /// Duration of the work inside the critical section, for example 50ns (default: both 50ns and 0)
    #[arg(long, value_name = "TIME", value_parser = value::section)]
    pub critical: Option<f64>,
    /// Duration of the work outside the critical section, for example 500ns (default: both 500ns and 0)
    #[arg(long, value_name = "TIME", value_parser = value::section)]
    pub parallel_section: Option<f64>,
    /// Share of read-only operations of the method rwlock, for example 90% (default: 0%)
    #[arg(long, value_name = "PERCENT", value_parser = value::share)]
    pub read_ratio: Option<f64>,
    /// Order in which threads fill CPUs: compact-core, compact-smt, scatter-l3, scatter-node (default: compact-core)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub arrange: Vec<String>,
    /// Runtimes of other languages.
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
