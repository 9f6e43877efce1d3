//! Compares `cas` with a bare loop: times compare-exchange ping-pongs without overhead (no guard, no count of verified
//! turns, clock reads outside) right before and right after `cas`, on the same lines, and prints the ratio.
//!
//! Every repetition draws fresh lines and times all kernels on them within milliseconds, so drift affects all alike;
//! ratios are computed within each repetition, and their median over all repetitions is printed.
//!
//! ```text
//! cargo run --release -p coretalk-measure --example bare_cas -- 0 1
//! ```

#[cfg(all(target_os = "linux", not(any(loom, miri))))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cpus: Vec<u32> = std::env::args().skip(1).filter_map(|cpu| cpu.parse().ok()).collect();
    let [first, second] = cpus[..] else {
        return Err("name two CPUs: bare_cas 0 1".into());
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
    use coretalk_measure::kernel_context::{Halt, KernelContext, Recorder};
    use coretalk_measure::probes::latency_turns::{CAS, CAS_PAUSE};
    use coretalk_measure::{
        Assignment, HomeChoice, Kernel, Machine, Round, Sampling, SpanOrder, Spin, Stop, Walk,
        WorkerSettings, counter,
    };
    use coretalk_model::stats::{LineScratch, median, quantile, summarize_lines};
    use coretalk_model::{CpuId, Samples};
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

    const REPETITIONS: u64 = 300;
    const LINES: u32 = 64;
    const ROUND_TRIPS: u32 = 64;

    static BARE: Kernel =
        bare("bare cas", &[|context| run_bare::<false>(context, 0), |context| run_bare::<false>(context, 1)]);
    static BARE_PAUSE: Kernel = bare(
        "bare cas+pause",
        &[|context| run_bare::<true>(context, 0), |context| run_bare::<true>(context, 1)],
    );

    const fn bare(name: &'static str, roles: &'static [coretalk_measure::RoleFn]) -> Kernel {
        Kernel::ping_pong((name, "run_bare"), roles, (1.0, Spin::Eager), 1)
    }

    /// One role on every line: waits only for the value `2t + role` and replaces it by the next.
    fn run_bare<const PAUSE: bool>(context: &mut KernelContext<'_>, role: u64) -> Result<(), Halt> {
        let Recorder::Batches { visits: 1, round_trips, ticks } = &mut context.recorder else {
            return Err(Halt::Stopped);
        };
        let (trips, mut ticks) = (u64::from(*round_trips), ticks.iter_mut());
        let mut lead = u64::from(context.warm_up) + 2;
        for line in context.lines {
            let word = &line.words[0];
            turns::<PAUSE>(word, role, 0, lead);
            let begun = counter::stop();
            turns::<PAUSE>(word, role, lead, lead + trips);
            if let Some(slot) = ticks.next() {
                *slot = u32::try_from(counter::stop() - begun).unwrap_or(u32::MAX);
            }
            while role == 0 && word.load(Acquire) != 2 * (lead + trips) {}
            context.verified += lead + trips;
            lead = 2;
        }
        Ok(())
    }

    #[inline(never)]
    fn turns<const PAUSE: bool>(word: &AtomicU64, role: u64, from: u64, to: u64) {
        for trip in from..to {
            let expected = 2 * trip + role;
            while word.compare_exchange(expected, expected + 1, AcqRel, Relaxed).is_err() {
                if PAUSE {
                    std::hint::spin_loop();
                }
            }
        }
    }

    pub fn run(cpus: [u32; 2]) -> Result<(), Box<dyn std::error::Error>> {
        let placement = cpus.map(CpuId);
        let mut machine = HostMachine::open()?;
        machine.engage(&WorkerSettings { cpus: placement.to_vec(), ..WorkerSettings::default() })?;
        // The bare kernels, those of coretalk, and the bare ones again.
        let kernels = [&BARE, &BARE_PAUSE, &CAS, &CAS_PAUSE, &BARE, &BARE_PAUSE];
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); kernels.len()];
        let mut scratch = LineScratch::default();
        for key in 0..REPETITIONS {
            // The same key in every round selects the same lines.
            let round = |kernel: &'static Kernel| {
                let order = SpanOrder {
                    kernel,
                    home: HomeChoice::OfRole(0),
                    lines: LINES,
                    walk: Walk::FreshRuns,
                    warm_up: 200,
                    sampling: Sampling::Batches { visits: 1, round_trips: ROUND_TRIPS },
                };
                let orders = vec![order].into();
                Round { assignments: vec![Assignment { placement, orders, key }] }
            };
            let rounds: Vec<Round> = kernels.iter().map(|kernel| round(kernel)).collect();
            let outcomes = machine.perform(&rounds, &Stop::new())?;
            let all: Vec<f64> = outcomes
                .into_iter()
                .filter_map(|outcome| {
                    let recording = outcome.trials.into_iter().next()?.ok()?;
                    let Samples::Batches { ticks, .. } = &recording.spans.first()?.samples else {
                        return None;
                    };
                    let hops = f64::from(2 * ROUND_TRIPS);
                    Some(machine.rate().ns(summarize_lines(ticks, 1, &mut scratch)?.location) / hops)
                })
                .collect();
            if all.len() == kernels.len() {
                values.iter_mut().zip(all).for_each(|(values, ns)| values.push(ns));
            }
        }
        println!("{} of {REPETITIONS} repetitions, ns a hop:", values[0].len());
        for (kernel, values) in kernels.iter().zip(&values) {
            println!("  {:16} {}", kernel.id, spread(values));
        }
        // The mean of the bare kernel before and after estimates its time during coretalk's kernel.
        let bare = |kernel: usize, at: usize| (values[kernel][at] + values[kernel + 4][at]) / 2.0;
        let all = 0..values[0].len();
        let ratios = |ratio: &dyn Fn(usize) -> f64| spread(&all.clone().map(ratio).collect::<Vec<_>>());
        println!("ratios within repetitions:");
        println!("  cas ÷ bare                 {}", ratios(&|at| values[2][at] / bare(0, at)));
        println!("  cas+pause ÷ bare+pause     {}", ratios(&|at| values[3][at] / bare(1, at)));
        let faster = |at: usize| values[2][at].min(values[3][at]) / bare(0, at).min(bare(1, at));
        println!("  the faster ÷ faster bare   {}", ratios(&faster));
        println!("  bare after ÷ bare before   {}", ratios(&|at| values[4][at] / values[0][at]));
        Ok(())
    }

    fn spread(values: &[f64]) -> String {
        let value_at = |share| quantile(values, share).unwrap_or(f64::NAN);
        format!("{:7.3} ({:.3} to {:.3})", median(values).unwrap_or(f64::NAN), value_at(0.25), value_at(0.75))
    }
}
