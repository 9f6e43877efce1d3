//! [`Pipe`]: a pipe in packet mode, where every write is a message of its own in a buffer of its own, so that the
//! number of messages it holds is known. The kernel rounds that number to a power of two.

use super::super::ends::{
    Implementation, Leave, NoMessage, Receiver, Refusal, Refused, Sender, Shape, Watch,
};
use super::super::message::Message;
use crate::stage::{Guard, Halt};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::os::fd::FromRawFd;

/// A pipe that keeps messages apart.
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

    fn open<M: Message>(shape: &Shape) -> Result<(PipeEnd<M>, PipeEnd<M>), Refusal> {
        let capacity = shape.capacity;
        let refuse = |reason: &str| Refusal::Capacity { capacity, reason: reason.into() };
        if M::MOST_BYTES > libc::PIPE_BUF {
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
        // SAFETY: both descriptors were just opened and belong to nobody else.
        let [read, write] = fds.map(|fd| unsafe { File::from_raw_fd(fd) });
        // SAFETY: asks for a number only.
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
    fn twin(&self) -> Option<PipeEnd<M>> {
        Some(PipeEnd { file: self.file.try_clone().ok()?, message: PhantomData })
    }
}

impl<M: Message> Sender<M> for PipeEnd<M> {
    fn try_send(&mut self, message: M) -> Result<(), Refused<M>> {
        let sent = message.with_bytes(|bytes| {
            loop {
                match self.file.write(bytes) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    other => break other.is_ok_and(|count| count == bytes.len()),
                }
            }
        });
        // The only reason to fail is that the reader has gone.
        if sent { Ok(()) } else { Err(Refused::Closed) }
    }

    fn send(&mut self, message: M, _: &Watch<'_>) -> Result<(), Leave> {
        self.try_send(message).map_err(|_| Leave::Halted(Halt::Partner))
    }

    fn another(&self) -> Option<Self> {
        self.twin()
    }
}

impl<M: Message> Receiver<M> for PipeEnd<M> {
    fn try_receive(&mut self) -> Result<M, NoMessage> {
        let mut bytes = [0; libc::PIPE_BUF];
        loop {
            match self.file.read(&mut bytes[..M::MOST_BYTES]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // End of file: all writers have gone and nothing is left.
                Ok(0) | Err(_) => return Err(NoMessage::Ever),
                Ok(count) => return M::from_bytes(&bytes[..count]).ok_or(NoMessage::Ever),
            }
        }
    }

    fn receive(&mut self, _: &Guard<'_>) -> Result<Option<M>, Halt> {
        Ok(self.try_receive().ok())
    }

    fn another(&self) -> Option<Self> {
        self.twin()
    }
}
