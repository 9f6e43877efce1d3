//! Checks the stated costs of probes on this machine. A probe states the parts of one operation: line transfers, clock
//! reads, wake-ups. A simulated machine adds these up, so its results cannot confirm them. Therefore this example
//! measures the parts (a transfer by `cas`, the clock by its empty pair of reads, a wake-up by the pipe), gives exactly
//! these costs to a simulated machine, runs each probe on both machines, and compares the values.
//!
//! A hypervisor that moves virtual CPUs changes a transfer tenfold within seconds, so each turn measures `cas` right
//! before and right after the probe, and counts only if the two agree.
//!
//! ```text
//! cargo run --release -p coretalk-measure --example stated_costs -- 0 1
//! ```

#[cfg(all(target_os = "linux", not(any(loom, miri))))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cpus: Vec<u32> = std::env::args().skip(1).filter_map(|cpu| cpu.parse().ok()).collect();
    let [first, second] = cpus[..] else {
        return Err("name two CPUs: stated_costs 0 1".into());
    };
    stated::run([first, second])
}

#[cfg(not(all(target_os = "linux", not(any(loom, miri)))))]
fn main() {
    eprintln!("this needs Linux, to pin its threads");
}

#[cfg(all(target_os = "linux", not(any(loom, miri))))]
mod stated {
    use coretalk_measure::host::HostMachine;
    use coretalk_measure::probes::latency_turns::{CAS, CAS_PAUSE};
    use coretalk_measure::probes::series_by_id;
    use coretalk_measure::series::{SeriesProbe, SeriesRequest, TrialOrder};
    use coretalk_measure::sim::{Scenario, SimMachine};
    use coretalk_measure::{
        Assignment, HomeChoice, Kernel, Machine, Round, Sampling, SpanOrder, Stop, Walk, WorkerSettings,
    };
    use coretalk_model::series::{Observed, Parameters, TrialSpec};
    use coretalk_model::stats::{LineScratch, median, quantile, summarize_lines};
    use coretalk_model::{CpuId, Picos, Samples};
    use std::error::Error;

    const TURNS: u64 = 40;
    const SPAN: Picos = Picos::from_ms(40);
    /// Maximum change of a transfer within a turn; turns with larger changes are discarded.
    const MAX_CHANGE: f64 = 0.15;

    /// Options of a probe, as names and texts.
    type Words = &'static [(&'static str, &'static str)];

    /// Probe, its options, and the value to compare with the stated one. The first methods of `contend` have sections
    /// of 50 and 500 ns, the last ones none.
    const CASES: [(&str, Words, &str); 13] = [
        ("wait", &[("strategy", "busy")], "mean_ns"),
        ("wait", &[("strategy", "pause")], "mean_ns"),
        ("contend", &[("method", "fetch-add"), ("threads", "2")], "ns_per_op_wall"),
        ("contend", &[("method", "cas-loop"), ("threads", "2")], "ns_per_op_wall"),
        ("contend", &[("method", "ticket"), ("threads", "2")], "ns_per_op_wall"),
        ("contend", &[("method", "mcs"), ("threads", "2")], "ns_per_op_wall"),
        ("contend", &[("method", "fetch-add"), ("threads", "2"), NO_CRITICAL, NO_PARALLEL], "ns_per_op_wall"),
        ("contend", &[("method", "ticket"), ("threads", "2"), NO_CRITICAL, NO_PARALLEL], "ns_per_op_wall"),
        ("contend", &[("method", "mcs"), ("threads", "2"), NO_CRITICAL, NO_PARALLEL], "ns_per_op_wall"),
        ("sharing", &[("distance", "8")], "shared_ns"),
        ("wake", &[("primitive", "semaphore")], "p50"),
        ("wake", &[("primitive", "eventfd")], "p50"),
        ("wake", &[("primitive", "condvar-one")], "p50"),
    ];
    const NO_CRITICAL: (&str, &str) = ("critical_ns", "0");
    const NO_PARALLEL: (&str, &str) = ("parallel_ns", "0");

    /// The current costs of the parts of operations.
    struct Parts {
        /// Half round trips of `cas` without and with a wait hint.
        transfer_ns: [f64; 2],
        core_ghz: f64,
        clock_hz: f64,
        clock_ns: f64,
        wake_ns: f64,
    }

    impl Parts {
        /// A simulated machine of two cores with exactly these costs.
        fn machine(&self, seed: u64) -> Result<SimMachine, Box<dyn Error>> {
            let [eager, hinted] = self.transfer_ns;
            let text = format!(
                "based_on = 'laptop-smt'\nname = 'parts'\nlatency_ns.l3 = {hinted}\neager_penalty.l3 = {}\ncounter.hz = {}\n\
                 counter.cost_ns = {}\ncosts.wake_ns = {}\ncore_clock.ghz = {}\nvariation.cpu_sd = 0.0\nvariation.pair_sd = \
                 0.0\n",
                eager / hinted,
                self.clock_hz,
                self.clock_ns,
                self.wake_ns,
                self.core_ghz,
            );
            let mut machine = SimMachine::open(Scenario::from_toml(&text)?, seed);
            machine
                .engage(&WorkerSettings { cpus: vec![CpuId(0), CpuId(1)], ..WorkerSettings::default() })?;
            Ok(machine)
        }

        /// The value of a probe on a simulated machine with these costs.
        fn stated(&self, case: &Case, turn: u64) -> Result<Option<f64>, Box<dyn Error>> {
            let order = case.order(&case.simulated_trial, turn);
            let outcome = self.machine(turn)?.perform_trial(&order, &Stop::new());
            Ok(outcome.ok().and_then(|outcome| read(&outcome.observed, case.value)))
        }
    }

    /// A probe with its options and its trials on this and on a simulated machine.
    struct Case {
        probe: &'static dyn SeriesProbe,
        options: Parameters,
        value: &'static str,
        real_trial: TrialSpec,
        simulated_trial: TrialSpec,
    }

    impl Case {
        fn new(
            machine: &HostMachine,
            pair: [CpuId; 2],
            id: &str,
            words: Words,
            value: &'static str,
        ) -> Result<Case, Box<dyn Error>> {
            let probe = series_by_id(id).ok_or("no such probe")?;
            let options =
                words.iter().fold(Parameters::default(), |all, (name, text)| match text.parse::<f64>() {
                    Ok(number) if name.ends_with("_ns") => all.with(name, number),
                    _ => all.with(name, (*text).to_owned()),
                });
            let request = SeriesRequest {
                topology: machine.topology(),
                cpus: &pair,
                pairs: &[pair],
                options: &options,
            };
            let real_trial = probe.trials(&request)?.into_iter().next().ok_or("no trial")?;
            let places = real_trial.placement.iter().map(|cpu| CpuId(u32::from(*cpu != pair[0]))).collect();
            let simulated_trial = TrialSpec { placement: places, ..real_trial.clone() };
            Ok(Case { probe, options, value, real_trial, simulated_trial })
        }

        fn order<'a>(&'a self, spec: &'a TrialSpec, key: u64) -> TrialOrder<'a> {
            TrialOrder { probe: self.probe, spec, options: &self.options, span: SPAN, key, process: 0 }
        }

        fn measure(&self, machine: &mut HostMachine, turn: u64) -> Option<f64> {
            let outcome = machine.perform_trial(&self.order(&self.real_trial, turn), &Stop::new()).ok()?;
            read(&outcome.observed, self.value)
        }
    }

    pub fn run(cpus: [u32; 2]) -> Result<(), Box<dyn Error>> {
        let pair = cpus.map(CpuId);
        let mut host = HostMachine::open()?;
        host.engage(&WorkerSettings { cpus: pair.to_vec(), ..WorkerSettings::default() })?;
        let pipe = Case::new(&host, pair, "wake", &[("primitive", "pipe")], "p50")?;
        println!(
            "CPUs {} and {}, at most {TURNS} turns; medians in ns, ratio with quartiles",
            cpus[0], cpus[1]
        );
        println!("{:34}{:>10}{:>10}  measured ÷ stated", "", "stated", "measured");
        for (id, words, value) in CASES {
            let case = Case::new(&host, pair, id, words, value)?;
            let (mut stated, mut measured, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            for turn in 0..TURNS {
                if let Some([expected, found]) = self::turn(&mut host, pair, &case, &pipe, turn)? {
                    stated.push(expected);
                    measured.push(found);
                    ratios.push(found / expected);
                }
            }
            let middle = |values: &[f64]| median(values).unwrap_or(f64::NAN);
            let at = |share| quantile(&ratios, share).unwrap_or(f64::NAN);
            let name = words.iter().map(|(_, text)| *text).collect::<Vec<_>>().join(" ");
            println!(
                "{:34}{:10.1}{:10.1}{:7.2} ({:.2} to {:.2}) in {} turns",
                format!("{id} {name}"),
                middle(&stated),
                middle(&measured),
                at(0.5),
                at(0.25),
                at(0.75),
                ratios.len()
            );
        }
        Ok(())
    }

    /// The stated and the measured value; `None` if the machine changed meanwhile.
    fn turn(
        host: &mut HostMachine,
        pair: [CpuId; 2],
        case: &Case,
        pipe: &Case,
        turn: u64,
    ) -> Result<Option<[f64; 2]>, Box<dyn Error>> {
        const USUAL_WAKE_NS: f64 = 3_000.0;
        let Some(before) = transfer(host, pair, turn)? else { return Ok(None) };
        let Some(measured) = case.measure(host, turn) else { return Ok(None) };
        let woken = if case.value == "p50" { pipe.measure(host, turn) } else { None };
        let Some(after) = transfer(host, pair, turn)? else { return Ok(None) };
        if (0..2).any(|which| (after[which] / before[which]).ln().abs() > MAX_CHANGE) {
            return Ok(None);
        }
        let clock = host.environment().clock.clone();
        let mut parts = Parts {
            transfer_ns: [0, 1].map(|which| f64::midpoint(before[which], after[which])),
            core_ghz: before[2],
            clock_hz: clock.hz,
            clock_ns: clock.cost_ns.unwrap_or(20.0),
            wake_ns: USUAL_WAKE_NS,
        };
        // The wake-up cost of the simulated machine is the measured wake-up by the pipe without the pipe's own cost.
        if let (Some(woken), Some(stated)) = (woken, parts.stated(pipe, turn)?) {
            parts.wake_ns = (USUAL_WAKE_NS + woken - stated).max(100.0);
        }
        Ok(parts.stated(case, turn)?.map(|stated| [stated, measured]))
    }

    fn read(observed: &Observed, value: &str) -> Option<f64> {
        match value {
            "p50" => observed
                .numbers
                .histograms
                .get("slept")
                .or(observed.numbers.histograms.values().next())?
                .percentile_ns(0.5),
            name => observed.numbers.values.get(name).copied(),
        }
    }

    /// Half round trips of `cas` without and with a wait hint, and the core clock.
    fn transfer(
        machine: &mut HostMachine,
        pair: [CpuId; 2],
        key: u64,
    ) -> Result<Option<[f64; 3]>, Box<dyn Error>> {
        const TRIPS: u32 = 64;
        let round = |kernel: &'static Kernel| {
            let order = SpanOrder {
                kernel,
                home: HomeChoice::OfRole(0),
                lines: 32,
                walk: Walk::FreshRuns,
                warm_up: 200,
                sampling: Sampling::Batches { visits: 1, round_trips: TRIPS },
            };
            Round { assignments: vec![Assignment { placement: pair, orders: vec![order].into(), key }] }
        };
        let mut scratch = LineScratch::default();
        let outcomes = machine.perform(&[round(&CAS), round(&CAS_PAUSE)], &Stop::new())?;
        let (mut found, mut ghz) = (Vec::new(), None);
        for outcome in outcomes {
            let Some(Ok(recording)) = outcome.trials.into_iter().next() else { return Ok(None) };
            ghz = recording.core_ghz.first().copied().flatten().map(|[clock, _]| f64::from(clock));
            let Some(Samples::Batches { ticks, .. }) = recording.spans.first().map(|span| &span.samples)
            else {
                return Ok(None);
            };
            let Some(lines) = summarize_lines(ticks, 1, &mut scratch) else { return Ok(None) };
            found.push(machine.rate().ns(lines.location) / f64::from(2 * TRIPS));
        }
        Ok(match (found.as_slice(), ghz) {
            (&[eager, hinted], Some(ghz)) => Some([eager, hinted, ghz]),
            _ => None,
        })
    }
}
