//! Compares `--as TOOL` with the bare loop of that tool: times the plain loop of each tool (no guard, no verification)
//! right before and right after the imitation, on the same lines and with the tool's own statistic, and prints the
//! ratio.
//!
//! Every repetition draws fresh lines and times all three within milliseconds, so drift affects all alike; ratios are
//! computed within each repetition, and their median over all repetitions is printed.
//!
//! ```text
//! cargo run --release -p coretalk-measure --example bare_tools -- 0 1
//! ```

#[cfg(all(target_os = "linux", not(any(loom, miri))))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cpus: Vec<u32> = std::env::args().skip(1).filter_map(|cpu| cpu.parse().ok()).collect();
    let [first, second] = cpus[..] else {
        return Err("name two CPUs: bare_tools 0 1".into());
    };
    bare::run([first, second])
}

#[cfg(not(all(target_os = "linux", not(any(loom, miri)))))]
fn main() {
    eprintln!("this needs Linux, to pin its threads");
}

#[cfg(all(target_os = "linux", not(any(loom, miri))))]
mod bare {
    use coretalk_measure::host::HostMachine;
    use coretalk_measure::kernel_context::{Halt, KernelContext, Line, Recorder};
    use coretalk_measure::probes::imitation::Imitation;
    use coretalk_measure::{
        Assignment, Kernel, Machine, Round, Sampling, SpanOrder, Stop, WorkerSettings, counter,
    };
    use coretalk_model::stats::{mean, median, quantile};
    use coretalk_model::{CpuId, KernelId, Samples, Tool};
    use std::borrow::Cow;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

    const REPETITIONS: u64 = 60;
    /// Maximum batches and trips of a measurement, so that all three measurements take milliseconds.
    const MAX_VISITS: u32 = 100;
    const MAX_TRIPS: u32 = 1_000;
    /// multichase prints the best of five runs.
    const GROUPS: usize = 5;

    /// The actions of both sides in trip `n`; `place` is the line or lines that they exchange.
    trait Loop {
        const LINES: usize;
        fn near(place: &[&Line], n: u64);
        fn far(place: &[&Line], n: u64);
    }

    /// A flag exchanged between 0 and 1, with `PAUSES` pauses after a failure.
    struct Flag<const PAUSES: u32>;
    /// A counter incremented by exchanges.
    struct Counted;
    /// One line in each direction.
    struct TwoLines;
    /// A counter incremented by loads and stores.
    struct LoadStore;

    impl<const PAUSES: u32> Loop for Flag<PAUSES> {
        const LINES: usize = 1;
        #[inline(always)]
        fn near(place: &[&Line], _: u64) {
            exchange::<PAUSES>(&place[0].words[0], 1, 0);
        }
        #[inline(always)]
        fn far(place: &[&Line], _: u64) {
            exchange::<PAUSES>(&place[0].words[0], 0, 1);
        }
    }

    impl Loop for Counted {
        const LINES: usize = 1;
        #[inline(always)]
        fn near(place: &[&Line], n: u64) {
            exchange::<0>(&place[0].words[0], 2 * n + 1, 2 * n + 2);
        }
        #[inline(always)]
        fn far(place: &[&Line], n: u64) {
            exchange::<0>(&place[0].words[0], 2 * n, 2 * n + 1);
        }
    }

    impl Loop for TwoLines {
        const LINES: usize = 2;
        #[inline(always)]
        fn near(place: &[&Line], n: u64) {
            place[0].words[0].store(n + 1, Release);
            while place[1].words[0].load(Acquire) != n + 1 {}
        }
        #[inline(always)]
        fn far(place: &[&Line], n: u64) {
            while place[0].words[0].load(Acquire) != n + 1 {}
            place[1].words[0].store(n + 1, Release);
        }
    }

    impl Loop for LoadStore {
        const LINES: usize = 1;
        #[inline(always)]
        fn near(place: &[&Line], n: u64) {
            while place[0].words[0].load(Acquire) != 2 * n + 1 {}
            place[0].words[0].store(2 * n + 2, Release);
        }
        #[inline(always)]
        fn far(place: &[&Line], n: u64) {
            while place[0].words[0].load(Acquire) != 2 * n {}
            place[0].words[0].store(2 * n + 1, Release);
        }
    }

    #[inline(always)]
    fn exchange<const PAUSES: u32>(word: &AtomicU64, expected: u64, next: u64) {
        while word.compare_exchange(expected, next, AcqRel, Relaxed).is_err() {
            (0..PAUSES).for_each(|_| std::hint::spin_loop());
        }
    }

    fn near<L: Loop>(context: &mut KernelContext<'_>) -> Result<(), Halt> {
        let Recorder::Batches { visits, round_trips, ticks } = &mut context.recorder else {
            return Err(Halt::Stopped);
        };
        for place in context.lines.chunks_exact(L::LINES) {
            let mut n = 0;
            for slot in ticks.iter_mut().take(*visits as usize) {
                let begun = counter::start();
                for _ in 0..*round_trips {
                    L::near(place, n);
                    n += 1;
                }
                *slot = u32::try_from(counter::stop() - begun).unwrap_or(u32::MAX);
            }
            context.verified += n;
        }
        Ok(())
    }

    fn far<L: Loop>(context: &mut KernelContext<'_>) -> Result<(), Halt> {
        let Recorder::Batches { visits, round_trips, .. } = &context.recorder else {
            return Err(Halt::Stopped);
        };
        let trips = u64::from(*visits) * u64::from(*round_trips);
        for place in context.lines.chunks_exact(L::LINES) {
            (0..trips).for_each(|n| L::far(place, n));
            context.verified += trips;
        }
        Ok(())
    }

    /// The bare loop of a tool as a kernel, with the cost and lines of the imitation.
    const fn instead_of(imitation: &Kernel, roles: &'static [coretalk_measure::RoleFn]) -> Kernel {
        Kernel {
            id: KernelId(Cow::Borrowed("bare")),
            roles,
            cost: imitation.cost,
            lines_per_place: imitation.lines_per_place,
            symbol: "near",
        }
    }

    fn bare_kernel(tool: Tool) -> &'static Kernel {
        use coretalk_measure::probes::imitation as ours;
        static FLAG: Kernel = instead_of(&ours::CPU_LATENCY, &[near::<Flag<0>>, far::<Flag<0>>]);
        static PAUSED: Kernel = instead_of(&ours::MULTICHASE, &[near::<Flag<10>>, far::<Flag<10>>]);
        static COUNTED: Kernel = instead_of(&ours::C2CLAT_W, &[near::<Counted>, far::<Counted>]);
        static LINES: Kernel = instead_of(&ours::C2CLAT, &[near::<TwoLines>, far::<TwoLines>]);
        static STORED: Kernel = instead_of(&ours::COHERENCY_LATENCY, &[near::<LoadStore>, far::<LoadStore>]);
        match tool {
            Tool::CoreToCoreLatency | Tool::CpuLatency => &FLAG,
            Tool::Multichase => &PAUSED,
            Tool::C2clatW => &COUNTED,
            Tool::C2clat => &LINES,
            Tool::CoherencyLatency => &STORED,
        }
    }

    /// The tool's statistic without its rounding: a step of 1 ns is 5 % of 20 ns.
    fn statistic(tool: Tool, samples: &[f64]) -> Option<f64> {
        match tool {
            Tool::CoreToCoreLatency | Tool::CpuLatency | Tool::CoherencyLatency => mean(samples),
            Tool::C2clat | Tool::C2clatW => samples.iter().copied().min_by(f64::total_cmp),
            Tool::Multichase => {
                samples.chunks(samples.len().div_ceil(GROUPS).max(1)).filter_map(mean).min_by(f64::total_cmp)
            }
        }
    }

    pub fn run(cpus: [u32; 2]) -> Result<(), Box<dyn std::error::Error>> {
        let placement = cpus.map(CpuId);
        let mut machine = HostMachine::open()?;
        machine.engage(&WorkerSettings { cpus: placement.to_vec(), ..WorkerSettings::default() })?;
        println!(
            "{:24} {:>31}  imitation ÷ bare, median (quartiles)",
            "tool", "ns: bare, imitation, bare again"
        );
        for tool in Tool::ALL {
            let imitation = Imitation::for_tool(tool);
            let (visits, round_trips) =
                (imitation.visits.min(MAX_VISITS), imitation.round_trips.min(MAX_TRIPS));
            let sampling = Sampling::Batches { visits, round_trips };
            let order = |kernel: &'static Kernel| SpanOrder { kernel, sampling, ..imitation.order() };
            let kernels = [bare_kernel(tool), imitation.kernel, bare_kernel(tool)];
            let mut values: Vec<[f64; 3]> = Vec::new();
            for key in 0..REPETITIONS {
                // The same key in every round selects the same lines.
                let rounds = kernels.map(|kernel| Round {
                    assignments: vec![Assignment { placement, orders: vec![order(kernel)].into(), key }],
                });
                let rate = machine.rate();
                let outcomes = machine.perform(&rounds, &Stop::new())?;
                let triple: Vec<f64> = outcomes
                    .into_iter()
                    .filter_map(|outcome| {
                        let recording = outcome.trials.into_iter().next()?.ok()?;
                        let Samples::Batches { ticks, .. } = &recording.spans.first()?.samples else {
                            return None;
                        };
                        let ns = |&ticks: &u32| rate.ns(f64::from(ticks)) / f64::from(2 * round_trips);
                        statistic(tool, &ticks.iter().map(ns).collect::<Vec<_>>())
                    })
                    .collect();
                values.extend(<[f64; 3]>::try_from(triple));
            }
            let column = |index: usize| values.iter().map(|three| three[index]).collect::<Vec<_>>();
            let [before, ours, after] = [0, 1, 2].map(|index| median(&column(index)).unwrap_or(f64::NAN));
            let ratios: Vec<f64> =
                values.iter().map(|[before, ours, after]| 2.0 * ours / (before + after)).collect();
            let value_at = |share| quantile(&ratios, share).unwrap_or(f64::NAN);
            println!(
                "{:24} {before:>9.2} {ours:>10.2} {after:>10.2}  {:.3} ({:.3} to {:.3}), {} repetitions",
                tool,
                value_at(0.5),
                value_at(0.25),
                value_at(0.75),
                ratios.len()
            );
        }
        Ok(())
    }
}
