//! Tests whether the length of PAUSE determines the latency: replaces PAUSE by delays of known length, and prints half
//! round trips.
//!
//! If a pause only kept the waiter from disturbing the owner of the line, any delay up to a hop would give the same
//! number; otherwise the number follows the delay. `xfer`, in which nothing spins, is printed for comparison.
//!
//! ```text
//! cargo run --release -p coretalk-measure --example delay_sweep -- 0 1
//! ```

#[cfg(all(target_os = "linux", not(loom)))]
fn main() {
    let cpus: Vec<usize> = std::env::args().skip(1).filter_map(|cpu| cpu.parse().ok()).collect();
    let [first, second] = cpus[..] else {
        eprintln!("name two CPUs: delay_sweep 0 1");
        std::process::exit(2);
    };
    sweep::run([first, second]);
}

#[cfg(not(all(target_os = "linux", not(loom))))]
fn main() {
    eprintln!("this needs Linux, to pin its threads");
}

#[cfg(all(target_os = "linux", not(loom)))]
mod sweep {
    use coretalk_measure::kernel_context::{Guard, KernelContext, Line, Recorder};
    use coretalk_measure::probes::latency_turns::{CAS, CAS_PAUSE, Cas};
    use coretalk_measure::probes::latency_turns::{STORE, STORE_PAUSE, Store};
    use coretalk_measure::probes::latency_xfer::XFER;
    use coretalk_measure::probes::ping_pong::{initiator, responder};
    use coretalk_measure::wait::{Pause, WaitAction};
    use coretalk_measure::{RoleFn, counter};
    use std::hint::black_box;
    use std::sync::atomic::AtomicU64;
    use std::time::{Duration, Instant};

    const PLACES: usize = 128;
    const ROUND_TRIPS: u32 = 64;
    const PASSES: usize = 9;

    /// `N` dependent multiplications: three core cycles each on x86-64 and most Arm cores, with no effect on memory.
    struct Delay<const N: u32>;

    impl<const N: u32> WaitAction for Delay<N> {
        const HINTS: u32 = 0;

        #[inline(always)]
        fn wait() {
            let mut value = black_box(3_u64);
            for _ in 0..N {
                value = black_box(value.wrapping_mul(value));
            }
        }
    }

    struct Variant {
        name: String,
        delay_ns: Option<f64>,
        roles: [RoleFn; 2],
        lines_per_place: usize,
        /// Hops per counted operation: two in a round trip, one in a dependent read.
        hops: f64,
    }

    pub fn run(cpus: [usize; 2]) {
        pin(cpus[0]);
        let ns_per_tick = ns_per_tick();
        let variant = |name: &str, delay_ns, roles: &[RoleFn], lines_per_place, hops| Variant {
            name: name.to_owned(),
            delay_ns,
            roles: [roles[0], roles[1]],
            lines_per_place,
            hops,
        };
        let pause_ns = cost_ns::<Pause>(ns_per_tick);
        let mut variants = vec![
            variant("cas", Some(0.0), CAS.roles, 1, 2.0),
            variant("cas+pause", Some(pause_ns), CAS_PAUSE.roles, 1, 2.0),
            variant("store", Some(0.0), STORE.roles, 1, 2.0),
            variant("store+pause", Some(pause_ns), STORE_PAUSE.roles, 1, 2.0),
            variant("xfer", None, XFER.roles, 2, 1.0),
        ];
        macro_rules! delays {
            ($($n:literal)*) => {$(
                let ns = Some(cost_ns::<Delay<$n>>(ns_per_tick));
                let cas: [RoleFn; 2] = [initiator::<Cas<Delay<$n>>>, responder::<Cas<Delay<$n>>>];
                let store: [RoleFn; 2] = [initiator::<Store<Delay<$n>>>, responder::<Store<Delay<$n>>>];
                variants.push(variant(concat!("cas+delay:", $n), ns, &cas, 1, 2.0));
                variants.push(variant(concat!("store+delay:", $n), ns, &store, 1, 2.0));
            )*};
        }
        delays!(2 6 12 20 28 40 50 60 80 100 120);
        // Passes of all variants alternate, so that drift affects all alike.
        let mut values = vec![Vec::new(); variants.len()];
        for _ in 0..PASSES {
            for (variant, values) in variants.iter().zip(&mut values) {
                values.push(measure(variant, cpus, ns_per_tick));
            }
            std::thread::sleep(Duration::from_millis(30));
        }
        println!("{:16} {:>9} {:>9} {:>9} {:>9}", "kernel", "delay ns", "min ns", "median ns", "max ns");
        for (variant, values) in variants.iter().zip(&mut values) {
            values.sort_by(f64::total_cmp);
            let delay = variant.delay_ns.map_or("-".to_owned(), |ns| format!("{ns:.1}"));
            let (min, median, max) = (values[0], values[PASSES / 2], values[PASSES - 1]);
            println!("{:16} {delay:>9} {min:>9.1} {median:>9.1} {max:>9.1}", variant.name);
        }
    }

    /// Makes one pass over fresh lines; returns the median over places, in nanoseconds per hop.
    fn measure(variant: &Variant, cpus: [usize; 2], ns_per_tick: f64) -> f64 {
        let lines: Vec<Line> = (0..PLACES * variant.lines_per_place).map(|_| Line::new()).collect();
        let lines: Vec<&Line> = lines.iter().collect();
        let halt = AtomicU64::new(0);
        let deadline_ticks = counter::now_ticks() + (2e9 / ns_per_tick) as u64;
        let guard = Guard { halt: &halt, deadline_ticks, now_ticks: counter::now_ticks };
        let run_role = |role: usize, ticks: &mut [u32]| {
            pin(cpus[role]);
            let recorder = Recorder::Batches { visits: 1, round_trips: ROUND_TRIPS, ticks };
            let mut context =
                KernelContext { lines: &lines, warm_up: 256, recorder, guard: &guard, verified: 0 };
            variant.roles[role](&mut context).is_ok()
        };
        let mut ticks = vec![0; PLACES];
        let ended = std::thread::scope(|scope| {
            let other = scope.spawn(|| run_role(1, &mut []));
            run_role(0, &mut ticks) && other.join().unwrap_or(false)
        });
        ticks.sort_unstable();
        let median = f64::from(ticks[PLACES / 2]) * ns_per_tick / f64::from(ROUND_TRIPS) / variant.hops;
        if ended { median } else { f64::NAN }
    }

    /// Duration of one wait: the fastest of many runs of consecutive waits.
    fn cost_ns<W: WaitAction>(ns_per_tick: f64) -> f64 {
        let run = || {
            let begun = counter::start();
            for _ in 0..1_000 {
                W::wait();
            }
            counter::stop() - begun
        };
        (0..50).map(|_| run()).min().unwrap_or(0) as f64 * ns_per_tick / 1_000.0
    }

    fn ns_per_tick() -> f64 {
        let (clock, begun) = (Instant::now(), counter::start());
        while clock.elapsed() < Duration::from_millis(50) {}
        let ticks = counter::stop() - begun;
        clock.elapsed().as_nanos() as f64 / ticks as f64
    }

    fn pin(cpu: usize) {
        // SAFETY: a `cpu_set_t` of zeros is an empty set, and the kernel only reads it.
        let pinned = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu, &mut set);
            libc::sched_setaffinity(0, size_of_val(&set), &set)
        };
        if pinned != 0 {
            eprintln!("failed to pin to CPU {cpu}: {}", std::io::Error::last_os_error());
            std::process::exit(1);
        }
    }
}
