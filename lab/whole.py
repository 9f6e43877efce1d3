"""What is asked once of every machine as a whole: how it is built, against what QEMU was asked for and against hwloc; the
doctor, the clock, a map of all CPUs, and what is made of a saved run."""

import re
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from typing import Any

from machines import Machine, cpu_set
from outcomes import Left, Outcome, expect, flat, on_a_guest, undisturbed

CASE = "whole"
# Names of hwloc for levels of coretalk. Clusters are groups there, with a subtype.
HWLOC = {"Core": "core", "L2Cache": "l2", "L3Cache": "l3", "Die": "die", "Package": "package", "NUMANode": "node"}


def job(machine: Machine) -> str:
    """Its lines for the shell of the machine."""
    budget = 4 if machine.cpus <= 32 else 8
    return f"""fresh {CASE}
attempt lstopo 60 lstopo-no-graphics --of xml
attempt topology 120 coretalk topology
attempt doctor 120 coretalk doctor --format json
attempt clock 120 coretalk clock --budget 3s --format json
attempt run 240 coretalk --budget $(({budget} * slowness))s --name case --format jsonl
attempt document 60 coretalk export case --format json
attempt kept 60 coretalk export case --format jsonl
attempt screen 60 coretalk runs show case
attempt list 60 coretalk runs
attempt page 60 coretalk report case -o /tmp/page.html
attempt picture 60 coretalk report case -o /tmp/map.svg
echo 0 >$cpus/cpu{machine.victim}/online
attempt lstopo-hole 60 lstopo-no-graphics --of xml
attempt doctor-hole 60 coretalk doctor --format json
echo 1 >$cpus/cpu{machine.victim}/online
mkdir -p /tmp/bare/proc /tmp/bare/sys
cp /bin/coretalk /tmp/bare
mount -o bind /proc /tmp/bare/proc
mount -o bind /sys /tmp/bare/sys
attempt bare 120 chroot /tmp/bare /coretalk --cpus {machine.few[0]},{machine.few[3]} --budget ${{slowness}}s --no-save --format json
attempt absent 60 coretalk latency --cpus 0,{machine.cpus + 900} --no-save
"""


def seen_by_coretalk(document: dict[str, Any]) -> dict[str, set[frozenset[int]]]:
    """The groups of every level, also of those that are told as being the same as another."""
    reported = document["topology"]["reported"]
    levels = {level["level"]: {cpu_set(group) for group in level["groups"]} for level in reported["levels"]}
    everything = {frozenset(document["topology"]["cpus"])}
    for same in reported["same"]:
        levels[same["level"]] = everything if same["same_as"] == "machine" else levels.get(same["same_as"], set())
    return levels


def seen_by_hwloc(text: str) -> tuple[dict[str, set[frozenset[int]]], int]:
    """The groups of every level in the XML of lstopo, and the number of NUMA nodes."""
    levels: dict[str, set[frozenset[int]]] = {}
    nodes = 0
    for thing in xml.fromstring(text).iter("object"):
        kind = thing.get("type", "")
        level = "cluster" if kind == "Group" and thing.get("subtype") == "Cluster" else HWLOC.get(kind)
        mask = 0
        # Words of 32 bits, the highest first; one without a CPU is empty.
        for word in thing.get("cpuset", "").split(","):
            mask = mask << 32 | int(word or "0", 16)
        nodes += kind == "NUMANode"
        if level is not None:
            cpus = frozenset(cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)
            levels.setdefault(level, set()).add(cpus)
    return levels, nodes


def spoken(groups: set[frozenset[int]] | None) -> str:
    """Groups in few words."""
    lists = sorted(sorted(group) for group in groups or ())
    return " ".join(",".join(map(str, cpus)) for cpus in lists)[:120] or "nothing"


def grouped_as_asked(document: dict[str, Any], hwloc: str, machine: Machine, offline: frozenset[int]) -> Iterator[str]:
    """The groups that coretalk reads are those that QEMU was asked for, without CPUs that are offline, and those that hwloc
    reads."""
    if set(document["topology"]["cpus"]) != set(range(machine.cpus)) - offline:
        yield f"CPUs {document['topology']['cpus']} are seen"
    ours = seen_by_coretalk(document)
    for level, groups in machine.levels().items():
        there = {group - offline for group in groups} - {frozenset()}
        seen = ours.get(level, set())
        if level == "l2":
            # One that is a cluster is told as that, and one of a single CPU is no group.
            there = {group for group in there if len(group) > 1}
            seen = seen | (there & ours.get("cluster", set()))
        if seen != there:
            yield f"{level}: asked for {spoken(there)}, coretalk says {spoken(seen)}"
    theirs, nodes = seen_by_hwloc(hwloc)
    for level in ("core", "cluster", "l3", "die", "package"):
        # hwloc leaves out a level, and single clusters, that are the same as something else.
        groups = theirs.get(level, set())
        if not groups <= ours.get(level, set()) or (groups and level != "cluster" and groups != ours[level]):
            yield f"{level}: hwloc says {spoken(theirs[level])}, coretalk says {spoken(ours.get(level))}"
    if nodes != max(1, len(machine.nodes)):
        yield f"hwloc sees {nodes} NUMA nodes"


def built_as_asked(left: Left, machine: Machine) -> Iterator[str]:
    """The topology is the one that was asked for, with and without a CPU that is offline, and the screen leaves nothing of
    it out."""
    document = left.document("doctor")
    yield from grouped_as_asked(document, left.out("lstopo"), machine, frozenset())
    hole = left.document("doctor-hole")
    if hole:
        offline = frozenset({machine.victim})
        wrong = grouped_as_asked(hole, left.out("lstopo-hole"), machine, offline)
        yield from (f"with CPU {machine.victim} offline: {it}" for it in wrong)
    numbers = [node["node"] for node in document["topology"]["reported"]["memory_nodes"] or []]
    if numbers != machine.memory_nodes():
        yield f"nodes of memory only: asked for {machine.memory_nodes()}, coretalk says {numbers}"
    classes = [entry["cpus"] for entry in document["topology"]["reported"]["classes"]]
    if [cpu_set(cpus) for cpus in classes] != [cpu_set(cpus) for cpus, _ in machine.kinds]:
        yield f"kinds of cores: asked for {machine.kinds}, coretalk says {classes}"
    screen = flat(left.out("topology"))
    for node in machine.memory_nodes():
        if f"Node {node} has memory and no CPUs of its own" not in screen:
            yield f"the screen of `topology` does not mention node {node}, which has memory only"
    missing = re.search(r"Not reported: ([^.]*)\.", screen)
    for level in machine.levels():
        if missing and re.search(rf"\b{'L3' if level == 'l3' else level}", missing.group(1)):
            yield f"the screen of `topology` says that {level} is not reported"


def clock_as_told(left: Left) -> Iterator[str]:
    """What the doctor says of the counters fits what `clock` measures, which keeps to its budget."""
    clock = left.document("clock")
    began, ended = left.time("clock/began"), left.time("clock/ended")
    if began is not None and ended is not None and ended - began > 30:
        yield f"`clock --budget 3s` took {ended - began:.0f} s"
    finding = next((it for it in left.document("doctor")["environment"]["doctor"] if it["id"] == "tsc-sync"), None)
    if not clock or finding is None:
        return
    widths = sorted((cell["ci"][1] - cell["ci"][0]) / 2 for cell in clock["matrices"][0]["cells"] if cell["ci"])
    told = re.search(r"± ([\d,.]+) (ns|µs)", finding["text"])
    if finding["verdict"] == "ok" and told and widths:
        error_ns = float(told.group(1).replace(",", "")) * (1000 if told.group(2) == "µs" else 1)
        # Both are the best of many exchanges between two CPUs; on machines that are emulated luck may differ by ten.
        if not widths[0] / 10 <= error_ns <= widths[-1] * 10:
            yield f"the doctor tells ± {error_ns:.0f} ns, `clock` {widths[0]:.0f} to {widths[-1]:.0f}"


def judge(left: Left, machine: Machine) -> Outcome:
    """What came of the whole machine."""
    outcome = Outcome()
    wrong = outcome.wrong
    for attempt in ("lstopo", "topology", "doctor", "clock", "list", "page", "picture",
                    "lstopo-hole", "doctor-hole", "bare"):
        wrong += expect(left, attempt, 0)
    wrong += undisturbed(left, machine)
    wrong += expect(left, "absent", 2)
    if f"CPU {machine.cpus + 900}" not in left.err("absent"):
        wrong.append(f"a CPU that does not exist is refused as: {left.err('absent')[:200]}")
    if left.document("doctor"):
        wrong += built_as_asked(left, machine)
        wrong += clock_as_told(left)
        wrong += on_a_guest(left.document("doctor"), machine)
    return outcome
