//! Priority of measuring threads: requested and actual.

use crate::machine::{MachineError, WorkerSettings};
use coretalk_model::CpuSet;
use std::io;

/// Requested priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// The priority stays unchanged.
    Inherited,
    /// Niceness −20 if the system allows it.
    Best,
    /// Exactly this niceness.
    Nice(i32),
    /// `SCHED_FIFO` with this priority.
    Fifo(i32),
}

impl Priority {
    /// The priority requested for workers. Fails with [`MachineError::Priority`] if it is out of range, or if real-time
    /// threads would spin on every CPU and stop the machine.
    pub fn from_settings(settings: &WorkerSettings, usable: &CpuSet) -> Result<Priority, MachineError> {
        let refuse =
            |priority: String, reason: &str| MachineError::Priority { priority, reason: reason.to_owned() };
        match (settings.realtime, settings.nice) {
            (Some(fifo), _) if !(1..=99).contains(&fifo) => {
                Err(refuse(format!("real-time priority {fifo}"), "it ranges from 1 to 99"))
            }
            (Some(fifo), _) if usable.is_subset(&settings.cpus.iter().copied().collect()) => Err(refuse(
                format!("real-time priority {fifo}"),
                "this would leave no CPU for anything else; leave at least one out of --cpus",
            )),
            (Some(fifo), _) => Ok(Priority::Fifo(fifo)),
            (None, Some(nice)) if !(-20..=19).contains(&nice) => {
                Err(refuse(format!("niceness {nice}"), "it ranges from -20 to 19"))
            }
            (None, Some(nice)) => Ok(Priority::Nice(nice)),
            (None, None) => Ok(Priority::Best),
        }
    }
}

impl std::fmt::Display for Priority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Priority::Inherited => f.write_str("inherited priority"),
            Priority::Best => f.write_str("niceness -20"),
            Priority::Nice(nice) => write!(f, "niceness {nice}"),
            Priority::Fifo(fifo) => write!(f, "real-time priority {fifo}"),
        }
    }
}

/// Applies a priority to the calling thread. Returns the actual priority: `nice -20`, `fifo 50`, `normal`. Fails if the
/// system refuses an explicit priority; [`Priority::Best`] never fails.
pub fn apply(priority: Priority) -> io::Result<String> {
    match priority {
        Priority::Inherited => {}
        // Usually refused for lack of CAP_SYS_NICE. The returned name shows the result.
        Priority::Best => drop(set_nice(-20)),
        Priority::Nice(nice) => set_nice(nice)?,
        Priority::Fifo(fifo) => set_fifo(fifo)?,
    }
    Ok(in_force())
}

/// Priority of the calling thread.
pub fn in_force() -> String {
    // SAFETY: the call only returns a number.
    let policy = unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK;
    if policy == libc::SCHED_FIFO || policy == libc::SCHED_RR {
        // SAFETY: an all-zero `sched_param` is valid.
        let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
        // SAFETY: the structure is writable.
        unsafe { libc::sched_getparam(0, &mut param) };
        let name = if policy == libc::SCHED_FIFO { "fifo" } else { "round-robin" };
        return format!("{name} {}", param.sched_priority);
    }
    // On Linux niceness belongs to the thread, and 0 means the calling thread. −1 is also the error value, but the call
    // cannot fail for the calling thread.
    // SAFETY: the call only returns a number.
    match unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) } {
        0 => "normal".to_owned(),
        nice => format!("nice {nice}"),
    }
}

fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: the call takes only numbers.
    let status = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn set_fifo(priority: i32) -> io::Result<()> {
    // SAFETY: an all-zero `sched_param` is valid.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = priority;
    // Threads and commands started by this thread do not inherit the priority.
    // SAFETY: the structure is readable.
    let status = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &param) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::CpuId;

    /// The priority on CPUs from 0 of a machine with four.
    fn priority(cpus: u32, nice: Option<i32>, realtime: Option<i32>) -> Result<Priority, MachineError> {
        let settings = WorkerSettings { cpus: (0..cpus).map(CpuId).collect(), nice, realtime };
        Priority::from_settings(&settings, &CpuSet::from_list("0-3").unwrap())
    }

    #[test]
    fn real_time_never_takes_every_cpu() {
        assert!(matches!(priority(3, None, Some(50)), Ok(Priority::Fifo(50))));
        let error = priority(4, None, Some(50)).unwrap_err().to_string();
        assert!(error.contains("leave no CPU"), "{error}");
    }

    #[test]
    fn priorities_out_of_range_are_refused() {
        for (nice, realtime) in [(Some(20), None), (Some(-21), None), (None, Some(0))] {
            let refused = matches!(priority(1, nice, realtime), Err(MachineError::Priority { .. }));
            assert!(refused, "{nice:?} {realtime:?}");
        }
    }

    #[test]
    fn the_reported_priority_is_the_actual_one() {
        let granted = std::thread::spawn(|| apply(Priority::Nice(19)).unwrap()).join().unwrap();
        assert_eq!(granted, "nice 19");
    }
}
