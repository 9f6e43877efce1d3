//! The primitives of `wake`, a row each with name, code, description and simulated cost; and the trials of a request.

use super::{FEW_PAIRS, GAPS_NS, LADDER_GAP_NS, MAP_GAP_NS, SLEEP, names};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::primitives::{
    Primitive,
    parking_lot::{LotCondvar, LotMutex},
    spin::{TasLock, TicketLock},
    standard::{Park, StdBarrier, StdCondvar, StdMutex},
    system::{ADAPTIVE, EventFd, NORMAL, Pipe, PthreadMutex, SemT},
    word::AtomicWait,
};
use crate::probes::gaps::gaps;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::queues::semaphore::Semaphore;
use crate::series::{RequestError, SeriesRequest, nearest};
use crate::sim::wake::WakeCost;
use coretalk_model::external::External;
use coretalk_model::series::MASK;
use coretalk_model::series::{Parameters, TrialSpec};
use coretalk_model::{CpuId, CpuSet};

/// The purpose of a primitive. It determines the behaviour without a waiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Taken and released by one thread.
    Lock,
    /// A notification, which is lost without a waiter.
    Notice,
    /// A message that stays until it is received, or a rendezvous of both threads.
    Message,
}

struct Entry {
    kind: PrimitiveKind,
    id: &'static str,
    purpose: Purpose,
    how: &'static str,
    cost: WakeCost,
}

/// Generic code for a primitive that is named at run time.
#[cfg(all(target_os = "linux", not(miri)))]
pub trait PrimitiveTask {
    /// Result of the task.
    type Output;

    /// Runs the task with this primitive.
    fn with<P: Primitive>(self) -> Self::Output;
}

/// One row per primitive: variant, code, name, purpose, description, and the simulated cost as a base with differences.
macro_rules! primitives {
    ($($kind:ident($code:ty) $id:literal $purpose:ident $how:literal $base:ident $({ $($cost:tt)+ })?;)+) => {
        /// The primitives.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum PrimitiveKind {
            $(#[doc = concat!("`", $id, "`")] $kind,)+
        }

        const ENTRIES: &[Entry] = &[$(Entry {
            kind: PrimitiveKind::$kind,
            id: $id,
            purpose: Purpose::$purpose,
            how: $how,
            cost: WakeCost { $($($cost)+,)? ..$base },
        },)+];

        impl PrimitiveKind {
            /// Runs a task with the primitive. The compiler builds separate loops for each primitive.
            #[cfg(all(target_os = "linux", not(miri)))]
            pub fn run<T: PrimitiveTask>(self, task: T) -> T::Output {
                match self {
                    $(PrimitiveKind::$kind => task.with::<$code>(),)+
                }
            }
        }
    };
}

/// Two transfers: the word, and the kernel's queue for the word.
const FUTEX: WakeCost = WakeCost {
    transfers: 2.0,
    waker_calls: 1.0,
    waiter_calls: 1.0,
    spins_ns: 0.0,
    alone_cycles: 20.0,
    alone_calls: 0.0,
};
/// The mutex of the condition variable moves too. std's Condvar counts no waiters: every notification calls the kernel.
const CONDVAR: WakeCost = WakeCost { transfers: 4.0, alone_cycles: 50.0, alone_calls: 1.0, ..FUTEX };
const SPIN: WakeCost =
    WakeCost { transfers: 1.0, waker_calls: 0.0, waiter_calls: 0.0, spins_ns: f64::INFINITY, ..FUTEX };

primitives! {
    // 100 hints of about 10 ns.
    StdMutex(StdMutex) "std-mutex" Lock
        "std's futex mutex: spins 100 times with a hint, then sleeps; an unlock wakes one waiter"
        FUTEX { spins_ns: 1_000.0 };
    PthreadMutex(PthreadMutex<NORMAL, false>) "pthread-mutex" Lock
        "the C library's plain mutex: sleeps at once on a futex" FUTEX;
    PthreadMutexAdaptive(PthreadMutex<ADAPTIVE, false>) "pthread-mutex-adaptive" Lock
        "the C library's adaptive mutex: spins up to 100 times, then sleeps" FUTEX { spins_ns: 1_000.0 };
    PthreadMutexPi(PthreadMutex<NORMAL, true>) "pthread-mutex-pi" Lock
        "with priority inheritance: the kernel hands the lock over (FUTEX_LOCK_PI)"
        FUTEX { transfers: 3.0, waker_calls: 1.5, waiter_calls: 1.5 };
    ParkingLotMutex(LotMutex) "parking-lot-mutex" Lock
        "spins and yields about 10 times, then parks in its own table"
        FUTEX { transfers: 3.0, spins_ns: 1_500.0 };
    CondvarOne(StdCondvar<false, false>) "condvar-one" Notice
        "std's condition variable, notify one after the unlock; the waiter locks the mutex again" CONDVAR;
    // The woken thread finds the lock held, and polls until it is free.
    CondvarOneLocked(StdCondvar<false, true>) "condvar-one-locked" Notice
        "the same, notified with the lock held: the woken thread may have to wait for it"
        CONDVAR { transfers: 5.0 };
    CondvarAll(StdCondvar<true, false>) "condvar-all" Notice
        "std's condition variable, notify all after the unlock" CONDVAR;
    CondvarAllLocked(StdCondvar<true, true>) "condvar-all-locked" Notice "the same with the lock held"
        CONDVAR { transfers: 5.0 };
    ParkingLotCondvar(LotCondvar) "parking-lot-condvar" Notice
        "parking_lot's condition variable: waiters queue in its table; one is unparked"
        CONDVAR { transfers: 5.0, alone_calls: 0.0 };
    Semaphore(Semaphore) "semaphore" Message
        "coretalk's own futex semaphore: sleeps at once, a post is one FUTEX_WAKE" FUTEX;
    SemT(SemT) "sem-t" Message "the C library's futex semaphore" FUTEX;
    // The count of waiters moves too. A waiter uses 12 hints of about 10 ns and four yields of about 100 ns. Without a
    // waiter a wake-up is an exchange and a read of the count.
    AtomicWaitSet(AtomicWait<true, false>) "atomic-wait-set" Notice
        "a futex word is set and one waiter, if any, is notified, like libstdc++: polls 16 times, then \
         sleeps"
        FUTEX { transfers: 3.0, spins_ns: 500.0 };
    AtomicWaitClear(AtomicWait<false, false>) "atomic-wait-clear" Notice "the same word, cleared"
        FUTEX { transfers: 3.0, spins_ns: 500.0 };
    AtomicWaitAlways(AtomicWait<true, true>) "atomic-wait-always" Notice
        "the word is set and one waiter notified, even if none waits: sleeps at once"
        FUTEX { alone_calls: 1.0 };
    Park(Park) "park" Notice "std's futex thread parker: sleeps at once" FUTEX;
    Barrier(StdBarrier) "barrier" Message
        "std's barrier for two: a mutex and a condition variable, notify all" CONDVAR;
    // Calls go through the file layer. The lock and the buffer of the descriptor move, and both calls take longer.
    EventFd(EventFd) "eventfd" Message "a counter in the kernel: read sleeps, write wakes"
        FUTEX { transfers: 3.0, waker_calls: 2.0, waiter_calls: 2.0 };
    Pipe(Pipe) "pipe" Message "a pipe: read sleeps, a write of one byte wakes"
        FUTEX { transfers: 4.0, waker_calls: 3.0, waiter_calls: 3.0 };
    Tas(TasLock<false>) "tas" Lock "exchanges until the lock is free: never sleeps" SPIN;
    Ttas(TasLock<true>) "ttas" Lock "polls until the lock is free, then exchanges: never sleeps" SPIN;
    Ticket(TicketLock) "ticket" Lock "first come, first served: never sleeps" SPIN;
}

impl PrimitiveKind {
    fn entry(self) -> &'static Entry {
        &ENTRIES[self as usize]
    }

    /// The cost of one wake-up in machine events.
    pub fn cost(self) -> WakeCost {
        self.entry().cost
    }
}

/// Default primitives: one of each mechanism.
const DEFAULT: &str = "semaphore,std-mutex,condvar-one,park,eventfd,pipe";

const MAX_WAITERS: u32 = 1024;

/// The meaning of a name in `--primitive`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// A wake-up through this primitive.
    Wake(PrimitiveKind),
    /// Lock and unlock of an uncontended lock.
    Uncontended(PrimitiveKind),
    /// A notification without a waiter.
    NotifyIdle(PrimitiveKind),
    /// A notification of this many waiters.
    NotifyAll(u32),
    /// A sleep of a millisecond.
    Sleep,
}

/// Parses a name. Fails if the name is unknown or a combination is invalid.
pub fn variant(name: &str) -> Result<Variant, RequestError> {
    if name == SLEEP {
        return Ok(Variant::Sleep);
    }
    if let Some(waiters) = name.strip_prefix("notify-all:") {
        return match waiters.parse() {
            Ok(waiters @ 1..=MAX_WAITERS) => Ok(Variant::NotifyAll(waiters)),
            _ => Err(RequestError::Unfit(
                format!("`{name}` needs a number of waiters from 1 to {MAX_WAITERS}").into(),
            )),
        };
    }
    if let Some(lock) = name.strip_prefix("uncontended:") {
        return match entry_by_id(lock)? {
            Entry { kind, purpose: Purpose::Lock, .. } => Ok(Variant::Uncontended(*kind)),
            Entry { id: known, .. } => Err(RequestError::Unfit(
                format!("`{known}` is not a lock, so it cannot be uncontended").into(),
            )),
        };
    }
    if let Some(primitive) = name.strip_prefix("notify-idle:") {
        return match entry_by_id(primitive)? {
            Entry { kind, purpose: Purpose::Notice, .. } => Ok(Variant::NotifyIdle(*kind)),
            Entry { id: known, .. } => {
                Err(RequestError::Unfit(format!("`{known}` cannot be notified without a waiter").into()))
            }
        };
    }
    Ok(Variant::Wake(entry_by_id(name)?.kind))
}

fn entry_by_id(name: &str) -> Result<&'static Entry, RequestError> {
    ENTRIES.iter().find(|entry| entry.id == name).ok_or_else(|| {
        let names: Vec<&'static str> = ENTRIES.iter().map(|entry| entry.id).collect();
        if let Some(external) = External::parse(name) {
            return RequestError::External(external);
        }
        let forms = "uncontended:NAME, notify-idle:NAME, notify-all:N, sleep-1ms";
        RequestError::Unknown {
            what: "primitive",
            typed: name.to_owned(),
            known: format!("{}, {forms}", names.join(", ")),
            nearest: nearest(name, &names),
        }
    })
}

/// All names and forms of names, with the descriptions of their wake-ups.
pub fn every() -> Vec<(String, String)> {
    let plain = ENTRIES.iter().map(|entry| (entry.id, entry.id));
    let forms = [
        ("uncontended:LOCK", "uncontended:ttas"),
        ("notify-idle:NAME", "notify-idle:park"),
        ("notify-all:N", "notify-all:2"),
        (SLEEP, SLEEP),
    ];
    let described = |(form, name)| Some((str::to_owned(form), mechanism(name)?.to_owned()));
    plain.chain(forms).filter_map(described).collect()
}

/// Description of a name's wake-up; `None` for an unknown name.
pub fn mechanism(name: &str) -> Option<&'static str> {
    match variant(name).ok()? {
        Variant::Wake(known) => Some(known.entry().how),
        Variant::Uncontended(_) => Some("uncontended lock and unlock by one thread: mean of 1,000"),
        Variant::NotifyIdle(_) => Some("notify with no waiters: mean of 1,000"),
        Variant::NotifyAll(_) => {
            Some("std's condition variable, notify all: until the first and the last waiter run")
        }
        Variant::Sleep => Some("nanosleep for 1 ms; counted from when it was due: timer slack and wake-up"),
    }
}

/// Whether a single thread performs this name. Then no second CPU is needed.
pub fn needs_one_cpu(name: &str) -> bool {
    matches!(variant(name), Ok(Variant::Uncontended(_) | Variant::NotifyIdle(_) | Variant::Sleep))
}

pub fn trials(request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
    let requested = request.options.text("primitive").unwrap_or(DEFAULT);
    let primitives: Vec<&str> = requested.split(',').collect();
    let listed = gaps(request.options.text(names::GAP_NS))?;
    if !listed.is_empty() && primitives.iter().all(|name| needs_one_cpu(name)) {
        let sentence =
            format!("--gap is the idle time before a wake-up, and `{requested}` wakes no thread; drop --gap");
        return Err(RequestError::Unfit(sentence.into()));
    }
    let gaps_or = |defaults: &[f64]| if listed.is_empty() { defaults.to_vec() } else { listed.clone() };
    let unpinned = request.options.number(names::UNPINNED);
    let mask = unpinned.map(|_| request.cpus.iter().copied().collect::<CpuSet>());
    let started = request.cpus.first_chunk::<2>().filter(|_| mask.is_some());
    // Unbound threads have no pairs. Both start on the first two CPUs.
    let pairs = started.map_or(request.pairs, std::slice::from_ref);
    let mut trials = Vec::new();
    for (index, name) in primitives.iter().enumerate() {
        if primitives[..index].contains(name) {
            return Err(RequestError::twice("--primitive", name));
        }
        let trial = |gap_ns: Option<f64>, placement: Vec<CpuId>| TrialSpec {
            probe: super::DECLARATION.id.to_owned(),
            parameters: Parameters::default()
                .with("primitive", *name)
                .with_some(names::GAP_NS, gap_ns)
                .with_some(MASK, mask.as_ref().map(CpuSet::to_string)),
            placement,
        };
        let what = match External::parse(name) {
            Some(_) => None,
            None => Some(variant(name)?),
        };
        if mask.is_some() && !matches!(what, Some(Variant::Wake(_))) {
            let why = match what {
                None => "is a runtime, whose threads are always bound",
                Some(_) => "is not one thread that wakes one other",
            };
            let sentence =
                format!("`{name}` {why}, so it cannot be measured with --unpinned; drop one of them");
            return Err(RequestError::Unfit(sentence.into()));
        }
        match what {
            // A runtime's name also means a wake-up, through a primitive of the runtime.
            None | Some(Variant::Wake(_)) => {
                // A map has one gap, since three would take three times the budget.
                let is_map = pairs.len() > FEW_PAIRS;
                let gaps = gaps_or(if is_map { &[MAP_GAP_NS] } else { &GAPS_NS });
                for pair in pairs {
                    trials.extend(gaps.iter().map(|&gap_ns| trial(Some(gap_ns), pair.to_vec())));
                }
            }
            Some(Variant::Uncontended(_) | Variant::NotifyIdle(_) | Variant::Sleep) => {
                trials.extend(request.cpus.first().map(|&cpu| trial(None, vec![cpu])));
            }
            Some(Variant::NotifyAll(waiters)) => {
                let (waker, others) = request.cpus.split_first().ok_or(RequestError::NoCpu)?;
                let others = if others.is_empty() { std::slice::from_ref(waker) } else { others };
                let placed = others.iter().cycle().take(waiters as usize);
                let placement: Vec<CpuId> = [waker].into_iter().chain(placed).copied().collect();
                let gaps = gaps_or(&[LADDER_GAP_NS]);
                trials.extend(gaps.into_iter().map(|gap_ns| trial(Some(gap_ns), placement.clone())));
            }
        }
    }
    Ok(trials)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_variant_and_unknown_names_suggest_the_nearest() {
        for &Entry { kind, id: name, purpose, how, .. } in ENTRIES {
            assert_eq!(variant(name), Ok(Variant::Wake(kind)));
            assert_eq!(mechanism(name), Some(how));
            assert_eq!(variant(&format!("uncontended:{name}")).is_ok(), purpose == Purpose::Lock, "{name}");
            assert_eq!(variant(&format!("notify-idle:{name}")).is_ok(), purpose == Purpose::Notice, "{name}");
        }
        assert_eq!(variant("sleep-1ms"), Ok(Variant::Sleep));
        assert_eq!(variant("notify-all:8"), Ok(Variant::NotifyAll(8)));
        for name in ["notify-all:0", "notify-all:x", "uncontended:", "sleep-2ms"] {
            assert!(variant(name).is_err(), "{name}");
        }
        assert_eq!(every().len(), ENTRIES.len() + 4);
        let error = variant("parking-lot-mutx").unwrap_err().to_string();
        assert!(error.ends_with("exists: `parking-lot-mutex`"), "{error}");
    }

    #[test]
    fn notices_without_a_waiter_cost_a_system_call_unless_waiters_are_counted() {
        for &Entry { id: name, purpose, cost, .. } in ENTRIES {
            let calls = name.starts_with("condvar-") || name == "atomic-wait-always";
            if purpose == Purpose::Notice {
                assert_eq!(cost.alone_calls, f64::from(u8::from(calls)), "{name}");
            }
        }
    }
}
