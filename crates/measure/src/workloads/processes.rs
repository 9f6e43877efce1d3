//! Processes: a chain of programs, creation, an echo through pipes, shell pipelines.

use super::threads::together;
use super::{CHAIN, Job, Numbers, WorkError};
use crate::host::affinity;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Lines of the text that the shell pipeline works on.
const LINES: u64 = 400;

/// A program that replaces itself by itself until the time is over; side by side as many as there are threads.
pub fn execl(job: &Job) -> Result<Numbers, WorkError> {
    let program = std::env::current_exe().map_err(WorkError::refused("this program cannot be found"))?;
    let until = now_us() + job.span.as_micros() as u64;
    let (elapsed, counts) = together(&free(job), |_, _| {
        let output = Command::new(&program).args(["work", CHAIN, "0", &until.to_string()]).output();
        let output = output.map_err(WorkError::refused("a chain could not be started"))?;
        let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        printed.parse::<u64>().map_err(|_| WorkError::ChainPrinted { printed })
    })?;
    let loops: u64 = counts.into_iter().sum::<Result<u64, WorkError>>()?;
    Ok(vec![("loops_per_s", loops as f64 / elapsed.as_secs_f64())])
}

/// Processes may use the placement as a whole: where the system puts each new one is part of the question.
fn free(job: &Job) -> Job {
    Job { cpus: Vec::new(), ..job.clone() }
}

/// One stage of the chain: hands the count on to the next, or prints it once the time is over.
///
/// # Errors
/// The words make no sense, or the program could not be replaced.
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

/// Time that means the same in the next program of the chain.
fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// Fork, exit, wait, in each thread.
pub fn create(job: &Job) -> Result<Numbers, WorkError> {
    const ANSWER: i32 = 7;
    let (elapsed, counts) = together(&free(job), |_, begun| {
        let mut count = 0u64;
        while begun.elapsed() < job.span {
            // SAFETY: the child calls nothing but `_exit`, which is allowed after a fork of many threads.
            let child = unsafe { libc::fork() };
            match child {
                // SAFETY: ends the child at once, without running anything of this process.
                0 => unsafe { libc::_exit(ANSWER) },
                child if child < 0 => {
                    return Err(
                        WorkError::refused("no process could be created")(io::Error::last_os_error()),
                    );
                }
                child => {
                    let mut status = 0;
                    // SAFETY: the status is writable, and the child is ours and not yet waited for.
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

/// Two processes: one sends a counter through a pipe, the other sends it back through a second one; both check that it is
/// the next.
pub fn pipe(job: &Job) -> Result<Numbers, WorkError> {
    let refused = WorkError::refused("no pipe could be created");
    let (from_first, to_second) = pair().map_err(refused)?;
    let (from_second, to_first) = pair().map_err(refused)?;
    let place = |role: usize| match job.cpus.is_empty() {
        true => true,
        false => affinity::pin_current_thread(job.cpus[role % job.cpus.len()]).is_ok(),
    };
    // SAFETY: this process has one thread, so that the child may do whatever it may do.
    let child = unsafe { libc::fork() };
    match child {
        0 => {
            drop((to_second, from_second));
            let done = place(1) && echo(from_first, to_first).is_ok();
            // SAFETY: ends the child without running what belongs to its parent.
            unsafe { libc::_exit(i32::from(!done)) }
        }
        child if child < 0 => {
            Err(WorkError::refused("no process could be created")(io::Error::last_os_error()))
        }
        child => {
            drop((from_first, to_first));
            // Both ends are closed when this is over, whatever came of it: the other process waits for that.
            let sent = match place(0) {
                true => send(job.span, to_second, from_second),
                false => {
                    drop((to_second, from_second));
                    Err(WorkError::ProcessNotPinned)
                }
            };
            let mut status = 0;
            // SAFETY: the status is writable, and the child is ours and not yet waited for.
            unsafe { libc::waitpid(child, &mut status, 0) };
            let (loops, elapsed) = sent?;
            if status != 0 {
                return Err(WorkError::OutOfStep);
            }
            Ok(vec![("loops_per_s", loops as f64 / elapsed.as_secs_f64())])
        }
    }
}

fn send(span: Duration, mut to: File, mut from: File) -> Result<(u64, Duration), WorkError> {
    let broken = WorkError::refused("a pipe broke");
    let begun = Instant::now();
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
    Ok((count, begun.elapsed()))
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

fn pair() -> io::Result<(File, File)> {
    let mut fds = [0; 2];
    // SAFETY: two numbers that are writable.
    if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both descriptors are fresh and nobody else has them.
    let [from, to] = fds.map(|fd| File::from(unsafe { OwnedFd::from_raw_fd(fd) }));
    Ok((from, to))
}

/// Pipelines of the tools that every system has, over the same text, so many side by side, one batch after another.
pub fn shell(job: &Job) -> Result<Numbers, WorkError> {
    let copies = job.workload.size.unwrap_or(1);
    let lines: Vec<String> =
        (0..LINES).map(|line| format!("{} line {line}", line.wrapping_mul(2_654_435_761) % 9_973)).collect();
    let text = lines.join("\n") + "\n";
    let script = "sort | od -c | sort | grep -v zzzz | tee /dev/null | wc -l";
    let one = || -> Result<u64, WorkError> {
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
    let expected = one()?;
    let (mut batches, started) = (0u64, Instant::now());
    while batches == 0 || started.elapsed() < job.span {
        let counts: Vec<Result<u64, WorkError>> = std::thread::scope(|scope| {
            let running: Vec<_> = (0..copies).map(|_| scope.spawn(one)).collect();
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
