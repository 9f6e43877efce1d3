"""Systems that refuse something, or keep something from a program: what is run there, and what must come of it. Each has a
boot of its own, and no probe or disturbance is crossed with it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from machines import X86, Machine
from outcomes import Left, Outcome, entries, expect, flat

CASE = "system"
# A command that takes longer hangs; each is limited to a budget, and machines that are emulated are slow.
LIMIT = 90


# What is said of threads that an emulated machine gives too little time.
LATE = re.compile("did not finish within|ended first|ended before")


@dataclass(frozen=True)
class System:
    """A machine, what its system does, and what that must come to."""

    what: str
    machine: Machine
    # Lines for the shell of the machine.
    script: str
    check: Callable[[Left], Iterator[str]]
    # Programs in C, below `lab`, that it needs.
    programs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.machine.name

    @property
    def seconds(self) -> int:
        return self.machine.seconds

    def job(self) -> str:
        return f"fresh {CASE}\nmkdir -p /out/$of\n{self.script}"

    def judge(self, files: dict[str, str]) -> Outcome:
        left = Left(files, CASE)
        return Outcome([*self.check(left), *unharmed(left)])


def unharmed(left: Left) -> Iterator[str]:
    """Whatever is refused, the kernel kills nothing and no instruction is illegal."""
    for path in left.files:
        if not path.endswith("/code"):
            continue
        name = path.split("/")[-2]
        if left.code(name) in (132, 134, 136, 139):
            yield f"`{name}` was ended by signal {(left.code(name) or 0) - 128}"
    if "killed process" in left.text("dmesg").lower():
        yield "the kernel killed a program for want of memory"


def one_sentence(left: Left, attempt: str, *parts: str) -> Iterator[str]:
    """A refusal: exit code 3 and one sentence in which all of this stands."""
    yield from expect(left, attempt, 3)
    said = left.err(attempt)
    sentences = [line for line in said.splitlines() if "failed to" in line or "could be measured" in line]
    if len(sentences) != 1 or not all(re.search(part, said) for part in parts):
        yield f"`{attempt}` is refused as: {said[:300] or 'nothing'}"


def finding(left: Left, id: str, verdict: str, *parts: str) -> Iterator[str]:
    """What the screen of the doctor says under a name, beside all its other findings."""
    lines = re.split(r"\n(?=  ? ?(?:[!?✗×x·-]|  ) ?(?:ok|warn|FAIL|fail|cannot tell)\b)", left.out("doctor"))
    found = next((flat(line) for line in lines if re.search(rf"\b{id}\b", flat(line)[:40])), "")
    if not re.search(verdict, found[:20], re.I) or not all(re.search(part, found) for part in parts):
        yield f"the doctor says of {id}: {found or 'nothing'}"
    if len(lines) < 10:
        yield f"the doctor says {len(lines)} things only"


def flagged_home(left: Left, attempt: str) -> Iterator[str]:
    """Every value is flagged `home`: its lines may are allocated on another node."""
    yield from expect(left, attempt, 0)
    cells = [cell for _, cell, has_value in entries(left.document(attempt)) if has_value]
    if not cells or not all("home" in cell["flags"] for cell in cells):
        yield f"`{attempt}`: flags are {[cell['flags'] for cell in cells]}"


def nearly_full_node(left: Left) -> Iterator[str]:
    yield from flagged_home(left, "run")
    yield from expect(left, "place", 0)
    if left.text("other.code").strip() != "0":
        yield "the other program is not there any more"
    free = left.text("free").split()
    if not free or int(free[0]) > 64:
        yield f"node 1 was not filled: {free} MiB are free"


def nodes_without_memory(left: Left) -> Iterator[str]:
    yield from finding(left, "node-memory", "warn", "node 1", "`home`")
    yield from flagged_home(left, "run")
    for attempt in ("doctor", "topology", "plan"):
        yield from expect(left, attempt, 0)
    # Of the pair that it needs nothing may be known in time, on a busy host.
    if "no pair was measured within" not in left.err("advise"):
        yield from expect(left, "advise", 0)
    if "2 nodes" not in left.out("topology"):
        yield "`topology` does not show both nodes"


def no_rdtscp(left: Left) -> Iterator[str]:
    yield from finding(left, "clock-source", "fail", "RDTSCP")
    yield from one_sentence(left, "doctor", "RDTSCP")
    yield from one_sentence(left, "run", "RDTSCP")
    yield from expect(left, "topology", 0)
    if "4 CPUs" not in left.out("topology"):
        yield "`topology` does not show what the system reports"
    yield from expect(left, "simulated", 0)


def cpu_that_is_kept(left: Left) -> Iterator[str]:
    yield from expect(left, "doctor", 0)
    for attempt in ("elsewhere", "there"):
        # On a busy host threads on other CPUs may not finish in time either.
        yield from expect(left, attempt, *((0, 3) if LATE.search(left.err(attempt)) else (0,)))
    if left.text("kept.code").strip() != "0":
        yield "the program that keeps CPU 3 is not there"
    for attempt, kept in (("elsewhere", []), ("there", [3])):
        document = left.document(attempt)
        if not document:
            continue
        departed = [(it["cpu"], it["why"]) for it in document["run"]["departed"]]
        if departed != [(cpu, "not-run") for cpu in kept]:
            yield f"`{attempt}`: departed are {departed}"
        for cpus, cell, has_value in entries(document):
            reason = cell.get("reason") or ""
            if 3 in cpus and "CPU 3" not in reason and not has_value:
                yield f"`{attempt}`: {sorted(cpus)} has the reason `{reason}`"
            if 3 not in cpus and not has_value and not LATE.search(reason):
                yield f"`{attempt}`: {sorted(cpus)} has no value: {reason}"


def no_pinning(left: Left) -> Iterator[str]:
    yield from finding(left, "affinity", "fail", "not permitted")
    yield from one_sentence(left, "doctor", "not permitted")
    yield from one_sentence(left, "run", "not permitted")
    yield from expect(left, "topology", 0)


# Processes and threads that the group may have: `timeout`, coretalk, its workers and the threads of a pass fit into the last.
PIDS = range(3, 8)


def few_threads(left: Left) -> Iterator[str]:
    refused = 0
    for number in PIDS:
        attempt = f"wait-{number}"
        yield from expect(left, attempt, 0, 3)
        text = left.out(attempt) + left.err(attempt)
        if "could not be pinned" in text:
            yield f"{number} threads: a limit is called a refused pin: {left.err(attempt)[-200:]}"
        # On a busy host nothing may be known in time.
        if left.code(attempt) == 3 and "ended first" not in left.err(attempt):
            refused += 1
            if "pids.max" not in left.err(attempt):
                yield f"{number} threads: the limit is not named: {left.err(attempt)[-200:]}"
    if refused == 0 or "pids.max" in left.err(f"wait-{PIDS[-1]}"):
        yield f"{refused} of {len(PIDS)} limits were too low; the last must not be"


def small(name: str, model: str = X86, sockets: int = 1, memory_mib: int = 768, **more: object) -> Machine:
    """Four CPUs: of more that are emulated none gets much of the host."""
    nodes = tuple(f"{2 * node}-{2 * node + 1}" for node in range(sockets)) if sockets > 1 else ()
    return Machine(
        name, "x86_64", model, sockets, 1, 1, 4 // sockets, 1, few=(0, 1, 2, 3), seconds=40, memory_mib=memory_mib, nodes=nodes,
        **more,  # type: ignore[arg-type]
    )


# Counts that are asked for: emulated CPUs that outnumber those of the host take a time slice for each round trip.
FEW = "--samples 2 --iterations 2 --budget 20s --no-save --format json"

SYSTEMS = (
    System(
        "a node that is nearly full, beside a program of 120 MB",
        small("full-node", sockets=2, memory_mib=1536),
        f"""mkdir /fill
mount -t tmpfs -o mpol=bind:1,size=800M none /fill
free() {{ awk '/MemFree/ {{print int($4 / 1024)}}' /sys/devices/system/node/node1/meminfo; }}
file=0
while [ "$(free)" -gt 40 ] && [ $file -lt 100 ]; do
    dd if=/dev/zero of=/fill/$file bs=1M count=8 2>/dev/null || break
    file=$((file + 1))
done
free >/out/$of/free
# On a CPU of the full node: elsewhere it takes memory of the other node, and what is free here is enough.
taskset c dd if=/dev/zero of=/dev/null bs=120M 2>/dev/null &
other=$!
usleep 2000000
attempt run {LIMIT} coretalk latency --cpus 0,2 {FEW}
attempt place {LIMIT} coretalk place --placement near=0,1 --placement far=2,3 --workload memory-read --budget 10s --no-save
kill -0 $other
echo $? >/out/$of/other.code
kill $other
dmesg >/out/$of/dmesg
""",
        nearly_full_node,
    ),
    System(
        "a cpuset without the memory of a node",
        small("no-memory", sockets=2, memory_mib=1024),
        f"""echo 0 >$group/cpuset.mems
attempt doctor {LIMIT} coretalk doctor
attempt run {LIMIT} coretalk latency --cpus 0,2 {FEW}
attempt topology {LIMIT} coretalk topology
attempt advise {LIMIT} coretalk advise -n 2 --cpus 0,2
attempt plan {LIMIT} coretalk plan --cpus 0,2
""",
        nodes_without_memory,
    ),
    *(
        System(
            f"a processor without RDTSCP ({model})",
            small(f"no-rdtscp-{model.lower()}", model),
            f"""attempt doctor {LIMIT} coretalk doctor
attempt topology {LIMIT} coretalk topology
attempt run {LIMIT} coretalk latency {FEW}
attempt simulated {LIMIT} coretalk latency --machine sim:laptop-smt --no-save
""",
            no_rdtscp,
        )
        for model in ("kvm64", "qemu64")
    ),
    System(
        "a CPU that a program of real-time priority keeps",
        small("kept-cpu", kernel="transparent_hugepage=never"),
        # The kernel moves nobody between control groups while it waits for a CPU that is kept.
        f"""in_group() {{ "$@"; }}
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
taskset -p 7 $$
keep 3 &
kept=$!
usleep 500000
say "CPU 3 is kept"
attempt doctor {LIMIT} taskset f coretalk doctor
attempt elsewhere {LIMIT} taskset f coretalk latency --cpus 0,1 {FEW}
attempt there {LIMIT} taskset f coretalk latency --cpus 0,1,3 {FEW}
kill -0 $kept
echo $? >/out/$of/kept.code
kill -9 $kept
""",
        cpu_that_is_kept,
        ("keep",),
    ),
    System(
        "threads that may not choose their CPUs",
        small("no-pinning"),
        f"""attempt doctor {LIMIT} deny coretalk doctor
attempt topology {LIMIT} deny coretalk topology
attempt run {LIMIT} deny coretalk latency {FEW}
""",
        no_pinning,
        ("deny",),
    ),
    System(
        "a control group of few processes",
        small("few-threads"),
        "echo +pids >/sys/fs/cgroup/cgroup.subtree_control\n"
        + "".join(
            f"""echo {number} >$group/pids.max
attempt wait-{number} {LIMIT} coretalk wait --cpus 0,1 --pairs all --strategy futex --budget 2s --no-save
"""
            for number in PIDS
        )
        + "echo max >$group/pids.max\n",
        few_threads,
    ),
)
