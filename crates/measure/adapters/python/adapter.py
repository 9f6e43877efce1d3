"""The adapter for Python: its queue, its locks, a pipe between processes. docs/adapters.md has the protocol."""

import functools
import gc
import itertools
import multiprocessing
import os
import platform
import queue
import sys
import threading
import time
from types import SimpleNamespace

now = time.perf_counter_ns


class Pass:
    """What is asked for, and what the roles say."""

    def __init__(self, line):
        _, self.id, self.kind, self.name, *rest = line.split()
        self.options = dict(word.split("=", 1) for word in rest)
        self.count = self.option("count")
        self.capacity = self.option("capacity")
        self.timed = self.option("events") == 1
        self.text = self.options.get("payload") == "string"
        x = self.option("seed")
        self.numbers = [(x := (1664525 * x + 1013904223) % 2**32) // 256 for _ in range(1024)]
        self.events = []
        self.good = self.sum = 0

    def option(self, key):
        return int(self.options.get(key, 0))

    def sequence(self):
        """The number of each operation."""
        return itertools.islice(itertools.cycle(self.numbers), self.count)

    def receive(self, take):
        """Takes a number for each operation, and counts those that are right."""
        good = total = 0
        for wanted in self.sequence():
            number = take()
            good += number == wanted
            total += number
        self.good, self.sum = good, total


def until(there, wanted):
    """Looks for what the other role says; `sleep(0)` lets it have the interpreter, and a CPU that both share."""
    while there() != wanted:
        time.sleep(0)


def queue_roles(this):
    """Role 0 produces, role 1 consumes."""
    ring = queue.Queue(this.capacity)
    put, get = ring.put, ring.get

    def produce():
        for number in map(str, this.sequence()) if this.text else this.sequence():
            put(number)

    return produce, lambda: this.receive((lambda: int(get())) if this.text else get)


def trips(this, send, await_answer, answer):
    """Role 0 sends and waits for the answer, role 1 answers each number that comes."""
    numbers = this.sequence()

    def trip():
        send(next(numbers))
        return await_answer()

    def timed_trip():
        before = now()
        back = trip()
        this.events.append(now() - before)
        return back

    def follow():
        for _ in range(this.count):
            answer()

    return lambda: this.receive(timed_trip if this.timed else trip), follow


def lock_roles(this):
    turn, over, back = SimpleNamespace(number=0), threading.Lock(), threading.Lock()
    over.acquire()
    back.acquire()

    def send(number):
        turn.number = number
        over.release()

    def await_answer():
        back.acquire()
        return turn.number

    def answer():
        over.acquire()
        back.release()

    return trips(this, send, await_answer, answer)


def pipe_roles(this):
    """A pipe to another process: role 1 is its only thread, or the interpreter would be shared."""
    mine, other = this.pipe
    return trips(this, mine.send, mine.recv, lambda: other.send(other.recv()))


def wake_roles(make, this):
    """`make` gives how role 1 is called, and how it sleeps."""
    said = SimpleNamespace(waits=0, over=0, went_on=0, number=0)
    call, sleep = make()
    gap, rounds = this.option("gap_ns"), itertools.count(1)

    def wake():
        for place, number in enumerate(this.sequence(), 1):
            until(lambda: said.waits, place)
            length, began = gap * (0.75 + number / 2**25), now()
            while now() - began < length:
                pass
            said.number = number
            began = now()
            call()
            until(lambda: said.over, place)
            this.events.append(max(said.went_on - began, 0))

    def take():
        said.waits = next(rounds)
        sleep()
        said.went_on = now()
        number, said.over = said.number, said.waits
        return number

    return wake, lambda: this.receive(take)


def a_lock():
    lock = threading.Lock()
    lock.acquire()
    return lock.release, lock.acquire


def an_event():
    event = threading.Event()
    return event.set, lambda: (event.wait(), event.clear())


SUBJECTS = {
    "queue queue": queue_roles,
    "wait lock": lock_roles,
    "wait multiprocessing-pipe": pipe_roles,
    "wake lock": functools.partial(wake_roles, a_lock),
    "wake event": functools.partial(wake_roles, an_event),
}


def start(me, role, memory, signals, as_process):
    """Runs a role on a thread, or as the only thread of a process of its own."""
    named, go, over, leave = signals

    def run():
        memory[me] = int(os.readlink("/proc/thread-self").rpartition("/")[2])  # "PID/task/TID"
        named.release()
        go.acquire()  # asleep until the host has pinned both
        memory[2 + me] = 1
        until(lambda: memory[2] + memory[3], 2)
        memory[4 + me] = now()
        role()
        memory[6 + me] = now()
        over.release()
        leave.acquire()  # the host asks afterwards what this thread used

    if as_process:
        worker = multiprocessing.get_context("fork").Process(target=run, daemon=True)
    else:
        worker = threading.Thread(target=run, daemon=True)
    worker.start()
    return worker


def twice(act):
    act()
    act()


def perform(line):
    """Performs one pass; gives the next request, until which the roles stay."""
    this = Pass(line)
    make = SUBJECTS.get(f"{this.kind} {this.name}")
    if make is None or (this.kind == "queue" and this.capacity < 1):
        print(f"error there is no {this.kind} of this name and capacity", flush=True)
        return sys.stdin.readline()
    of_processes = make is pipe_roles
    if of_processes:
        this.pipe = multiprocessing.Pipe()
    roles = make(this)
    # Thread ids, who is there, begin and end of both: shared with a process, should role 1 be one.
    memory = multiprocessing.RawArray("q", 8)
    named, go, over, leave = signals = [multiprocessing.Semaphore(0) for _ in range(4)]
    # The process first: one that is made from several threads may inherit a lock that nobody gives back.
    workers = [start(me, roles[me], memory, signals, of_processes and me == 1) for me in (1, 0)]
    twice(named.acquire)
    collections = sum(generation["collections"] for generation in gc.get_stats())
    print(f"role 0 {memory[0]}\nrole 1 {memory[1]}", flush=True)
    if not sys.stdin.readline():
        os._exit(0)
    twice(go.release)
    twice(over.acquire)
    print(f"ns {max(memory[6], memory[7]) - memory[4]}", flush=True)  # at once: the host has a clock of its own
    collections = sum(generation["collections"] for generation in gc.get_stats()) - collections
    print(f"count {this.good}\nsum {this.sum}\nnote gc {collections}")
    if this.timed:
        for value, same in itertools.groupby(sorted(this.events)):
            print(f"events {value}:{len(list(same))}")
        began = now()
        for _ in range(999):
            now()
        print(f"note clock_ns {(now() - began) // 1000}")
    print(f"done {this.id}", flush=True)
    line = sys.stdin.readline()
    twice(leave.release)
    for worker in workers:
        worker.join()
    return line


def main():
    if sys.argv[1:] == ["describe"]:
        print(f"coretalk-adapter 1\nruntime {platform.python_implementation()} {platform.python_version()}")
        print("queue queue payload=u64,string capacity=any")
        for kind in ("wait", "wake"):
            print(kind, ",".join(name.split()[1] for name in SUBJECTS if name.startswith(kind)))
    elif sys.argv[1:] == ["serve"]:
        line = sys.stdin.readline()
        while line:
            line = perform(line)
    else:
        sys.exit("usage: adapter.py describe|serve")


main()
