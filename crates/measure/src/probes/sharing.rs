//! `sharing`: the distance between two threads' writes at which neither slows the other down.

use crate::pricing::SimContext;
use crate::series::{RequestError, SeriesProbe, SeriesRequest, TrialOrder};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::TrialFailure;
use coretalk_model::probes::{ProbeDeclaration, sharing::DECLARATION};
use coretalk_model::series::Observed;
use coretalk_model::series::{Parameters, TrialSpec};

/// The `sharing` probe.
#[derive(Debug, Clone, Copy)]
pub struct Sharing;

/// Default distances in bytes: inside a line of 64, in the next line, in the next pair of lines, and beyond
/// prefetchers.
pub const DISTANCES: &str = "8,16,32,64,128,256";
/// Maximum distance, with both words in one page.
pub const MAX_BYTES: u32 = 2048;
const WORD: u32 = 8;

pub use coretalk_model::sharing::names;

/// The cost of one write in machine events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharingCost {
    /// Line transfers per write while the other thread writes too. One fetches the line, and a wait of the same length
    /// lets the other thread write.
    pub transfers: f64,
    /// Core cycles of an atomic addition to a cached line.
    pub alone_cycles: f64,
}

/// The cost of a write at a distance. Both words share a line if they are less than 64 bytes apart. Simulated CPUs do
/// not fetch pairs of lines.
pub fn cost(distance_bytes: u32) -> SharingCost {
    SharingCost { transfers: if distance_bytes < 64 { 2.0 } else { 0.0 }, alone_cycles: 20.0 }
}

impl SeriesProbe for Sharing {
    fn declaration(&self) -> &'static ProbeDeclaration {
        &DECLARATION
    }

    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        let listed = request.options.text("distance").unwrap_or(DISTANCES);
        let mut distances: Vec<u32> = Vec::new();
        for text in listed.split(',').map(str::trim) {
            let bytes =
                text.parse().ok().filter(|bytes| *bytes % WORD == 0 && (WORD..=MAX_BYTES).contains(bytes));
            let bytes = bytes.ok_or_else(|| {
                let allowed = format!("the distance must be a multiple of 8, from 8 to {MAX_BYTES}");
                RequestError::out_of_range(format!("a distance of `{text}` bytes"), allowed)
            })?;
            if distances.contains(&bytes) {
                return Err(RequestError::twice("--distance", bytes));
            }
            distances.push(bytes);
        }
        let trial = |pair: &[coretalk_model::CpuId; 2], bytes: u32| TrialSpec {
            probe: DECLARATION.id.to_owned(),
            parameters: Parameters::default().with(names::DISTANCE, f64::from(bytes)),
            placement: pair.to_vec(),
        };
        let of_pair = |pair| distances.iter().map(move |&bytes| trial(pair, bytes));
        Ok(request.pairs.iter().flat_map(of_pair).collect())
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        perform::perform(context, order)
    }

    fn simulate(
        &self,
        sim: &mut dyn SimContext<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        let cost = cost(distance(order.spec));
        let (shared, alone) = expected_ns(sim, &cost);
        let (shared, alone) = (sim.batch(shared), sim.batch(alone));
        let held_ns = sim.pass(order.span.ns());
        for role in 0..2 {
            sim.spend(role, order.span.ns() - held_ns.min(order.span.ns()), 0);
        }
        Ok(observe([shared; 2], alone, (order.span.ns() / shared) as u64))
    }
}

/// Duration of a write without noise, while both threads write and while one writes.
pub fn expected_ns(sim: &dyn SimContext<'_>, cost: &SharingCost) -> (f64, f64) {
    let [from, to] = [sim.placement()[0], sim.placement()[1]];
    let alone = cost.alone_cycles * sim.cycle_ns(from);
    (alone + cost.transfers * sim.transfer_ns(from, to), alone)
}

fn distance(spec: &TrialSpec) -> u32 {
    spec.parameters.number(names::DISTANCE).unwrap_or(f64::from(WORD)) as u32
}

fn observe(both_ns: [f64; 2], alone_ns: f64, writes: u64) -> Observed {
    let mut observed = Observed::default();
    let shared = (both_ns[0] + both_ns[1]) / 2.0;
    observed.value(names::SHARED_NS, shared);
    observed.value(names::ALONE_NS, alone_ns);
    observed.value(names::SLOWDOWN, shared / alone_ns);
    observed.count("samples", writes);
    observed
}

/// One pass on threads of this machine. Both write, then one of them alone.
#[cfg(all(target_os = "linux", not(miri)))]
mod perform {
    use super::*;
    use crate::counter;
    use crate::kernel_context::Halt;
    use crate::sync::AtomicU64;
    use crate::sync::Ordering::Relaxed;
    use crate::trial_context::RoleContext;
    use coretalk_model::Flag;

    const ALONE_SHARE: f64 = 0.25;
    /// Writes between two clock reads. They take 5 µs alone, and a read costs a few thousandths of that.
    const BATCH: u64 = 1024;
    const WORDS: usize = 512;

    /// A page of its own. Only the distance decides what the two words share.
    #[repr(align(4096))]
    struct Page([AtomicU64; WORDS]);

    #[derive(Debug, Clone, Copy, Default)]
    struct Written {
        writes: u64,
        ticks: u64,
    }

    pub fn perform(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        let rate = context.rate();
        let page = Box::new(Page([const { AtomicU64::new(0) }; WORDS]));
        let words = [&page.0[0], &page.0[(distance(order.spec) / WORD) as usize % WORDS]];
        let span_ticks = |share: f64| rate.ticks(order.span.ns() * share) as u64;
        let limit = order.limit();
        let both_ticks = span_ticks(1.0 - ALONE_SHARE);
        let shared = context.run(limit, |role| write(role, words[role.number % 2], both_ticks), || ())?;
        let alone_ticks = span_ticks(ALONE_SHARE);
        let run_role = |role: &RoleContext<'_>| match role.number {
            0 => write(role, words[0], alone_ticks),
            // The other role leaves at once. A waiting sibling would slow the writer down.
            _ => role.wait_for_all().map(|()| Written::default()),
        };
        let alone = context.run(limit, run_role, || ())?;
        let ns = |written: &Written| rate.ns(written.ticks as f64) / written.writes as f64;
        let pair_ns = [&shared[0], &shared[1]].map(ns);
        let sums = [shared[0].writes + alone[0].writes, shared[1].writes];
        let mut observed = observe(pair_ns, ns(&alone[0]), sums.iter().sum());
        // Relaxed: the threads have been joined.
        if [words[0].load(Relaxed), words[1].load(Relaxed)] != sums {
            observed.flags.set(Flag::Invalid);
        }
        Ok(observed)
    }

    fn write(role: &RoleContext<'_>, word: &AtomicU64, span_ticks: u64) -> Result<Written, Halt> {
        role.wait_for_all()?;
        let began = counter::now_ticks();
        let mut writes = 0;
        loop {
            for _ in 0..BATCH {
                // Relaxed: only the count itself is passed. With a plain store the thread would continue while the
                // store waits for its line in a buffer.
                word.fetch_add(1, Relaxed);
            }
            writes += BATCH;
            let now = counter::now_ticks();
            if now - began >= span_ticks {
                return Ok(Written { writes, ticks: now - began });
            }
            role.guard.check_at(now)?;
            role.give_way();
        }
    }
}
