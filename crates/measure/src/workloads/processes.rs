//! Processes: a chain of exec calls, creation, an echo through pipes, shell pipelines.

use super::threads::together;
use super::{CHAIN, Job, Numbers, WorkError};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const LINES: u64 = 400;

/// Programs that replace themselves by exec until the time is over, one chain per thread.
pub fn execl(job: &Job) -> Result<Numbers, WorkError> {
    let program = std::env::current_exe().map_err(WorkError::refused("this program cannot be found"))?;
    let until = now_us() + job.span.as_micros() as u64;
    let (elapsed, counts) = together(&unpinned(job), |_, _| {
        let output = Command::new(&program).args(["work", CHAIN, "0", &until.to_string()]).output();
        let output = output.map_err(WorkError::refused("a chain could not be started"))?;
        let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        printed.parse::<u64>().map_err(|_| WorkError::ChainPrinted { printed })
    })?;
    let loops: u64 = counts.into_iter().sum::<Result<u64, WorkError>>()?;
    Ok(vec![("loops_per_s", loops as f64 / elapsed.as_secs_f64())])
}

/// Removes the pinning. The system's choice of CPUs within the placement is part of the workload.
fn unpinned(job: &Job) -> Job {
    Job { cpus: Vec::new(), ..job.clone() }
}

/// One stage of the chain. It passes the count on to the next stage, or prints it when the time is over. Fails if the
/// arguments are invalid or exec failed.
pub fn go_on(words: &[String]) -> Result<(), WorkError> {
    let [count, until] = words else { return Err(WorkError::StageWords) };
    let read = |word: &String| word.parse::<u64>().map_err(|_| WorkError::NotANumber { word: word.clone() });
    let (count, until) = (read(count)?, read(until)?);
    if now_us() >= until {
        println!("{count}");
        return Ok(());
    }
    let program = std::env::current_exe().map_err(WorkError::NoProgram)?;
    let next = (count + 1).to_string();
    let error = Command::new(program).args(["work", CHAIN, &next, &until.to_string()]).exec();
    Err(WorkError::refused("the program could not be replaced")(error))
}

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

pub fn create(job: &Job) -> Result<Numbers, WorkError> {
    const ANSWER: i32 = 7;
    let (elapsed, counts) = together(&unpinned(job), |_, begun| {
        let mut count = 0u64;
        while begun.elapsed() < job.span {
            // SAFETY: the child calls nothing but `_exit`, which is allowed after a fork of many threads.
            let child = unsafe { libc::fork() };
            match child {
                // SAFETY: the call ends the child at once, without running anything of this process.
                0 => unsafe { libc::_exit(ANSWER) },
                child if child < 0 => {
                    return Err(
                        WorkError::refused("no process could be created")(io::Error::last_os_error()),
                    );
                }
                child => {
                    let mut status = 0;
                    // SAFETY: the status is writable. The child is ours and was not yet waited for.
                    let found = unsafe { libc::waitpid(child, &mut status, 0) };
                    if found != child || !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != ANSWER {
                        return Err(WorkError::ProcessEnd);
                    }
                    count += 1;
                }
            }
        }
        Ok(count)
    })?;
    let loops: u64 = counts.into_iter().sum::<Result<u64, WorkError>>()?;
    Ok(vec![("loops_per_s", loops as f64 / elapsed.as_secs_f64())])
}

/// One pair of processes per thread. One sends a counter through a pipe, and the other returns it through a second
/// pipe. Both check that the number is the next. The pairs may use the whole placement, like those of UnixBench's
/// `context1 -c N` under `taskset`.
pub fn pipe(job: &Job) -> Result<Numbers, WorkError> {
    let mut pairs = Vec::with_capacity(job.threads);
    for _ in 0..job.threads {
        let (from_first, to_second) = open_pipe().map_err(WorkError::refused("no pipe could be created"))?;
        let (from_second, to_first) = open_pipe().map_err(WorkError::refused("no pipe could be created"))?;
        // SAFETY: this process has only one thread, so the child may do anything that this process may.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // An open end here would keep another child from noticing that its parent has ended.
            pairs.into_iter().for_each(Pair::leave);
            drop((to_second, from_second));
            let done = echo(from_first, to_first).is_ok();
            // SAFETY: the call ends the child without running its parent's destructors and exit handlers.
            unsafe { libc::_exit(i32::from(!done)) }
        }
        if child < 0 {
            return Err(WorkError::refused("no process could be created")(io::Error::last_os_error()));
        }
        pairs.push(Pair { to: to_second, from: from_second, child: Child(child) });
    }
    let pairs: Vec<Mutex<Option<Pair>>> = pairs.into_iter().map(|pair| Mutex::new(Some(pair))).collect();
    let (_, sent) = together(&unpinned(job), |number, begun| {
        let pair = pairs[number].lock().unwrap_or_else(PoisonError::into_inner).take();
        pair.map_or(Ok(0.0), |pair| pair.loops_per_s(begun, job.span))
    })?;
    let loops: f64 = sent.into_iter().sum::<Result<f64, WorkError>>()?;
    Ok(vec![("loops_per_s", loops)])
}

struct Pair {
    // Dropped before the child is waited for. The closed pipes end the child.
    to: File,
    from: File,
    child: Child,
}

struct Child(libc::pid_t);

impl Child {
    fn wait(&self) -> Option<i32> {
        let mut status = 0;
        // SAFETY: the status is writable. For a child that was already waited for, the call only returns an error.
        let found = unsafe { libc::waitpid(self.0, &mut status, 0) };
        (found == self.0).then_some(status)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.wait();
    }
}

impl Pair {
    /// Closes the pipes in a process that is not the parent of the child.
    fn leave(self) {
        std::mem::forget(self.child);
    }

    fn loops_per_s(mut self, begun: Instant, span: Duration) -> Result<f64, WorkError> {
        let count = send(begun, span, &mut self.to, &mut self.from)?;
        let elapsed = begun.elapsed();
        let Pair { to, from, child } = self;
        drop((to, from));
        match child.wait() {
            Some(0) => Ok(count as f64 / elapsed.as_secs_f64()),
            _ => Err(WorkError::OutOfStep),
        }
    }
}

fn send(begun: Instant, span: Duration, to: &mut File, from: &mut File) -> Result<u64, WorkError> {
    let broken = WorkError::refused("a pipe broke");
    let mut count = 0u64;
    while begun.elapsed() < span {
        to.write_all(&count.to_ne_bytes()).map_err(broken)?;
        let mut bytes = [0; 8];
        from.read_exact(&mut bytes).map_err(broken)?;
        let echo = u64::from_ne_bytes(bytes);
        if echo != count {
            return Err(WorkError::Echo { sent: count, echo });
        }
        count += 1;
    }
    Ok(count)
}

fn echo(mut from: File, mut to: File) -> io::Result<()> {
    let mut expected = 0u64;
    loop {
        let mut bytes = [0; 8];
        if from.read(&mut bytes)? == 0 {
            return Ok(());
        }
        if u64::from_ne_bytes(bytes) != expected {
            return Err(io::Error::other("out of step"));
        }
        to.write_all(&bytes)?;
        expected += 1;
    }
}

fn open_pipe() -> io::Result<(File, File)> {
    let mut fds = [0; 2];
    // SAFETY: the array is writable and takes the two descriptors.
    if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both descriptors were just opened and have no other owner.
    let [from, to] = fds.map(|fd| File::from(unsafe { OwnedFd::from_raw_fd(fd) }));
    Ok((from, to))
}

/// Batches of shell pipelines of standard tools over the same text, several in parallel.
pub fn shell(job: &Job) -> Result<Numbers, WorkError> {
    let copies = job.workload.size.unwrap_or(1);
    let lines: Vec<String> =
        (0..LINES).map(|line| format!("{} line {line}", line.wrapping_mul(2_654_435_761) % 9_973)).collect();
    let text = lines.join("\n") + "\n";
    let script = "sort | od -c | sort | grep -v zzzz | tee /dev/null | wc -l";
    let run_pipeline = || -> Result<u64, WorkError> {
        let refused = WorkError::refused("a shell could not be run");
        let mut child = Command::new("/bin/sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(refused)?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(text.as_bytes()).map_err(refused)?;
        }
        let output = child.wait_with_output().map_err(refused)?;
        let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        printed.parse().map_err(|_| WorkError::PipelinePrinted { printed })
    };
    let expected = run_pipeline()?;
    let (mut batches, started) = (0u64, Instant::now());
    while batches == 0 || started.elapsed() < job.span {
        let counts: Vec<Result<u64, WorkError>> = std::thread::scope(|scope| {
            let running: Vec<_> = (0..copies).map(|_| scope.spawn(run_pipeline)).collect();
            let joined = running.into_iter().map(|thread| thread.join());
            joined.map(|count| count.unwrap_or(Err(WorkError::ShellEnded))).collect()
        });
        for count in counts {
            let count = count?;
            if count != expected || expected == 0 {
                return Err(WorkError::PipelineCount { count, expected });
            }
        }
        batches += 1;
    }
    Ok(vec![("loops_per_min", batches as f64 * 60.0 / started.elapsed().as_secs_f64())])
}
