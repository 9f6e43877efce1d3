"""What must come of a case, checked from what the machine left. Every check gives sentences that say what is wrong; none
means that the case held."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from disturbances import Disturbance
from machines import Machine


@dataclass
class Outcome:
    """What came of a case: what is wrong, and in a few words what was seen; or that the machine was too slow: the run had
    ended before it was disturbed."""

    wrong: list[str] = field(default_factory=list)
    seen: str = ""
    too_slow: bool = False


class Left:
    """What a machine left of one case."""

    def __init__(self, files: dict[str, str], case: str):
        self.files, self.case = files, case

    @property
    def begun(self) -> bool:
        return any(path.startswith(f"{self.case}/") for path in self.files)

    def text(self, name: str) -> str:
        return self.files.get(f"{self.case}/{name}", "")

    def code(self, attempt: str) -> int | None:
        text = self.text(f"{attempt}/code").strip()
        return int(text) if text else None

    def out(self, attempt: str) -> str:
        return self.text(f"{attempt}/out")

    def err(self, attempt: str) -> str:
        return self.text(f"{attempt}/err").strip()

    def time(self, name: str) -> float | None:
        text = self.text(name).strip()
        return float(text) if text else None

    def document(self, attempt: str = "document") -> dict[str, Any]:
        try:
            document = json.loads(self.out(attempt))
        except ValueError:
            return {}
        return document if isinstance(document, dict) else {}

    def lines(self, attempt: str) -> list[str]:
        return [line for line in self.out(attempt).splitlines() if line.startswith("{")]


def entries(document: dict[str, Any]) -> Iterator[tuple[set[int], dict[str, Any], bool]]:
    """Every cell and trial of a document with its CPUs, and whether it has a value. Tails do not count passes, but events."""
    for matrix in document.get("matrices", []):
        for cell in matrix["cells"]:
            yield {cell["from"], cell["to"]}, cell, cell["median"] is not None
    for trial in document.get("series", []):
        passes = trial["passes"]
        yield set(trial["placement"] or []), trial, bool(trial["count"] if passes is None else passes)


def flat(text: str) -> str:
    """A screen as one line."""
    return " ".join(text.split())


def expect(left: Left, attempt: str, *codes: int) -> Iterator[str]:
    """An exit code among those that are meant; and whatever the code, no sign of a defect."""
    code = left.code(attempt)
    said = left.err(attempt)
    last = said.splitlines()[-1] if said else "no word"
    if code is None:
        yield f"`{attempt}` was not reached"
    elif code == 137:
        yield f"`{attempt}` did not end in time"
    elif code not in codes:
        yield f"`{attempt}` ended with {code}, not {' or '.join(map(str, codes))}: {last}"
    both = left.out(attempt) + said
    for word in ("panicked", "RUST_BACKTRACE", "internal error", "bare metal"):
        if word in both and not (word == "bare metal" and attempt in ("document", "doctor")):
            yield f"`{attempt}` says `{word}`"


def nothing_lost(earlier: list[str], later: list[str], what: str) -> Iterator[str]:
    """Lines that were said are kept."""
    kept = set(later)
    lost = [line for line in earlier if line not in kept]
    if lost:
        yield f"{len(lost)} of {len(earlier)} lines lost {what}, the first is {lost[0][:120]}"


def values_or_reasons(document: dict[str, Any], victim: int | None) -> Iterator[str]:
    """What needs no CPU that went away has a value, or a budget ended; what has none says why."""
    ended = document["run"]["budget_ended"]
    number = 0
    for number, (cpus, entry, has_value) in enumerate(entries(document), 1):
        if has_value:
            continue
        reason = entry.get("reason")
        if not reason:
            yield f"no value and no reason: {json.dumps(entry)[:120]}"
        elif victim is not None and victim not in cpus and str(victim) not in str(entry.get("parameters")):
            if not ended and f"CPU {victim} " not in f"{reason} ":
                yield f"no value without CPU {victim}: {reason}"
    if number == 0 and not document.get("comparisons"):
        yield "the document has neither cells nor trials"


def on_a_guest(document: dict[str, Any], machine: Machine) -> Iterator[str]:
    """What is said of the machine itself."""
    environment = document.get("environment") or {}
    if environment.get("bare_metal") is True:
        yield f"`bare_metal` is true in a virtual machine, by {environment.get('platform_evidence')}"
    if environment.get("hypervisor") is None:
        yield "no hypervisor is seen"
    if environment.get("arch") != machine.arch:
        yield f"the architecture is {environment.get('arch')}"
    source = (environment.get("clock") or {}).get("source")
    # A machine of x86 has the TSC, one of Arm the generic timer.
    if source is not None and (source == "tsc") != (machine.arch == "x86_64"):
        yield f"the clock is called {source}"


def undisturbed(left: Left, machine: Machine) -> Iterator[str]:
    """Nothing happens: the run is complete and says no word of a CPU that left."""
    for attempt in ("run", "document", "kept", "screen"):
        yield from expect(left, attempt, 0)
    document = left.document()
    if not document:
        return
    run = document["run"]
    if not run["complete"] or run["departed"]:
        yield f"complete is {run['complete']}, departed {run['departed']}"
    yield from values_or_reasons(document, None)
    yield from on_a_guest(document, machine)
    yield from nothing_lost(left.lines("run"), left.lines("kept"), "between what was said and what was kept")


def taken_before(left: Left, machine: Machine, disturbance: Disturbance) -> Iterator[str]:
    """A CPU is asked for that is away: refused in one sentence, which says so, and nothing is saved."""
    yield from expect(left, "run", 3)
    said = left.err("run")
    told = rf"CPU {machine.victim} is offline" if disturbance.why == "offline" else rf"CPU {machine.victim}\b"
    if not re.search(told, said) or "not exist" in said or len(said.splitlines()) != 1:
        yield f"the refusal is no sentence about CPU {machine.victim}: {said[:200]}"
    if disturbance.why == "cpuset" and not re.search("cpuset|control group|allowed", said):
        yield f"the refusal does not name the cpuset: {said[:200]}"
    if left.code("document") == 0:
        yield "a run was saved that had been refused"


def departed(left: Left, machine: Machine, disturbance: Disturbance, outcome: Outcome) -> Iterator[str]:
    """A CPU leaves: what was measured stays, the CPU is named with the time when it went, the run is partial, and goes on
    once it is back."""
    for attempt in ("run", "document", "kept", "screen", "resumed", "kept-after"):
        yield from expect(left, attempt, 0)
    document, after = left.document(), left.document("resumed")
    if not document or not after:
        return
    run, victim = document["run"], machine.victim
    missed = {departure["cpu"]: departure for departure in run["departed"]}
    is_back = disturbance.back is not None
    if is_back and document["comparisons"] and not missed and run["complete"] and lasted_longer(left, document):
        outcome.seen = "away while work ran elsewhere"
        yield from nothing_lost(left.lines("run"), left.lines("kept"), "between what was said and what was kept")
        yield from nothing_lost(left.lines("kept"), left.lines("kept-after"), "by resuming")
        return
    if set(missed) != {victim}:
        yield f"CPU {victim} left, and the run says that {sorted(missed) or 'none'} did (complete: {run['complete']})"
        return
    at_s, why = missed[victim]["at_s"], missed[victim]["why"]
    if run["complete"]:
        yield f"the run is complete without CPU {victim}"
    # A CPU that is back before it is looked for was moved and is allowed again.
    if why != disturbance.why and not (disturbance.back is not None and why == "pin-refused"):
        yield f"CPU {victim} is said to be missed by {why}"
    # The time of the run begins after its file is there, and a CPU is missed half a second late at most, or at the end
    # of what is executed meanwhile: where more CPUs are emulated than there are, that takes many seconds.
    begun, begins = left.time("begun"), left.time("begins.at")
    if begun is not None and begins is not None:
        outcome.seen = f"missed after {at_s:.1f} s"
        if not 0 <= at_s <= begins - begun + 20:
            yield f"CPU {victim} left {begins - begun:.1f} s after the file was there, and is missed after {at_s:.1f} s"
    screen = flat(left.out("screen"))
    if f"CPU {victim} " not in screen or "coretalk --resume" not in screen:
        yield f"the screen does not name CPU {victim} and how to go on"
    if "Interrupted" in screen:
        yield "the screen says that it was interrupted"
    yield from values_or_reasons(document, victim)
    for cpus, entry, _ in entries(document):
        # When a CPU is back, kernels before 6.2 let the threads of a cpuset run on all of it, wherever they had been bound.
        if not is_back and victim not in cpus and "migrated" in (entry.get("flags") or []):
            yield f"CPUs {sorted(cpus)} are flagged `migrated`, and CPU {victim} left"
            break
    yield from nothing_lost(left.lines("run"), left.lines("kept"), "between what was said and what was kept")
    yield from nothing_lost(left.lines("kept"), left.lines("kept-after"), "by resuming")
    run = after["run"]
    if not run["complete"] or run["departed"] or run["segments"] < 2:
        yield f"resumed: complete is {run['complete']}, departed {run['departed']}, {run['segments']} segments"
    told = [entry["reason"] for _, entry, _ in entries(after) if f"CPU {victim} " in (entry.get("reason") or "")]
    # Where the budget ended first, what watches every CPU was made without it alone.
    if told and not (run["budget_ended"] and all("was away whenever" in reason for reason in told)):
        yield f"resumed, and still: {told[0]}"


def lasted_longer(left: Left, document: dict[str, Any]) -> bool:
    """Whether work ran, on whatever CPUs, for longer than one was away: that is asked after each run of it."""
    began, ended = left.time("begins.at"), left.time("ends.at")
    walls = (it["placements"] for it in document["comparisons"] if it["metric"] == "wall_s")
    longest = max((run for places in walls for place in places for run in place["runs"]), default=0.0)
    return began is not None and ended is not None and longest + 0.5 >= ended - began


def throttled(left: Left, outcome: Outcome) -> Iterator[str]:
    """A quota begins: it is counted, told, and flags what it slowed down."""
    for attempt in ("run", "document", "kept", "screen"):
        yield from expect(left, attempt, 0)
    document = left.document()
    if not document:
        return
    if not document["run"]["complete"]:
        yield "the run is not complete"
    told = document["environment"]["throttled"] or {}
    if not told.get("times"):
        yield f"a quota stopped the process, and the run says {told}"
        return
    outcome.seen = f"stopped {told['times']} times from {told['from_s']:.1f} s on" if told["from_s"] is not None else ""
    if "the CPU quota stopped this process" not in flat(left.out("screen")):
        yield "the screen does not say that a quota stopped the process"
    flags = [entry.get("flags") or [] for _, entry, _ in entries(document)]
    places = [place for comparison in document["comparisons"] for place in comparison["placements"]]
    flags += [place["flags"] for place in places]
    # What it stopped for too long has no value to be flagged, and a reason; where nothing has a value it is told of the run.
    reasons = [entry.get("reason") or "" for _, entry, _ in entries(document)]
    measured = any(place["runs"] for place in places) or any(has_value for _, _, has_value in entries(document))
    if measured and not any("quota" in told for told in [*flags, *reasons]):
        yield "nothing is flagged `quota`, and no reason names it"


def full(left: Left, outcome: Outcome) -> Iterator[str]:
    """The disk is full: exit code 6 with a sentence, what was kept can be read, and with room the run goes on. A run that
    needed no more room, or ended before the disk was full, is complete, and nothing of it is lost."""
    if left.code("run") == 0 and (left.document().get("run") or {}).get("complete"):
        for attempt in ("kept", "screen"):
            yield from expect(left, attempt, 0)
        yield from nothing_lost(left.lines("run"), left.lines("kept"), "by the full disk")
        outcome.seen = "it needed no more room"
        return
    yield from expect(left, "run", 6)
    said = left.err("run")
    if "the disk is full" not in said:
        yield f"the sentence does not name a full disk: {said[-200:]}"
    for attempt in ("document", "kept", "screen", "resumed", "kept-after"):
        yield from expect(left, attempt, 0)
    document, after = left.document(), left.document("resumed")
    if not document or not after:
        return
    if document["run"]["complete"]:
        yield "the run is complete on a full disk"
    yield from nothing_lost(left.lines("run"), left.lines("kept"), "by the full disk")
    yield from nothing_lost(left.lines("kept"), left.lines("kept-after"), "by resuming")
    outcome.seen = f"{len(left.lines('kept'))} lines kept, {len(left.lines('kept-after'))} after"
    if not after["run"]["complete"]:
        yield "resumed with room, and not complete"


def judge(left: Left, machine: Machine, disturbance: Disturbance, seconds: float) -> Outcome:
    """What came of a case whose probe measures for so long."""
    outcome = Outcome()
    if left.code("run") is None:
        outcome.wrong.append("the machine did not get there")
        return outcome
    if disturbance.at is not None:
        if left.text("begins.code").strip() == "":
            begun, ended = left.time("begun"), left.time("run/ended")
            lasted = ended - begun if begun is not None and ended is not None else 0.0
            # The shell of an emulated machine may need half a second to do it.
            outcome.too_slow = lasted >= disturbance.at * seconds
            if not outcome.too_slow:
                outcome.wrong.append(f"the run had ended before it happened, {lasted:.1f} s after its file was there")
            return outcome
        # Filling a disk ends with an error, as it must.
        if (left.text("begins.code").strip() == "0") == (disturbance.kind == "disk"):
            outcome.wrong.append(f"it could not be done: {left.text('begins.err').strip()}")
            return outcome
    match disturbance.kind:
        case "nothing":
            outcome.wrong += undisturbed(left, machine)
        case "cpu" if disturbance.at is None:
            outcome.wrong += taken_before(left, machine, disturbance)
        case "cpu":
            outcome.wrong += departed(left, machine, disturbance, outcome)
        case "quota":
            outcome.wrong += throttled(left, outcome)
        case "disk":
            outcome.wrong += full(left, outcome)
    return outcome
