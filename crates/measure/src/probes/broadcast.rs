//! `broadcast`: how soon the first and the last of many readers see what one thread writes.

#[cfg(all(target_os = "linux", not(miri)))]
mod perform;

use crate::pricing::Pricing;
use crate::series::{Probe, ProbeSpec, RequestError, SeriesProbe, SeriesRequest, TrialOrder};
use crate::tally::Tally;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::quantity::{Parameter, Quantity};
use coretalk_model::series::Observed;
use coretalk_model::series::{Parameters, TrialSpec};
use coretalk_model::{Flag, TickRate, TrialFailure};

/// How soon the first and the last of many readers see what one thread writes.
#[derive(Debug, Clone, Copy)]
pub struct Broadcast;

const SPEC: ProbeSpec = ProbeSpec {
    id: "broadcast",
    title: "Broadcast",
    question: "how long until the first and the last of many readers see what one thread writes?",
    unit: "ns",
    quantity: "sight",
};

/// What a pass says.
pub mod names {
    /// How many readers.
    pub const READERS: &str = "readers";
    /// From the write until the first of them has seen it, …
    pub const FIRST: &str = "first";
    /// … and until the last.
    pub const LAST: &str = "last";
}

const PARAMETERS: &[Parameter] = &[Parameter::new(names::READERS, "readers").in_table("readers")];

const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::FIRST, "first").in_table(),
    Quantity::events(names::LAST, "last")
        .headline(0)
        .in_table()
        .meaning("time until the last reader sees the write"),
    Quantity::time("clock_ns", "clock ns"),
    Quantity::count("samples", "samples"),
    Quantity::count("negative", "negative"),
];

/// Line transfers until a reader sees a write: the writer takes the line from its readers, and each fetches it. On a
/// simulated machine the readers do not wait for each other.
pub const TRANSFERS: f64 = 2.0;
/// The most readers that are asked for by themselves.
const MOST_READERS: usize = 1024;
/// More readers that saw a write before it was made than this share cast doubt on the others.
const NEGATIVE_SHARE: f64 = 0.01;
/// Events of a pass that are simulated one by one; what follows is more of the same.
const SIMULATED: u64 = 400;
/// Between two writes, so that all readers look again.
const PAUSE_NS: f64 = 2_000.0;

impl Probe for Broadcast {
    fn spec(&self) -> &ProbeSpec {
        &SPEC
    }

    fn series(&self) -> Option<&dyn SeriesProbe> {
        Some(self)
    }
}

impl SeriesProbe for Broadcast {
    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        let most = request.cpus.len().saturating_sub(1);
        let counts = match request.options.text("readers") {
            Some(listed) => reader_counts(listed, most)?,
            // Powers of two, and all.
            None => (0..)
                .map(|power| 1usize << power)
                .take_while(|&count| count < most.min(MOST_READERS))
                .chain((most > 0).then_some(most.min(MOST_READERS)))
                .collect(),
        };
        let trial = |count: usize| TrialSpec {
            probe: SPEC.id.to_owned(),
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
        stage: &mut dyn Pricing<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        let bare = price(stage);
        let mut sights = Sights::default();
        while stage.elapsed() < order.span && sights.last.len() < SIMULATED || sights.last.is_empty() {
            // What disturbs a write disturbs it for the first reader and for the last.
            let disturbed = stage.event(1.0);
            let [first, last] = bare.map(|ns| ns * disturbed);
            let held_ns = stage.pass(last + PAUSE_NS);
            let clock_ns = stage.clock_ns();
            let first = stage.ticks(first + clock_ns);
            let last = stage.ticks(last + held_ns + clock_ns).max(first);
            // The only reader is the first and the last.
            let first = if stage.placement().len() == 2 { last } else { first };
            sights.count(Some(first), Some(last));
        }
        let rest = order.span.ns() - stage.elapsed().ns();
        if rest > 0.0 {
            stage.pass(rest);
        }
        for role in 0..stage.placement().len() {
            stage.spend(role, order.span.ns(), 0);
        }
        let clock_ns = stage.clock_ns();
        Ok(sights.observed(stage.rate(), clock_ns))
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }
}

/// Until the first and until the last reader sees a write, without noise.
pub fn price(stage: &dyn Pricing<'_>) -> [f64; 2] {
    let (writer, readers) = (stage.placement()[0], &stage.placement()[1..]);
    let sight = readers.iter().map(|&reader| TRANSFERS * stage.transfer_ns(writer, reader));
    let (first, last) =
        sight.fold((f64::INFINITY, 0.0f64), |(first, last), ns| (first.min(ns), last.max(ns)));
    [first, last]
}

fn reader_counts(listed: &str, most: usize) -> Result<Vec<usize>, RequestError> {
    let mut counts: Vec<usize> = Vec::new();
    for text in listed.split(',').map(str::trim) {
        let count = text.parse().ok().filter(|count| (1..=most).contains(count));
        let count = count.ok_or_else(|| {
            let has = match most {
                0 => "there is no CPU".to_owned(),
                1 => "there is 1 CPU".to_owned(),
                most => format!("there are {most} CPUs"),
            };
            let allowed = format!("{has} for readers besides the writer's");
            RequestError::out_of_range(format!("`{text}` readers"), allowed)
        })?;
        if counts.contains(&count) {
            return Err(RequestError::twice("--readers", count));
        }
        counts.push(count);
    }
    Ok(counts)
}

/// What was counted in one pass.
#[derive(Debug, Default)]
struct Sights {
    first: Tally,
    last: Tally,
    /// Writes that a reader seems to have seen before they were made: the counters of the CPUs lie apart.
    negative: u64,
}

impl Sights {
    /// One write: ticks until the first and until the last reader saw it; `None` for before it was made.
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
