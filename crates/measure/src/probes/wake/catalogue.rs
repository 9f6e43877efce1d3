//! The primitives of `wake` by name: what each does, what it costs, and the trials that follow from a request.

use super::GAPS_NS;
use crate::series::SeriesRequest;
#[cfg(not(loom))]
use crate::sim::wake::WakeCost;
use coretalk_model::series::{Parameters, TrialSpec};

/// Every primitive, in the order of reports.
pub const NAMES: [&str; 6] = ["semaphore", "std-mutex", "condvar-one", "park", "eventfd", "pipe"];

/// What is measured where nothing was asked.
const DEFAULT: [&str; 6] = NAMES;

/// How a primitive wakes, in words.
pub fn mechanism(name: &str) -> &'static str {
    match name {
        "semaphore" => "our own counter over a futex: the waiter sleeps at once, a post is one FUTEX_WAKE",
        "std-mutex" => {
            "std's futex mutex: the waiter looks 100 times with a hint, then sleeps; an unlock wakes one"
        }
        "condvar-one" => {
            "std's futex condition variable, notified without the lock: the woken takes the mutex again"
        }
        "park" => "std's thread parker over a futex: the waiter sleeps at once",
        "eventfd" => "a counter in the kernel: read sleeps, write wakes",
        "pipe" => "a pipe: read sleeps, a write of one byte wakes",
        _ => "unknown",
    }
}

/// What one wake-up does, in events of the machine: what a simulated machine prices.
#[cfg(not(loom))]
pub fn cost(name: &str) -> WakeCost {
    let futex = WakeCost { transfers: 2.0, waker_calls: 1.0, waiter_calls: 1.0, spins_ns: 0.0 };
    match name {
        // 100 hints of some 10 ns.
        "std-mutex" => WakeCost { spins_ns: 1_000.0, ..futex },
        // The mutex of the condition variable moves too.
        "condvar-one" => WakeCost { transfers: 4.0, ..futex },
        // Through the file layer: the lock and the buffer of the descriptor move, and both calls do more.
        "eventfd" => WakeCost { transfers: 3.0, waker_calls: 2.0, waiter_calls: 2.0, ..futex },
        "pipe" => WakeCost { transfers: 4.0, waker_calls: 3.0, waiter_calls: 3.0, ..futex },
        _ => futex,
    }
}

/// Primitives × gaps × pairs.
pub fn trials(request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, String> {
    let asked = request.asked.text("primitive").unwrap_or_default();
    let mut names: Vec<&str> = asked.split(',').filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        names.extend(DEFAULT);
    }
    for (index, name) in names.iter().enumerate() {
        if !NAMES.contains(name) {
            let near =
                nearest(name).map_or(String::new(), |near| format!("; a similar name exists: `{near}`"));
            return Err(format!("there is no primitive `{name}` (there are {}){near}", NAMES.join(", ")));
        }
        if names[..index].contains(name) {
            return Err(format!("--primitive names {name} twice; name it once"));
        }
    }
    let mut trials = Vec::new();
    for name in names {
        for pair in request.pairs {
            trials.extend(GAPS_NS.map(|gap_ns| TrialSpec {
                probe: super::SPEC.id.to_owned(),
                parameters: Parameters::default().with("primitive", name).with("gap_ns", gap_ns),
                placement: pair.to_vec(),
            }));
        }
    }
    Ok(trials)
}

fn nearest(name: &str) -> Option<&'static str> {
    crate::series::nearest(name, &NAMES)
}
