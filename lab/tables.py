"""What came of it, as tables to print and to keep."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cases import Case
from machines import Machine
from outcomes import Outcome
from systems import System


@dataclass
class Results:
    """What came of machines as a whole and of cases, why machines were left out, for which cases no time was left, and what
    held at the second try alone."""

    machines: dict[str, Outcome] = field(default_factory=dict)
    cases: list[tuple[Case, Outcome]] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    late: list[Case] = field(default_factory=list)
    # What was wrong in what held when it was run once more.
    once: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        """Everything that did not hold."""
        wholes = [f"{name}, as a whole: {it}" for name, outcome in self.machines.items() for it in outcome.wrong]
        return wholes + [f"{named(case)}: {it}" for case, outcome in self.cases for it in outcome.wrong]

    @property
    def untested(self) -> dict[str, str]:
        """Machines of which nothing is known, with the reason: they were left out, or all of their cases are late."""
        ran = {case.machine.name for case, _ in self.cases}
        late = {case.machine.name for case in self.late} - ran
        return self.skipped | dict.fromkeys(late - self.skipped.keys(), "no time was left for its cases, or their runs had ended first")

    @property
    def code(self) -> int:
        """The exit code: 1 if something did not hold, 3 if nothing is known of a machine or nothing was run, 0 if everything held."""
        return 1 if self.wrong else 3 if self.untested or not (self.machines or self.cases) else 0

    @property
    def held_at_once(self) -> list[Case]:
        """The cases that were run once, and held."""
        again = {it.split(": ")[0] for it in self.once}
        return [case for case, outcome in self.cases if not outcome.wrong and named(case) not in again]


def named(case: Case) -> str:
    return f"{case.machine.name}, {case.probe.name}, {case.disturbance.name}"


@dataclass
class Kept:
    """Results with the minutes that they took."""

    results: Results
    minutes: float


def keep(file: Path, kept: Kept) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(pickle.dumps(kept))


def read(file: Path) -> Kept | None:
    """What was kept; none where nothing was."""
    if not file.exists():
        return None
    kept = pickle.loads(file.read_bytes())
    assert isinstance(kept, Kept)
    return kept


def added(earlier: Results, later: Results) -> Results:
    """Both; what was run twice as it came out last."""
    again = {str(case) for case, _ in later.cases}
    ran = again | {str(case) for case, _ in earlier.cases}
    names = {named(case) for case, _ in later.cases} | {f"{name}, as a whole" for name in later.machines}
    return Results(
        {**earlier.machines, **later.machines},
        [pair for pair in earlier.cases if str(pair[0]) not in again] + later.cases,
        {name: why for name, why in {**earlier.skipped, **later.skipped}.items() if name not in later.machines},
        list({str(case): case for case in earlier.late + later.late if str(case) not in ran}.values()),
        [it for it in earlier.once if it.split(": ")[0] not in names] + later.once,
    )


def tried_again(first: Results, second: Results) -> Results:
    """What came of a first try and, of what did not hold in it, of a second."""
    both = added(first, second)
    still = {it.split(": ")[0] for it in both.wrong}
    return replace(both, once=both.once + [it for it in first.wrong if it.split(": ")[0] not in still])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown whose columns stand below each other in plain text too."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in (head, *rows)]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def counted(results: Results, by: str) -> str:
    """How many cases held for each probe, disturbance or machine: `3` where all did, `2 of 3` where one did not."""
    outcomes: dict[str, list[bool]] = {}
    for case, outcome in results.cases:
        outcomes.setdefault(str(getattr(case, by).name), []).append(not outcome.wrong)
    counts = {name: f"{sum(held)} of {len(held)}" if not all(held) else str(len(held)) for name, held in outcomes.items()}
    return f"By {by}: " + ", ".join(f"{name} {count}" for name, count in counts.items()) + "."


def shape(machine: Machine) -> str:
    """A machine in words."""
    parts = [f"{machine.cpus} CPUs: {machine.sockets} {'package' if machine.sockets == 1 else 'packages'}"]
    if machine.dies > 1:
        parts.append(f"{machine.dies} dies each")
    if machine.clusters > 1:
        parts.append(f"{machine.clusters} clusters each")
    parts.append(f"{machine.cores} cores each")
    parts.append(f"{machine.threads} threads each" if machine.threads > 1 else "no SMT")
    if machine.nodes:
        parts.append(f"{len(machine.nodes)} NUMA nodes")
    if machine.memory_nodes():
        parts.append(f"{len(machine.memory_nodes())} of them memory only")
    if machine.kinds:
        parts.append(f"{len(machine.kinds)} kinds of cores, {len(machine.l2)} L2 caches")
    return ", ".join(parts)


def text(results: Results, machines: Sequence[Machine], systems: Sequence[System] = ()) -> str:
    """All tables, and below them what did not hold."""
    def whole(machine: Machine | System) -> str:
        if machine.name in results.skipped:
            return f"skipped: {results.skipped[machine.name]}"
        outcome = results.machines.get(machine.name)
        return "not run" if outcome is None else "held" if not outcome.wrong else f"{len(outcome.wrong)} wrong"

    parts = []
    if machines:
        rows = [[it.name, shape(it), whole(it)] for it in machines]
        parts.append(table(["machine", "what QEMU was asked for", "as a whole"], rows))
    if systems:
        parts.append(table(["system", "what it refuses or keeps", "what is said of it"], [[it.name, it.what, whole(it)] for it in systems]))
    if results.cases:
        parts.append("\n".join(f"- {counted(results, by)}" for by in ("machine", "probe", "disturbance")))
    if results.once:
        parts.append("Held only when it was run again:\n\n" + "\n".join(f"- {it}" for it in results.once))
    wrong = results.wrong
    parts.append("\n".join(f"- {it}" for it in wrong) if wrong else "Everything that was run held.")
    return "\n\n".join(parts) + "\n"
