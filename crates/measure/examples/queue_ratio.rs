//! Compares our ring with rtrb on the same two CPUs, in alternating turns of one run, and the timed loop with a bare
//! loop: `cargo run --release -p coretalk-measure --example queue_ratio [CPU CPU]`. Targets: at least 0.95 for
//! rtrb/ours, at most 1.03 for loop/bare.

#[cfg(all(target_os = "linux", not(loom)))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(not(all(target_os = "linux", not(loom))))]
fn main() {
    eprintln!("threads cannot be pinned on this system");
}

#[cfg(all(target_os = "linux", not(loom)))]
mod linux {
    use coretalk_measure::counter;
    use coretalk_measure::host::affinity;
    use coretalk_measure::kernel_context::{Guard, Halt};
    use coretalk_measure::queues::ends::{
        Implementation, Leave, NoMessage, QueueParameters, Receiver, SendRefused, Sender, Watch,
    };
    use coretalk_measure::queues::exchange::{
        ArrivalOrder, Consume, Produce, QueueRoles, RoleSettings, consume, produce, roles,
    };
    use coretalk_measure::queues::libraries::Rtrb;
    use coretalk_measure::queues::limits::{Received, RoleLimits, Sent};
    use coretalk_measure::queues::limits::{Stamp, rate};
    use coretalk_measure::queues::message::Message;
    use coretalk_measure::queues::spsc::Spsc;
    use coretalk_model::CpuId;
    use std::error::Error;
    use std::sync::atomic::AtomicU64;

    /// Capacities with their messages per turn, enough for some milliseconds.
    const MESSAGES: [(usize, u64); 5] =
        [(1, 20_000), (10, 100_000), (100, 500_000), (1_000, 500_000), (10_000, 500_000)];
    const ROUNDS: usize = 41;

    pub fn main() -> Result<(), Box<dyn Error>> {
        let mut words = std::env::args().skip(1).map(|word| word.parse().map(CpuId));
        let from = words.next().unwrap_or(Ok(CpuId(0)))?;
        let to = words.next().unwrap_or(Ok(CpuId(1)))?;
        println!("CPUs {from} → {to}, u64, fastest tenth of {ROUNDS} turns each");
        println!("ns per message    ours   rtrb  rtrb/ours  ours bare  loop/bare  rtrb bare  loop/bare");
        for (capacity, messages) in MESSAGES {
            let shape = QueueParameters { capacity, spins: 0 };
            let mut turns: [Vec<f64>; 4] = Default::default();
            for round in 0..ROUNDS {
                // The order rotates, so that no variant always follows the same other variant.
                for which in (0..4).map(|index| (index + round) % 4) {
                    let roles = match which {
                        0 => roles::<Spsc, u64>(&shape, &RoleSettings::pair())?,
                        1 => roles::<Rtrb, u64>(&shape, &RoleSettings::pair())?,
                        2 => bare::<Spsc>(&shape)?,
                        _ => bare::<Rtrb>(&shape)?,
                    };
                    turns[which].push(run(roles, [from, to], messages)?);
                }
            }
            let [ours, rtrb, our_bare, rtrb_bare] = turns.map(fastest);
            println!(
                "capacity {capacity:>6} {ours:7.2}{rtrb:7.2}{:11.3}{our_bare:11.2}{:11.3}{rtrb_bare:11.2}{:11.3}",
                rtrb / ours,
                ours / our_bare,
                rtrb / rtrb_bare,
            );
        }
        let mut turns: [Vec<f64>; 4] = Default::default();
        for _ in 0..ROUNDS {
            for (kept, ns) in
                turns.iter_mut().zip([producer_ns()?, bare_producer_ns(), consumer_ns()?, bare_consumer_ns()])
            {
                kept.push(ns);
            }
        }
        let [producer_ns, bare_producer_ns, consumer_ns, bare_consumer_ns] = turns.map(fastest);
        println!("with a queue that does nothing, ns per message: loop, bare loop");
        println!(
            "producer {producer_ns:7.2}{bare_producer_ns:7.2}\nconsumer {consumer_ns:7.2}{bare_consumer_ns:7.2}"
        );
        Ok(())
    }

    /// The time that the fastest tenth of the turns reach: other programs can only slow a turn down.
    fn fastest(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 10]
    }

    fn limits<'a>(guard: &'a Guard<'a>, messages: u64) -> RoleLimits<'a> {
        RoleLimits { guard, until_ticks: u64::MAX, messages, apart_ticks: 50_000 }
    }

    /// Nanoseconds per message, from the stamps of the consumer.
    fn run(roles: QueueRoles, cpus: [CpuId; 2], messages: u64) -> Result<f64, Box<dyn Error>> {
        let halt = AtomicU64::new(0);
        let guard = Guard { halt: &halt, deadline_ticks: u64::MAX, now_ticks: counter::now_ticks };
        let (begun, clock) = (counter::now_ticks(), std::time::Instant::now());
        let received = std::thread::scope(|scope| {
            let guard = &guard;
            let producer = roles.producers.into_iter().next().map(|role: Produce| {
                scope.spawn(move || {
                    affinity::pin_current_thread(cpus[0]).map_err(|_| Halt::Partner)?;
                    role(&limits(guard, messages))
                })
            });
            let consumer = roles.consumers.into_iter().next().map(|role: Consume| {
                scope.spawn(move || {
                    affinity::pin_current_thread(cpus[1]).map_err(|_| Halt::Partner)?;
                    role(&limits(guard, messages))
                })
            });
            drop(producer.map(|thread| thread.join()));
            consumer.and_then(|thread| thread.join().ok())
        });
        let ns_per_tick = clock.elapsed().as_nanos() as f64 / (counter::now_ticks() - begun) as f64;
        let received = received.ok_or("a role panicked")?.map_err(|halt| format!("a role left: {halt:?}"))?;
        let per_tick = rate(&[received.stamps]).ok_or("too few messages")?;
        Ok(ns_per_tick / per_tick)
    }

    /// The same exchange without the work of the harness: no checks, no counts, eleven stamps of the consumer.
    fn bare<S: Implementation>(shape: &QueueParameters) -> Result<QueueRoles, Box<dyn Error>> {
        let (mut sender, mut receiver) = S::open::<u64>(shape)?;
        let producer: Produce = Box::new(move |limits| {
            let watch = Watch { guard: limits.guard, until_ticks: u64::MAX };
            for number in 0..limits.messages {
                if let Err(SendRefused::Full(number)) = sender.try_send(number) {
                    match sender.send(number, &watch) {
                        Err(Leave::Halted(halt)) => return Err(halt),
                        Err(Leave::Over) | Ok(()) => {}
                    }
                }
            }
            Ok(Sent::default())
        });
        let consumer: Consume = Box::new(move |limits| {
            let stamp = |count| Stamp { count, ticks: counter::now_ticks() };
            let mut stamps = vec![stamp(0)];
            for tenth in 1..=10 {
                for _ in 0..limits.messages / 10 {
                    let message = match receiver.try_receive() {
                        Ok(message) => Some(message),
                        Err(_) => receiver.receive(limits.guard)?,
                    };
                    // The message is read, as a user of the queue would do.
                    std::hint::black_box(message.and_then(Message::read));
                }
                stamps.push(stamp(tenth * limits.messages / 10));
            }
            Ok(Received { stamps, ..Received::default() })
        });
        Ok(QueueRoles { producers: vec![producer], consumers: vec![consumer] })
    }

    /// Accepts and discards every message.
    struct Nowhere;

    impl<M: Message> Sender<M> for Nowhere {
        #[inline(always)]
        fn try_send(&mut self, message: M) -> Result<(), SendRefused<M>> {
            std::hint::black_box(&message);
            Ok(())
        }

        fn send(&mut self, _: M, _: &Watch<'_>) -> Result<(), Leave> {
            Ok(())
        }
    }

    /// Supplies `remaining` consecutive numbers as messages.
    struct Numbers {
        next: u64,
        remaining: u64,
    }

    impl Receiver<u64> for Numbers {
        #[inline(always)]
        fn try_receive(&mut self) -> Result<u64, NoMessage> {
            if self.remaining == 0 {
                return Err(NoMessage::Ever);
            }
            self.remaining -= 1;
            let message = std::hint::black_box(self.next);
            self.next += 1;
            Ok(message)
        }

        fn receive(&mut self, _: &Guard<'_>) -> Result<Option<u64>, Halt> {
            Ok(self.try_receive().ok())
        }
    }

    /// Messages of a turn of one role without the other.
    const MESSAGES_ALONE: u64 = 1_000_000;

    fn per_message(begun: std::time::Instant) -> f64 {
        begun.elapsed().as_nanos() as f64 / MESSAGES_ALONE as f64
    }

    /// Nanoseconds to make and discard a message in a bare loop.
    fn bare_producer_ns() -> f64 {
        let clock = std::time::Instant::now();
        for number in 0..MESSAGES_ALONE {
            let _ = Nowhere.try_send(<u64 as Message>::make(number));
        }
        per_message(clock)
    }

    fn producer_ns() -> Result<f64, Box<dyn Error>> {
        measure_alone(|limits| produce::<u64, _>(Nowhere, limits, 0).map(|sent| sent.messages))
    }

    /// Nanoseconds to take and read a message in a bare loop.
    fn bare_consumer_ns() -> f64 {
        let mut numbers = Numbers { next: 0, remaining: MESSAGES_ALONE };
        let clock = std::time::Instant::now();
        while let Ok(message) = numbers.try_receive() {
            std::hint::black_box(Message::read(message));
        }
        per_message(clock)
    }

    fn consumer_ns() -> Result<f64, Box<dyn Error>> {
        let numbers = Numbers { next: 0, remaining: MESSAGES_ALONE };
        measure_alone(|limits| {
            let received = consume::<u64, _>(numbers, limits, ArrivalOrder::Counted)?;
            if received.wrong == 0 { Ok(received.messages) } else { Err(Halt::Partner) }
        })
    }

    fn measure_alone(role: impl FnOnce(&RoleLimits<'_>) -> Result<u64, Halt>) -> Result<f64, Box<dyn Error>> {
        let halt = AtomicU64::new(0);
        let guard = Guard { halt: &halt, deadline_ticks: u64::MAX, now_ticks: counter::now_ticks };
        let clock = std::time::Instant::now();
        let messages = role(&limits(&guard, MESSAGES_ALONE)).map_err(|halt| format!("{halt:?}"))?;
        if messages == MESSAGES_ALONE { Ok(per_message(clock)) } else { Err("messages were lost".into()) }
    }
}
