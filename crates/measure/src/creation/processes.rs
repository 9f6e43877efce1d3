//! Creation of processes by a helper of known size. Memory and threads of the tool have no influence on the times.
//!
//! The helper is a fork of the tool with a single thread. It allocates nothing and communicates through shared memory.
//! It dies with the thread that created it.

use super::program::{self, COUNTER_FD};
use super::threads::finish;
use super::{CreationConfig, CreationRefused, Kind, PARENT_MIB, Tallies};
use crate::counter;
use crate::host::affinity;
use crate::kernel_context::Halt;
use crate::series::{MIN_ROUNDS, TrialOrder};
use crate::trial_context::{RoleContext, TrialContext};
use coretalk_model::probes::spawn::names;
use coretalk_model::series::Observed;
use coretalk_model::{CpuSet, TrialFailure};
use std::ffi::c_char;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::Duration;

/// Maximum creations of a pass: one per 15 µs of the longest pass.
const MAX_CREATIONS: usize = 1 << 14;
const POLL_INTERVAL: Duration = Duration::from_millis(5);

#[repr(C)]
struct Board {
    /// Time of the child's first statement.
    began: AtomicU64,
    count: AtomicUsize,
    /// Error number with which the helper gave up; 0 without error.
    errno: AtomicU64,
    pages: AtomicU64,
    stamps: [[AtomicU64; 4]; MAX_CREATIONS],
}

struct Shared(NonNull<Board>);

impl Shared {
    fn new() -> io::Result<Shared> {
        let memory = map(size_of::<Board>(), libc::MAP_SHARED)?;
        Ok(Shared(memory.cast()))
    }

    fn board(&self) -> &Board {
        // SAFETY: the mapping outlives the borrow of `self`. Zeros are a valid board, and all its fields are atomic.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and of this size, and no reference to it outlives `self`.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<Board>()) };
    }
}

fn map(bytes: usize, kind: i32) -> io::Result<NonNull<u8>> {
    // SAFETY: a mapping at an address of the kernel's choice touches no existing memory.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            kind | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        Err(io::Error::last_os_error())
    } else {
        NonNull::new(memory.cast()).ok_or_else(io::Error::last_os_error)
    }
}

/// Marks an error number on the board: pinning was refused.
const PIN_FLAG: u64 = 1 << 32;

struct Orders<'a> {
    kind: Kind,
    board: &'a Board,
    mask: Option<&'a CpuSet>,
    span_ticks: u64,
    pause_ticks: u64,
    program: Option<OwnedFd>,
    /// Path of the program for posix_spawn: `/proc/self/fd/N`.
    path: [u8; 32],
}

pub fn perform(
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
    config: &CreationConfig,
) -> Result<Observed, TrialFailure> {
    let refused = |error: io::Error| {
        TrialFailure::refused("prepare processes", error.raw_os_error().unwrap_or(libc::ENOMEM))
    };
    let shared = Shared::new().map_err(refused)?;
    let program = config.kind.execs().then(program::open).transpose().map_err(refused)?;
    let mut path = [0u8; 32];
    if let Some(program) = &program {
        let text = format!("/proc/self/fd/{}", program.as_raw_fd());
        path[..text.len()].copy_from_slice(text.as_bytes());
    }
    let rate = context.rate();
    let orders = Orders {
        kind: config.kind,
        board: shared.board(),
        mask: config.mask.as_ref(),
        span_ticks: rate.ticks(order.span.ns()) as u64,
        pause_ticks: rate.ticks(config.pause_ns) as u64,
        program,
        path,
    };
    let run_role = |role: &RoleContext<'_>| -> Result<Option<Result<(), CreationRefused>>, Halt> {
        role.wait_for_all()?;
        if role.number > 0 { Ok(None) } else { run_helper(role, &orders).map(Some) }
    };
    let outcomes = context.run(order.limit(), run_role, || ())?;
    if let Some(Err(refused)) = outcomes.into_iter().flatten().next() {
        return finish(context, Some(Err(refused)));
    }
    let board = shared.board();
    // Acquire pairs with the Release of the helper: the stamps below the count are written.
    let count = board.count.load(Acquire).min(MAX_CREATIONS);
    let mut tallies = Tallies::new();
    for stamps in &board.stamps[..count] {
        tallies.count([0, 1, 2, 3].map(|index| stamps[index].load(Relaxed)));
    }
    let mut observed = finish(context, Some(Ok(tallies)))?;
    let mib = board.pages.load(Relaxed) as f64 * page_bytes() / f64::from(1 << 20);
    if mib > 0.0 {
        observed.value(names::PARENT_MIB, mib);
    }
    Ok(observed)
}

fn page_bytes() -> f64 {
    // SAFETY: no memory is involved.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as f64 }
}

/// Forks the helper and waits for its end. Kills the helper if the pass is given up.
fn run_helper(role: &RoleContext<'_>, orders: &Orders<'_>) -> Result<Result<(), CreationRefused>, Halt> {
    // SAFETY: the child calls only `helper_main`, which uses system calls, atomics, and the C library's fork and spawn.
    // Both C libraries reset their locks in the child of a fork.
    let helper = unsafe { libc::fork() };
    match helper {
        -1 => {
            let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EAGAIN);
            return Ok(Err(CreationRefused::Creation(errno)));
        }
        0 => {
            let status = helper_main(orders);
            // SAFETY: ends the helper without running anything of the tool.
            unsafe { libc::_exit(status) };
        }
        _ => {}
    }
    loop {
        let mut status = 0;
        // SAFETY: the status is writable.
        let ended = unsafe { libc::waitpid(helper, &mut status, libc::WNOHANG) };
        if ended != 0 {
            let reported = orders.board.errno.load(Acquire);
            let errno = (reported & !PIN_FLAG) as i32;
            return Ok(match reported {
                0 if ended >= 0 && status == 0 => Ok(()),
                0 => Err(CreationRefused::Creation(libc::ECHILD)),
                _ if reported & PIN_FLAG != 0 => Err(CreationRefused::Pin(errno)),
                _ => Err(CreationRefused::Creation(errno)),
            });
        }
        if let Err(halt) = role.guard.check() {
            // SAFETY: the process is our unreaped child, so its id is valid.
            unsafe {
                libc::kill(helper, libc::SIGKILL);
                libc::waitpid(helper, &mut status, 0);
            }
            return Err(halt);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn helper_main(orders: &Orders<'_>) -> i32 {
    let errno = || io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as u64;
    let failed = |errno: u64| {
        // Release pairs with the Acquire of the supervising thread.
        orders.board.errno.store(errno, Release);
        1
    };
    // SAFETY: no memory is involved. If this is refused, the supervising thread still kills the helper.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if orders.mask.is_some_and(|mask| affinity::set_mask(mask).is_err()) {
        return failed(PIN_FLAG | errno());
    }
    let Ok(_ballast) = map((PARENT_MIB as usize) << 20, libc::MAP_PRIVATE) else { return failed(errno()) };
    orders.board.pages.store(resident_pages(), Relaxed);
    let mut pipe = [0i32; 2];
    if orders.program.is_some() {
        // SAFETY: the array is writable, and the descriptors were just created.
        let piped = unsafe {
            libc::pipe2(pipe.as_mut_ptr(), libc::O_NONBLOCK) == 0
                && libc::dup2(pipe[1], COUNTER_FD) == COUNTER_FD
        };
        if !piped {
            return failed(errno());
        }
    }
    let end = counter::now_ticks() + orders.span_ticks;
    for count in 0..MAX_CREATIONS {
        // Relaxed here and below. One process writes at a time, and the start and end of a process order the writes.
        orders.board.began.store(0, Relaxed);
        let before = counter::start();
        let child = create(orders);
        let returned = counter::stop();
        let mut status = 0;
        // SAFETY: the status is writable.
        if child < 0 || unsafe { libc::waitpid(child, &mut status, 0) } != child {
            return failed(errno());
        }
        let ended = counter::stop();
        let mut began = orders.board.began.load(Relaxed);
        if orders.program.is_some() {
            // SAFETY: `began` has eight writable bytes.
            unsafe { libc::read(pipe[0], (&raw mut began).cast(), size_of::<u64>()) };
        }
        if status != 0 || began == 0 {
            return failed(libc::ENOEXEC as u64);
        }
        let stamps = &orders.board.stamps[count];
        for (slot, stamp) in stamps.iter().zip([before, returned, began, ended]) {
            slot.store(stamp, Relaxed);
        }
        // Release pairs with the Acquire of the tool.
        orders.board.count.store(count + 1, Release);
        if ended > end && count as u64 + 1 >= MIN_ROUNDS {
            break;
        }
        let until = ended + orders.pause_ticks;
        while counter::now_ticks() < until {
            std::hint::spin_loop();
        }
    }
    0
}

fn create(orders: &Orders<'_>) -> i32 {
    let arguments: [*const c_char; 2] = [c"coretalk-child".as_ptr(), std::ptr::null()];
    let environment: [*const c_char; 1] = [std::ptr::null()];
    if orders.kind == Kind::PosixSpawn {
        let mut child = -1;
        // SAFETY: path, arguments and environment are terminated; actions and attributes are null.
        let status = unsafe {
            libc::posix_spawn(
                &mut child,
                orders.path.as_ptr().cast(),
                std::ptr::null(),
                std::ptr::null(),
                arguments.as_ptr().cast(),
                environment.as_ptr().cast(),
            )
        };
        return if status == 0 { child } else { -1 };
    }
    // SAFETY: the child below stores a number and ends, or becomes another program.
    let child = unsafe { libc::fork() };
    if child != 0 {
        return child;
    }
    match &orders.program {
        None => {
            orders.board.began.store(counter::stop(), Relaxed);
            // SAFETY: ends the child without running anything of the tool.
            unsafe { libc::_exit(0) }
        }
        Some(program) => {
            // SAFETY: arguments and environment are terminated. `fexecve` returns only if refused.
            unsafe {
                libc::fexecve(program.as_raw_fd(), arguments.as_ptr(), environment.as_ptr());
                libc::_exit(127)
            }
        }
    }
}

/// Resident pages of this process; 0 if unknown.
fn resident_pages() -> u64 {
    let mut text = [0u8; 128];
    // SAFETY: the path ends with a zero byte, the buffer is writable for the given length, and the descriptor was just
    // opened.
    let length = unsafe {
        let file = libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY);
        if file < 0 {
            return 0;
        }
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        length
    };
    let text = usize::try_from(length).ok().and_then(|length| text.get(..length));
    let second = text.and_then(|text| text.split(|byte| *byte == b' ').nth(1));
    second.map_or(0, |digits| {
        digits
            .iter()
            .filter(|byte| byte.is_ascii_digit())
            .fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0'))
    })
}
