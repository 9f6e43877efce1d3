//! [`Locked`]: a queue with a mutex and two condition variables, as in textbooks.

use super::ends::{
    GUARD_INTERVAL, Implementation, Leave, NoMessage, QueueParameters, Receiver, Refusal, SendRefused,
    Sender, Watch,
};
use super::memory;
use super::message::Message;
use crate::kernel_context::{Guard, Halt};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A ring of messages behind `std`'s mutex.
#[derive(Debug)]
pub struct Locked;

#[derive(Debug)]
struct Shared<M> {
    state: Mutex<QueueState<M>>,
    has_room: Condvar,
    has_message: Condvar,
}

#[derive(Debug)]
struct QueueState<M> {
    messages: VecDeque<M>,
    capacity: usize,
    senders: usize,
    receivers: usize,
    /// Numbers of sleepers. Without sleepers nothing is notified.
    waiting_for_room: usize,
    waiting_for_message: usize,
}

/// One end. `SENDS` selects the side.
#[derive(Debug)]
pub struct LockedEnd<M, const SENDS: bool>(Arc<Shared<M>>);

impl Implementation for Locked {
    type Sender<M: Message> = LockedEnd<M, true>;
    type Receiver<M: Message> = LockedEnd<M, false>;

    fn open<M: Message>(
        shape: &QueueParameters,
    ) -> Result<(LockedEnd<M, true>, LockedEnd<M, false>), Refusal> {
        let capacity = shape.capacity;
        if capacity == 0 {
            return Err(Refusal::Capacity { capacity, reason: "its minimum is one message".into() });
        }
        memory::ensure(capacity, size_of::<M>())?;
        let mut messages = VecDeque::new();
        messages.try_reserve_exact(capacity).map_err(|_| Refusal::Memory { capacity })?;
        let state = QueueState {
            messages,
            capacity,
            senders: 1,
            receivers: 1,
            waiting_for_room: 0,
            waiting_for_message: 0,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            has_room: Condvar::new(),
            has_message: Condvar::new(),
        });
        Ok((LockedEnd(Arc::clone(&shared)), LockedEnd(shared)))
    }
}

impl<M> Shared<M> {
    fn lock(&self) -> MutexGuard<'_, QueueState<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, mut state: MutexGuard<'_, QueueState<M>>, message: M) {
        state.messages.push_back(message);
        let has_sleeper = state.waiting_for_message > 0;
        // The lock is released before the notification, so that the woken thread does not wait for it.
        drop(state);
        if has_sleeper {
            self.has_message.notify_one();
        }
    }

    fn unlock_after_take(&self, state: MutexGuard<'_, QueueState<M>>) {
        let has_sleeper = state.waiting_for_room > 0;
        drop(state);
        if has_sleeper {
            self.has_room.notify_one();
        }
    }

    /// Sends a batch and unlocks. The caller has checked for room.
    fn put_batch(&self, mut state: MutexGuard<'_, QueueState<M>>, messages: impl Iterator<Item = M>) {
        state.messages.extend(messages);
        let has_sleeper = state.waiting_for_message > 0;
        drop(state);
        if has_sleeper {
            self.has_message.notify_all();
        }
    }

    fn take_batch(
        &self,
        mut state: MutexGuard<'_, QueueState<M>>,
        most: usize,
        buffer: &mut Vec<M>,
        each: &mut impl FnMut(M),
    ) -> usize {
        let taken = most.min(state.messages.len());
        buffer.extend(state.messages.drain(..taken));
        let has_sleeper = state.waiting_for_room > 0;
        drop(state);
        if has_sleeper {
            self.has_room.notify_all();
        }
        buffer.drain(..).for_each(each);
        taken
    }

    fn sleep_for_room<'a>(
        &'a self,
        mut state: MutexGuard<'a, QueueState<M>>,
        watch: &Watch<'_>,
    ) -> Result<MutexGuard<'a, QueueState<M>>, Leave> {
        state.waiting_for_room += 1;
        let (mut state, nap) =
            self.has_room.wait_timeout(state, GUARD_INTERVAL).unwrap_or_else(PoisonError::into_inner);
        state.waiting_for_room -= 1;
        if nap.timed_out() {
            watch.check()?;
        }
        Ok(state)
    }

    fn sleep_for_message<'a>(
        &'a self,
        mut state: MutexGuard<'a, QueueState<M>>,
        guard: &Guard<'_>,
    ) -> Result<MutexGuard<'a, QueueState<M>>, Halt> {
        state.waiting_for_message += 1;
        let (mut state, nap) =
            self.has_message.wait_timeout(state, GUARD_INTERVAL).unwrap_or_else(PoisonError::into_inner);
        state.waiting_for_message -= 1;
        if nap.timed_out() {
            guard.check()?;
        }
        Ok(state)
    }
}

impl<M: Message> Sender<M> for LockedEnd<M, true> {
    #[inline]
    fn try_send(&mut self, message: M) -> Result<(), SendRefused<M>> {
        let state = self.0.lock();
        if state.receivers == 0 {
            return Err(SendRefused::Closed);
        }
        if state.messages.len() == state.capacity {
            return Err(SendRefused::Full(message));
        }
        self.0.put(state, message);
        Ok(())
    }

    fn send(&mut self, message: M, watch: &Watch<'_>) -> Result<(), Leave> {
        let mut state = self.0.lock();
        while state.messages.len() == state.capacity {
            if state.receivers == 0 {
                return Err(Leave::Halted(Halt::Partner));
            }
            state = self.0.sleep_for_room(state, watch)?;
        }
        self.0.put(state, message);
        Ok(())
    }

    fn try_send_batch(&mut self, count: usize, make: &impl Fn(usize) -> M) -> Result<usize, SendRefused<()>> {
        let state = self.0.lock();
        if state.receivers == 0 {
            return Err(SendRefused::Closed);
        }
        if state.capacity - state.messages.len() < count {
            return Err(SendRefused::Full(()));
        }
        self.0.put_batch(state, (0..count).map(make));
        Ok(count)
    }

    fn send_batch(
        &mut self,
        count: usize,
        make: &impl Fn(usize) -> M,
        watch: &Watch<'_>,
    ) -> Result<usize, Leave> {
        let mut state = self.0.lock();
        while state.capacity - state.messages.len() < count {
            if state.receivers == 0 {
                return Err(Leave::Halted(Halt::Partner));
            }
            state = self.0.sleep_for_room(state, watch)?;
        }
        self.0.put_batch(state, (0..count).map(make));
        Ok(count)
    }

    fn another(&self) -> Option<Self> {
        self.0.lock().senders += 1;
        Some(LockedEnd(Arc::clone(&self.0)))
    }
}

impl<M: Message> Receiver<M> for LockedEnd<M, false> {
    #[inline]
    fn try_receive(&mut self) -> Result<M, NoMessage> {
        let mut state = self.0.lock();
        match state.messages.pop_front() {
            Some(message) => {
                self.0.unlock_after_take(state);
                Ok(message)
            }
            None if state.senders == 0 => Err(NoMessage::Ever),
            None => Err(NoMessage::Yet),
        }
    }

    fn receive(&mut self, guard: &Guard<'_>) -> Result<Option<M>, Halt> {
        let mut state = self.0.lock();
        loop {
            if let Some(message) = state.messages.pop_front() {
                self.0.unlock_after_take(state);
                return Ok(Some(message));
            }
            if state.senders == 0 {
                return Ok(None);
            }
            state = self.0.sleep_for_message(state, guard)?;
        }
    }

    fn try_receive_batch(
        &mut self,
        most: usize,
        buffer: &mut Vec<M>,
        each: &mut impl FnMut(M),
    ) -> Result<usize, NoMessage> {
        let state = self.0.lock();
        if state.messages.is_empty() {
            return Err(if state.senders == 0 { NoMessage::Ever } else { NoMessage::Yet });
        }
        Ok(self.0.take_batch(state, most, buffer, each))
    }

    fn receive_batch(
        &mut self,
        most: usize,
        buffer: &mut Vec<M>,
        each: &mut impl FnMut(M),
        guard: &Guard<'_>,
    ) -> Result<usize, Halt> {
        let mut state = self.0.lock();
        while state.messages.is_empty() {
            if state.senders == 0 {
                return Ok(0);
            }
            state = self.0.sleep_for_message(state, guard)?;
        }
        Ok(self.0.take_batch(state, most, buffer, each))
    }

    fn another(&self) -> Option<Self> {
        self.0.lock().receivers += 1;
        Some(LockedEnd(Arc::clone(&self.0)))
    }
}

impl<M, const SENDS: bool> Drop for LockedEnd<M, SENDS> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        *if SENDS { &mut state.senders } else { &mut state.receivers } -= 1;
        drop(state);
        self.0.has_room.notify_all();
        self.0.has_message.notify_all();
    }
}
