//! `broadcast`: the time until the first and the last of many readers see a write.

use crate::pricing::SimContext;
use crate::series::{RequestError, SeriesProbe, SeriesRequest, TrialOrder};
use crate::tick_histogram::TickHistogram;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::probes::ProbeDeclaration;
use coretalk_model::probes::broadcast::DECLARATION;
pub use coretalk_model::probes::broadcast::names;
use coretalk_model::series::Observed;
use coretalk_model::series::{Parameters, TrialSpec};
use coretalk_model::{Flag, TickRate, TrialFailure};

/// The `broadcast` probe.
#[derive(Debug, Clone, Copy)]
pub struct Broadcast;

/// Line transfers until a reader sees a write: the writer invalidates the copies, and the reader fetches the line. On a
/// simulated machine the readers do not wait for each other.
pub const TRANSFERS: f64 = 2.0;
const MAX_READERS: usize = 1024;
/// Maximum share of writes that a reader seems to see too early. Above it, all times are doubtful.
const NEGATIVE_SHARE: f64 = 0.01;
/// Maximum writes simulated one by one. The rest of the pass only takes time.
const SIMULATED: u64 = 400;
/// Pause between two writes, in which all readers begin to poll again.
const PAUSE_NS: f64 = 2_000.0;

impl SeriesProbe for Broadcast {
    fn declaration(&self) -> &'static ProbeDeclaration {
        &DECLARATION
    }

    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        let max_readers = request.cpus.len().saturating_sub(1);
        let counts = match request.options.text("readers") {
            Some(listed) => reader_counts(listed, max_readers)?,
            // Powers of two, and all CPUs.
            None => (0..)
                .map(|power| 1usize << power)
                .take_while(|&count| count < max_readers.min(MAX_READERS))
                .chain((max_readers > 0).then_some(max_readers.min(MAX_READERS)))
                .collect(),
        };
        let trial = |count: usize| TrialSpec {
            probe: DECLARATION.id.to_owned(),
            parameters: Parameters::default().with(names::READERS, count as f64),
            placement: request.cpus[..=count].to_vec(),
        };
        Ok(counts.into_iter().map(trial).collect())
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
        let noiseless = expected_ns(sim);
        let mut times = VisibilityTimes::default();
        while sim.elapsed() < order.span && times.last.len() < SIMULATED || times.last.is_empty() {
            // A disturbed write is late for both readers.
            let disturbed = sim.event(1.0);
            let [first, last] = noiseless.map(|ns| ns * disturbed);
            let held_ns = sim.pass(last + PAUSE_NS);
            let clock_ns = sim.clock_ns();
            let first = sim.ticks(first + clock_ns);
            let last = sim.ticks(last + held_ns + clock_ns).max(first);
            // A single reader is the first and the last.
            let first = if sim.placement().len() == 2 { last } else { first };
            times.count(Some(first), Some(last));
        }
        let rest = order.span.ns() - sim.elapsed().ns();
        if rest > 0.0 {
            sim.pass(rest);
        }
        for role in 0..sim.placement().len() {
            sim.spend(role, order.span.ns(), 0);
        }
        let clock_ns = sim.clock_ns();
        Ok(times.observed(sim.rate(), clock_ns))
    }
}

/// Time until the first and the last reader see a write, without noise.
pub fn expected_ns(sim: &dyn SimContext<'_>) -> [f64; 2] {
    let (writer, readers) = (sim.placement()[0], &sim.placement()[1..]);
    let times = readers.iter().map(|&reader| TRANSFERS * sim.transfer_ns(writer, reader));
    let (first, last) =
        times.fold((f64::INFINITY, 0.0f64), |(first, last), ns| (first.min(ns), last.max(ns)));
    [first, last]
}

fn reader_counts(listed: &str, max_readers: usize) -> Result<Vec<usize>, RequestError> {
    let mut counts: Vec<usize> = Vec::new();
    for text in listed.split(',').map(str::trim) {
        let count = text.parse().ok().filter(|count| (1..=max_readers).contains(count));
        let count = count.ok_or_else(|| {
            let available = match max_readers {
                0 => "there is no CPU".to_owned(),
                1 => "there is 1 CPU".to_owned(),
                max_readers => format!("there are {max_readers} CPUs"),
            };
            let allowed = format!("{available} for readers besides the writer's");
            RequestError::out_of_range(format!("`{text}` readers"), allowed)
        })?;
        if counts.contains(&count) {
            return Err(RequestError::twice("--readers", count));
        }
        counts.push(count);
    }
    Ok(counts)
}

#[derive(Debug, Default)]
struct VisibilityTimes {
    first: TickHistogram,
    last: TickHistogram,
    /// Number of writes that a reader seems to have seen too early, because the CPUs' counters differ.
    negative: u64,
}

impl VisibilityTimes {
    /// Counts one write, with the ticks until the first and the last reader saw it; `None` if negative.
    fn count(&mut self, first: Option<u64>, last: Option<u64>) {
        match (first, last) {
            (Some(first), Some(last)) => {
                self.first.count(first);
                self.last.count(last);
            }
            _ => self.negative += 1,
        }
    }

    fn observed(&self, rate: TickRate, clock_ns: f64) -> Observed {
        let mut observed = Observed::default();
        observed.histogram(names::FIRST, self.first.histogram(rate));
        observed.histogram(names::LAST, self.last.histogram(rate));
        observed.value("clock_ns", clock_ns);
        observed.count("samples", self.last.len());
        observed.count("negative", self.negative);
        if self.negative as f64 > NEGATIVE_SHARE * (self.last.len() + self.negative) as f64 {
            observed.flags.set(Flag::TscUnsync);
        }
        observed
    }
}

/// One pass on threads of this machine. Role 0 writes a number, and all others poll for it.
#[cfg(all(target_os = "linux", not(miri)))]
mod perform {
    use super::*;
    use crate::counter;
    use crate::kernel_context::Halt;
    use crate::series::MIN_ROUNDS;
    use crate::sync::AtomicU64;
    use crate::sync::Ordering::{Acquire, Release};
    use crate::trial_context::{CachePadded, RoleContext};
    use coretalk_model::stats::Key;

    const END: u64 = u64::MAX;

    /// A reader's answer to the writer, on a separate line.
    #[derive(Debug, Default)]
    struct ReaderStamp {
        ticks: AtomicU64,
        round: AtomicU64,
    }

    pub fn perform(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        let rate = context.rate();
        let word: CachePadded<AtomicU64> = CachePadded::default();
        let stamps: Vec<CachePadded<ReaderStamp>> =
            context.cpus().iter().skip(1).map(|_| CachePadded::default()).collect();
        let span_ticks = rate.ticks(order.span.ns()) as u64;
        let (pause_ticks, key) = (rate.ticks(PAUSE_NS), Key::from_words(&[order.key]));
        let run_role = |role: &RoleContext<'_>| match role.number {
            0 => write(role, &word, &stamps, span_ticks, |round| {
                // Half to one and a half times the pause, to avoid a fixed phase with periodic events.
                (pause_ticks * (0.5 + key.uniform(round))) as u64
            })
            .map(Some),
            reader => read(role, &word, &stamps[reader - 1]).map(|()| None),
        };
        let outcomes = context.run(order.limit(), run_role, || ())?;
        let times = outcomes.into_iter().flatten().next().unwrap_or_default();
        Ok(times.observed(rate, context.clock_ns()))
    }

    fn write(
        role: &RoleContext<'_>,
        word: &AtomicU64,
        stamps: &[CachePadded<ReaderStamp>],
        span_ticks: u64,
        pause_ticks: impl Fn(u64) -> u64,
    ) -> Result<VisibilityTimes, Halt> {
        let mut times = VisibilityTimes::default();
        role.wait_for_all()?;
        let end = counter::now_ticks() + span_ticks;
        for round in 1.. {
            role.spin_for(pause_ticks(round))?;
            let began = counter::start();
            // Release: a reader that sees the round also sees that its answer to the previous round was read.
            word.store(round, Release);
            let (mut first, mut last) = (u64::MAX, 0);
            for reader in stamps {
                // Acquire pairs with the Release of the reader, so its stamp belongs to this round.
                role.wait_until(|| reader.round.load(Acquire) == round)?;
                let ticks = reader.ticks.load(Acquire);
                (first, last) = (first.min(ticks), last.max(ticks));
            }
            if round > 1 {
                times.count(first.checked_sub(began), last.checked_sub(began));
            }
            if counter::now_ticks() >= end && round >= MIN_ROUNDS {
                break;
            }
        }
        word.store(END, Release);
        Ok(times)
    }

    fn read(role: &RoleContext<'_>, word: &AtomicU64, stamp: &ReaderStamp) -> Result<(), Halt> {
        role.wait_for_all()?;
        let mut known = 0;
        loop {
            let mut found = known;
            // Acquire pairs with the Release of the writer.
            role.wait_until(|| {
                found = word.load(Acquire);
                found != known
            })?;
            let ticks = counter::stop();
            if found == END {
                return Ok(());
            }
            stamp.ticks.store(ticks, Release);
            // Release: a writer that sees the round also sees the stamp.
            stamp.round.store(found, Release);
            known = found;
        }
    }
}
