//! [`Process`]: one process of an adapter, which serves requests for passes.

use super::Adapter;
use super::answer::{AWAITED, AdapterAnswer, Prepared};
use super::checks::{self, PassEvidence};
use super::child::Running;
use super::description::Description;
use super::error::AdapterError;
use super::pass::AdapterPass;
use super::pins;
use super::protocol::{Request, cut};
use super::tree::{own_delay_ns, stolen_ns};
use crate::stop::Stop;
use coretalk_model::CpuSet;
use std::time::{Duration, Instant};

/// Time limit for a runtime to start and describe itself. Java's compiler took 5 s on a loaded machine.
pub const START: Duration = Duration::from_secs(30);
const MAX_LINES: usize = 1_000;
const MAX_DESCRIPTION: usize = 256 << 10;
/// Attempts before a false time or another disturbance is a fault. Delays may exceed what the system reports.
const ATTEMPTS: u32 = 3;
/// Time that an adapter may take to end.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// One process of an adapter.
pub struct Process {
    running: Running,
    passes: u64,
    fork: usize,
}

/// How processes of an adapter are started.
#[derive(Debug, Clone)]
pub struct StartSettings {
    /// Affinity at start: all CPUs of this process, since a runtime counts CPUs when it starts.
    pub allowed: CpuSet,
    /// Environment variable from `Watchdog::mark`, by which the watchdog finds leftover processes.
    pub guard: Option<(String, String)>,
}

impl StartSettings {
    fn guard(&self) -> Option<(&str, &str)> {
        self.guard.as_ref().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Asks an adapter for its description. Fails if the adapter cannot be started, exceeds `limit` or prints something
/// invalid.
pub fn describe(
    adapter: &Adapter,
    settings: &StartSettings,
    limit: Duration,
    stop: &Stop,
) -> Result<Description, AdapterError> {
    const DESCRIPTION: &str = "its description";
    let mut running = Running::start(adapter, "describe", &settings.allowed, settings.guard())?;
    let deadline = Instant::now() + limit;
    let mut text = String::new();
    for _ in 0..MAX_LINES {
        match running.hear(deadline, limit, DESCRIPTION, stop) {
            Ok((line, _)) => {
                text += &format!("{line}\n");
                if text.len() > MAX_DESCRIPTION {
                    return Err(AdapterError::LongDescription { most: MAX_DESCRIPTION });
                }
            }
            Err(AdapterError::Crashed { end, said, .. }) => {
                return match end.as_str() {
                    super::child::SUCCESS => Ok(Description::parse(&text)?),
                    _ => Err(AdapterError::DescribeFailed { end, said }),
                };
            }
            Err(error) => return Err(error),
        }
    }
    Err(AdapterError::Unexpected { line: cut(&text), awaited: "the end of its description" })
}

impl Process {
    /// Starts an adapter with `serve`. The process ends with the calling thread.
    pub fn start(adapter: &Adapter, fork: usize, settings: &StartSettings) -> Result<Process, AdapterError> {
        let running = Running::start(adapter, "serve", &settings.allowed, settings.guard())?;
        Ok(Process { running, passes: 0, fork })
    }

    /// Performs one pass and verifies the answer. The other threads of the adapter run on `helpers`. Any error except
    /// [`AdapterError::Refused`] ends the process.
    pub fn pass(
        &mut self,
        request: &Request,
        helpers: &CpuSet,
        stop: &Stop,
    ) -> Result<AdapterPass, AdapterError> {
        let mut times = 0;
        let error = loop {
            times += 1;
            match self.attempt(request, helpers, stop) {
                Ok(pass) => return Ok(pass),
                Err(error @ AdapterError::Refused { .. }) => return Err(error),
                Err(AdapterError::FalseTime { said_ns, passed_ns, .. }) => {
                    if times == ATTEMPTS {
                        break AdapterError::FalseTime { said_ns, passed_ns, times };
                    }
                }
                // The system may have moved the role after a change of the cpuset.
                Err(AdapterError::Moved { role, thread, place, .. }) => {
                    if times == ATTEMPTS {
                        break AdapterError::Moved { role, thread, place, times };
                    }
                }
                // A role may have lost its CPU between two operations.
                Err(AdapterError::ShortEvents { .. }) if times < ATTEMPTS => {}
                // Other programs may have used the CPU while the adapter read its clock a thousand times.
                Err(AdapterError::FalseClock { .. }) if times < ATTEMPTS => {}
                Err(error) => break error,
            }
        };
        self.running.kill();
        Err(error)
    }

    fn attempt(
        &mut self,
        request: &Request,
        helpers: &CpuSet,
        stop: &Stop,
    ) -> Result<AdapterPass, AdapterError> {
        self.expect_silence(|line| AdapterError::Unasked { line })?;
        let requested = Instant::now();
        self.passes += 1;
        let number = self.passes;
        // The first pass includes the start of the runtime.
        let limit = if number == 1 { request.limit + START } else { request.limit };
        self.running.say(&request.line(number), ROLES)?;
        let roles = self.roles(request.operation.roles(), Instant::now() + limit, limit, stop)?;
        let places = request.places();
        pins::bind(self.running.pid(), &roles, &places, helpers)?;
        let (before, own_delay, stolen) = (self.running.tree(), own_delay_ns(), stolen_ns());
        self.expect_silence(|line| AdapterError::Early { line })?;
        let began = Instant::now();
        let mut stay = pins::Stay::begin(&roles, &places);
        self.running.say(&format!("go {number}"), AWAITED)?;
        let deadline = began + request.limit;
        let mut answer = AdapterAnswer::default();
        let done = loop {
            let (line, at) =
                self.running.hear_and(deadline, request.limit, AWAITED, stop, &mut || stay.look())?;
            if let Some(done) = answer.take(&line, at)? {
                break done;
            }
        };
        if done != number {
            return Err(AdapterError::OtherPass { asked: number, said: done });
        }
        let own_delay = own_delay_ns().saturating_sub(own_delay) + stolen_ns().saturating_sub(stolen);
        let after = self.running.tree();
        pins::prove(&roles, &places)?;
        let placement_samples = stay.end()?;
        let evidence = PassEvidence { roles, before, after, began, own_delay };
        let pass = checks::validate(request, answer, &evidence)?;
        Ok(AdapterPass { fork: self.fork, elapsed: requested.elapsed(), placement_samples, ..pass })
    }

    fn roles(
        &mut self,
        count: usize,
        deadline: Instant,
        limit: Duration,
        stop: &Stop,
    ) -> Result<Vec<u32>, AdapterError> {
        let mut roles = vec![None; count];
        loop {
            let (line, _) = self.running.hear(deadline, limit, ROLES, stop)?;
            match Prepared::read(&line) {
                Some(Prepared::Role { role, thread }) if roles.get(role) == Some(&None) => {
                    roles[role] = Some(thread);
                }
                Some(Prepared::Refused(text)) => return Err(AdapterError::Refused { text }),
                _ => return Err(AdapterError::Unexpected { line: cut(&line), awaited: ROLES }),
            }
            if let Some(threads) = roles.iter().copied().collect() {
                return Ok(threads);
            }
        }
    }

    fn expect_silence(&mut self, breach: impl Fn(String) -> AdapterError) -> Result<(), AdapterError> {
        let waiting = self.running.lines().waiting();
        match waiting.map_err(|source| AdapterError::System { what: "read from an adapter", source })? {
            Some(line) => Err(breach(cut(&line))),
            None => Ok(()),
        }
    }

    /// CPU time of the adapter's processes in nanoseconds, as far as the system reports it.
    pub fn used_ns(&self) -> u64 {
        self.running.tree().processes.into_values().flatten().sum()
    }

    /// Closes the input of the adapter and waits for its end. Fails if the adapter does not end, fails or leaves
    /// processes behind. All its processes are gone afterwards.
    pub fn close(mut self, patience: Duration) -> Result<(), AdapterError> {
        self.running.close(patience)
    }
}

const ROLES: &str = "a line `role N THREAD` of a role that has not been named";
