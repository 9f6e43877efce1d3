//! The pattern of a queue with several ends on a side, turn by turn: ends work in parallel and take turns, in order of
//! arrival, at what a side shares.

use std::collections::VecDeque;

/// Costs of the machine and the queue per message.
pub struct Crowd<'a> {
    /// Numbers of producers and consumers.
    pub sides: [usize; 2],
    /// Capacity in messages.
    pub capacity: u64,
    /// Duration of a turn, in which the shared lines move; its arguments are the side, the end that had the previous
    /// turn, and the end that has this one. The other ends of the side wait.
    pub turn_ns: &'a dyn Fn(usize, usize, usize) -> f64,
    /// Whether all ends exclude each other, as with one lock.
    pub one_lock: bool,
    /// Time until a polling end of the other side sees a message sent or a slot given back.
    pub sight_ns: f64,
    /// The wait of an end: polling time before a sleep (infinite without sleeps), wake-up time, and the waker's cost.
    pub sleep_ns: [f64; 3],
}

/// The result of a simulation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Crowded {
    /// Messages of each end, producers first.
    pub messages: Vec<u64>,
    /// Time until the last message was received.
    pub elapsed_ns: f64,
    /// Number of times that a producer found the queue full, and a consumer found it empty.
    pub waits: [u64; 2],
    /// Busy time of each end.
    pub busy_ns: Vec<f64>,
    /// Number of sleeps of each end.
    pub sleeps: Vec<u64>,
}

impl Crowded {
    /// Number of received messages.
    pub fn taken(&self, crowd: &Crowd<'_>) -> u64 {
        self.messages[crowd.sides[0]..].iter().sum()
    }
}

/// Simulates until the span is over or `most` messages are received; `work` is an end's own time per message.
pub fn run(crowd: &Crowd<'_>, span_ns: f64, most: u64, work: &mut dyn FnMut(usize) -> f64) -> Crowded {
    let ends = crowd.sides[0] + crowd.sides[1];
    let mut out = Crowded {
        messages: vec![0; ends],
        busy_ns: vec![0.0; ends],
        sleeps: vec![0; ends],
        ..Crowded::default()
    };
    // Time at which each end is ready for its turn: producers make their first message before.
    let mut ready_ns: Vec<f64> =
        (0..ends).map(|end| if end < crowd.sides[0] { work(end) } else { 0.0 }).collect();
    out.busy_ns[..crowd.sides[0]].copy_from_slice(&ready_ns[..crowd.sides[0]]);
    // By side: the time at which its turn is free, and the end that had the last turn.
    let mut free_ns = [0.0f64; 2];
    let mut last: [Option<usize>; 2] = [None; 2];
    // Time and end of each message sent and each slot given back. All slots are free at first.
    let mut filled: VecDeque<(f64, usize)> = VecDeque::new();
    let mut emptied: VecDeque<(f64, usize)> = VecDeque::new();
    let mut unused = crowd.capacity;
    let mut taken = 0;
    while out.elapsed_ns < span_ns && taken < most {
        let first = |side: usize| {
            let own = if side == 0 { 0..crowd.sides[0] } else { crowd.sides[0]..ends };
            own.min_by(|a, b| ready_ns[*a].total_cmp(&ready_ns[*b])).unwrap_or(0)
        };
        let [producer, consumer] = [0, 1].map(first);
        let can = [unused > 0 || !emptied.is_empty(), !filled.is_empty()];
        let begins = |side: usize, end: usize| ready_ns[end].max(free_ns[side]);
        let side = match can {
            [true, false] => 0,
            [false, _] => 1,
            // If both could begin at once, the first to arrive.
            [true, true] => {
                let key = |side, end| (begins(side, end), ready_ns[end]);
                usize::from(key(1, consumer) < key(0, producer))
            }
        };
        let end = [producer, consumer][side];
        let before = last[side].unwrap_or(end);
        let mut now_ns = begins(side, end);
        let came_ns = now_ns;
        let awaited = match side {
            0 if unused > 0 => {
                unused -= 1;
                None
            }
            0 => emptied.pop_front(),
            _ => filled.pop_front(),
        };
        if let Some((at_ns, by)) = awaited
            && at_ns > now_ns
        {
            let [looks_ns, wake_ns, waker_ns] = crowd.sleep_ns;
            out.waits[side] += 1;
            if at_ns - now_ns > looks_ns {
                out.sleeps[end] += 1;
                out.busy_ns[end] += looks_ns;
                now_ns = at_ns + wake_ns;
                ready_ns[by] += waker_ns;
                out.busy_ns[by] += waker_ns;
            } else {
                now_ns = at_ns + crowd.sight_ns;
                out.busy_ns[end] += now_ns - came_ns;
            }
        }
        // The wait for a turn is not counted as busy time.
        let turn_ns = (crowd.turn_ns)(side, before, end);
        let done_ns = now_ns + turn_ns;
        let own_ns = work(end);
        out.busy_ns[end] += turn_ns + own_ns;
        out.messages[end] += 1;
        let sides = if crowd.one_lock { 0..2 } else { side..side + 1 };
        for side in sides {
            (free_ns[side], last[side]) = (free_ns[side].max(done_ns), Some(end));
        }
        ready_ns[end] = done_ns + own_ns;
        match side {
            0 => filled.push_back((done_ns, end)),
            _ => {
                emptied.push_back((done_ns, end));
                taken += 1;
                out.elapsed_ns = out.elapsed_ns.max(done_ns);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_TURN: &dyn Fn(usize, usize, usize) -> f64 = &|_, _, _| 0.0;

    fn crowd<'a>(
        sides: [usize; 2],
        capacity: u64,
        turn_ns: &'a dyn Fn(usize, usize, usize) -> f64,
    ) -> Crowd<'a> {
        Crowd {
            sides,
            capacity,
            turn_ns,
            one_lock: false,
            sight_ns: 0.0,
            sleep_ns: [f64::INFINITY, 0.0, 0.0],
        }
    }

    fn close(found: f64, expected: f64, what: &str) {
        assert!((found / expected - 1.0).abs() < 0.02, "{what}: {found} for {expected}");
    }

    #[test]
    fn ends_add_up_until_their_turns_are_all_there_is() {
        for (sides, expected) in
            [([1, 1], 1.0 / 50.0), ([2, 2], 2.0 / 50.0), ([4, 4], 1.0 / 20.0), ([4, 1], 1.0 / 50.0)]
        {
            let of = crowd(sides, 100, &|_, _, _| 20.0);
            let out = run(&of, f64::INFINITY, 40_000, &mut |_| 30.0);
            close(out.taken(&of) as f64 / out.elapsed_ns, expected, &format!("{sides:?}"));
        }
    }

    #[test]
    fn under_one_lock_every_turn_of_either_side_counts() {
        let of = Crowd { one_lock: true, ..crowd([3, 3], 100, &|_, _, _| 20.0) };
        let out = run(&of, f64::INFINITY, 40_000, &mut |_| 30.0);
        close(out.taken(&of) as f64 / out.elapsed_ns, 1.0 / 40.0, "two turns for each message");
    }

    #[test]
    fn producers_have_the_share_that_their_own_work_leaves_them() {
        let of = crowd([2, 1], 1_000_000, NO_TURN);
        let out = run(&of, 1e6, u64::MAX, &mut |end| [10.0, 30.0, 1.0][end]);
        close(out.messages[0] as f64 / out.messages[1] as f64, 3.0, "three times as fast");
        // With a slow consumer the producers alternate.
        let of = crowd([2, 1], 4, NO_TURN);
        let out = run(&of, 1e6, u64::MAX, &mut |end| [10.0, 30.0, 100.0][end]);
        close(out.messages[0] as f64 / out.messages[1] as f64, 1.0, "in turn");
        assert!(out.waits[0] > 0 && out.messages[2] > 9_000, "{out:?}");
    }

    #[test]
    fn ends_that_sleep_are_woken_and_whoever_wakes_pays() {
        let of = Crowd { sleep_ns: [0.0, 100.0, 200.0], ..crowd([1, 1], 8, NO_TURN) };
        let out = run(&of, f64::INFINITY, 10_000, &mut |end| [500.0, 10.0][end]);
        close(out.elapsed_ns / 10_000.0, 700.0, "a wake-up for each message");
        assert!(out.sleeps[1] > 9_000 && out.sleeps[0] == 0, "{:?}", out.sleeps);
    }
}
