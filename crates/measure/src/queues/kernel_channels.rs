//! Queues in the kernel: [`Pipe`] and [`Socketpair`].
//!
//! A pipe is in packet mode, where every write is a message with its own buffer. So its capacity in messages is known;
//! the kernel rounds it to a power of two. A pair of connected Unix sockets also preserves message boundaries, but the
//! kernel limits its memory. So the buffer size for an exact capacity is found by filling the queue.

use super::ends::{
    Implementation, Leave, NoMessage, QueueParameters, Receiver, Refusal, SendRefused, Sender, Watch,
};
use super::message::Message;
use crate::kernel_context::{Guard, Halt};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::io::{ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// A pipe in packet mode.
#[derive(Debug)]
pub struct Pipe;

/// One end of a pipe.
#[derive(Debug)]
pub struct PipeEnd<M> {
    file: File,
    message: PhantomData<fn(M) -> M>,
}

impl Implementation for Pipe {
    type Sender<M: Message> = PipeEnd<M>;
    type Receiver<M: Message> = PipeEnd<M>;

    fn open<M: Message>(shape: &QueueParameters) -> Result<(PipeEnd<M>, PipeEnd<M>), Refusal> {
        let capacity = shape.capacity;
        let refuse = |reason: &str| Refusal::Capacity { capacity, reason: reason.into() };
        if M::MAX_BYTES > libc::PIPE_BUF {
            return Err(refuse("a pipe packet has at most 4096 bytes"));
        }
        if !capacity.is_power_of_two() {
            return Err(refuse("the capacity of a pipe in packet mode is a power of two"));
        }
        let mut fds = [0; 2];
        // SAFETY: the array takes the two descriptors.
        if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_DIRECT | libc::O_CLOEXEC) } != 0 {
            return Err(Refusal::System { what: "a pipe", source: std::io::Error::last_os_error() });
        }
        // SAFETY: both descriptors were just opened and have no other owner.
        let [read, write] = fds.map(|fd| unsafe { File::from_raw_fd(fd) });
        // SAFETY: the call only returns a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let size = i32::try_from(capacity as i64 * page).ok();
        // SAFETY: the descriptor is open, and the argument is the number that the command takes.
        let granted = size.map(|size| unsafe { libc::fcntl(fds[1], libc::F_SETPIPE_SZ, size) });
        if granted.is_none() || granted != size {
            return Err(refuse("the system does not allow a pipe with that many buffers"));
        }
        Ok((PipeEnd { file: write, message: PhantomData }, PipeEnd { file: read, message: PhantomData }))
    }
}

impl<M> PipeEnd<M> {
    fn duplicate(&self) -> Option<PipeEnd<M>> {
        Some(PipeEnd { file: self.file.try_clone().ok()?, message: PhantomData })
    }
}

impl<M: Message> Sender<M> for PipeEnd<M> {
    fn try_send(&mut self, message: M) -> Result<(), SendRefused<M>> {
        let sent = message.with_bytes(|bytes| {
            loop {
                match self.file.write(bytes) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    other => break other.is_ok_and(|count| count == bytes.len()),
                }
            }
        });
        // Fails only if the reader is gone.
        if sent { Ok(()) } else { Err(SendRefused::Closed) }
    }

    fn send(&mut self, message: M, _: &Watch<'_>) -> Result<(), Leave> {
        self.try_send(message).map_err(|_| Leave::Halted(Halt::Partner))
    }

    fn another(&self) -> Option<Self> {
        self.duplicate()
    }
}

impl<M: Message> Receiver<M> for PipeEnd<M> {
    fn try_receive(&mut self) -> Result<M, NoMessage> {
        let mut bytes = [0; libc::PIPE_BUF];
        loop {
            match self.file.read(&mut bytes[..M::MAX_BYTES]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // End of file: all writers are gone and the pipe is empty.
                Ok(0) | Err(_) => return Err(NoMessage::Ever),
                Ok(count) => return M::from_bytes(&bytes[..count]).ok_or(NoMessage::Ever),
            }
        }
    }

    fn receive(&mut self, _: &Guard<'_>) -> Result<Option<M>, Halt> {
        Ok(self.try_receive().ok())
    }

    fn another(&self) -> Option<Self> {
        self.duplicate()
    }
}

/// A connected pair of sockets.
#[derive(Debug)]
pub struct Socketpair;

/// One end of the pair.
#[derive(Debug)]
pub struct SocketEnd<M> {
    socket: OwnedFd,
    message: PhantomData<fn(M) -> M>,
}

/// Maximum requested buffer size. The kernel doubles a request and caps the result at 2 GiB.
const MAX_BUFFER: i32 = 1 << 30;

/// Buffer sizes found so far, by message length and capacity. A search fills the queue thirty times.
static BUFFERS: Mutex<BTreeMap<(usize, usize), i32>> = Mutex::new(BTreeMap::new());

impl Implementation for Socketpair {
    type Sender<M: Message> = SocketEnd<M>;
    type Receiver<M: Message> = SocketEnd<M>;

    fn open<M: Message>(shape: &QueueParameters) -> Result<(SocketEnd<M>, SocketEnd<M>), Refusal> {
        let [sender, receiver] = connected()?;
        let key = (M::MAX_BYTES, shape.capacity);
        let lock_buffers = || BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
        let buffer = lock_buffers().get(&key).copied();
        let buffer = match buffer {
            Some(buffer) => buffer,
            None => find_buffer::<M>(&sender, &receiver, shape.capacity)?,
        };
        lock_buffers().insert(key, buffer);
        set_buffer(&sender, buffer)?;
        Ok((
            SocketEnd { socket: sender, message: PhantomData },
            SocketEnd { socket: receiver, message: PhantomData },
        ))
    }
}

/// Searches for the buffer size that holds exactly `capacity` messages.
fn find_buffer<M: Message>(sender: &OwnedFd, receiver: &OwnedFd, capacity: usize) -> Result<i32, Refusal> {
    let fitting = |buffer: i32| count_fitting::<M>(sender, receiver, buffer, capacity.saturating_add(1));
    let refuse = |reason| Err(Refusal::Capacity { capacity, reason });
    let most = fitting(MAX_BUFFER)?;
    if most < capacity {
        return refuse(format!("the system allows a socket memory for {most} such messages"));
    }
    let (mut low, mut high) = (0, MAX_BUFFER);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fitting(middle)? >= capacity { high = middle } else { low = middle }
    }
    if capacity == 0 || fitting(high)? != capacity {
        let least = fewest_fitting::<M>(sender, receiver)?;
        return refuse(format!("a socket holds at least {least} such messages"));
    }
    Ok(high)
}

fn fewest_fitting<M: Message>(sender: &OwnedFd, receiver: &OwnedFd) -> Result<usize, Refusal> {
    count_fitting::<M>(sender, receiver, 1, 1 << 10)
}

fn connected() -> Result<[OwnedFd; 2], Refusal> {
    let mut fds = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the array takes the two descriptors.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) } != 0 {
        return Err(Refusal::System { what: "a pair of sockets", source: io::Error::last_os_error() });
    }
    // SAFETY: both descriptors were just opened and have no other owner.
    Ok(fds.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// The number of messages that fit, counted up to `most`. The sockets are empty before and after.
fn count_fitting<M: Message>(
    sender: &OwnedFd,
    receiver: &OwnedFd,
    buffer: i32,
    most: usize,
) -> Result<usize, Refusal> {
    set_buffer(sender, buffer)?;
    let mut count = 0;
    while count < most
        && M::make(count as u64).with_bytes(|bytes| send(sender, bytes, libc::MSG_DONTWAIT)).is_ok()
    {
        count += 1;
    }
    let mut bytes = vec![0; M::MAX_BYTES];
    while receive(receiver, &mut bytes, libc::MSG_DONTWAIT).is_ok_and(|count| count > 0) {}
    Ok(count)
}

fn set_buffer(socket: &OwnedFd, bytes: i32) -> Result<(), Refusal> {
    // SAFETY: the option takes a number, whose address and size are passed.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_SNDBUF,
            (&raw const bytes).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if set != 0 {
        return Err(Refusal::System { what: "a buffer of a socket", source: io::Error::last_os_error() });
    }
    Ok(())
}

fn send(socket: &OwnedFd, bytes: &[u8], flags: i32) -> io::Result<usize> {
    let flags = flags | libc::MSG_NOSIGNAL;
    // SAFETY: the buffer is readable for its length.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

fn receive(socket: &OwnedFd, bytes: &mut [u8], flags: i32) -> io::Result<usize> {
    // SAFETY: the buffer is writable for its length.
    let count = unsafe { libc::recv(socket.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), flags) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

impl<M> SocketEnd<M> {
    fn duplicate(&self) -> Option<SocketEnd<M>> {
        Some(SocketEnd { socket: self.socket.try_clone().ok()?, message: PhantomData })
    }
}

impl<M: Message> SocketEnd<M> {
    fn put(&self, message: &M, flags: i32) -> io::Result<()> {
        message.with_bytes(|bytes| {
            loop {
                match send(&self.socket, bytes, flags) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    other => break other.map(|_| ()),
                }
            }
        })
    }

    fn get(&self, flags: i32) -> Result<M, NoMessage> {
        // Size of the longest block. Messages on the heap are shorter.
        let mut bytes = [0; 4096];
        loop {
            match receive(&self.socket, &mut bytes[..M::MAX_BYTES], flags) {
                Ok(0) => return Err(NoMessage::Ever),
                Ok(count) => return M::from_bytes(&bytes[..count]).ok_or(NoMessage::Ever),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(NoMessage::Yet),
                Err(_) => return Err(NoMessage::Ever),
            }
        }
    }
}

impl<M: Message> Sender<M> for SocketEnd<M> {
    fn try_send(&mut self, message: M) -> Result<(), SendRefused<M>> {
        self.put(&message, libc::MSG_DONTWAIT).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => SendRefused::Full(message),
            _ => SendRefused::Closed,
        })
    }

    fn send(&mut self, message: M, _: &Watch<'_>) -> Result<(), Leave> {
        self.put(&message, 0).map_err(|_| Leave::Halted(Halt::Partner))
    }

    fn another(&self) -> Option<Self> {
        self.duplicate()
    }
}

impl<M: Message> Receiver<M> for SocketEnd<M> {
    fn try_receive(&mut self) -> Result<M, NoMessage> {
        self.get(libc::MSG_DONTWAIT)
    }

    fn receive(&mut self, _: &Guard<'_>) -> Result<Option<M>, Halt> {
        Ok(self.get(0).ok())
    }

    fn another(&self) -> Option<Self> {
        self.duplicate()
    }
}
