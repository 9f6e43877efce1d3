"""Which cases are run: all of them, or a choice in which as many pairs as fit stand together once."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from disturbances import DISTURBANCES, Disturbance
from machines import MACHINES, Machine
from probes import PROBES, Probe

# Seconds that it takes here to boot a machine and look at it as a whole, and that a case takes besides what it measures.
BOOT = 38
BESIDE = 9
# How often the power of a case is cut, and how long a boot of it takes.
CUTS = 2
CUT = 12
# A command that is refused, and what is asked afterwards.
REFUSAL = 4


@dataclass(frozen=True)
class Case:
    """A probe on a machine to which something happens."""

    machine: Machine
    probe: Probe
    disturbance: Disturbance

    @property
    def pairs(self) -> list[tuple[str, str]]:
        machine, probe, disturbance = self.machine.name, self.probe.name, self.disturbance.name
        return [(machine, probe), (machine, disturbance), (probe, disturbance)]

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        if self.disturbance.kind == "power":
            return (CUTS + 1) * CUT
        if self.disturbance.kind == "cpu" and self.disturbance.at is None:
            return REFUSAL
        return BESIDE + self.probe.seconds * (1 if self.disturbance.kind == "nothing" else 2)


def all_cases(machines: Iterable[Machine]) -> list[Case]:
    """Every probe with every disturbance on these machines."""
    return [Case(machine, probe, it) for machine in machines for probe in PROBES for it in DISTURBANCES]


def chosen(cases: list[Case], seconds: float) -> list[Case]:
    """As many as fit: first each kind of disturbance, then each machine, probe and disturbance, then each pair of two of
    them; whatever brings the most that is new, on the machine that was used least. The same choice each time."""
    left = seconds - BOOT * len({case.machine for case in cases})
    # Of every machine as a whole a run to which nothing happens is made anyway.
    known = {"kind nothing"}
    paired: set[tuple[str, str]] = set()
    used: Counter[str] = Counter()
    choice: list[Case] = []

    def gain(case: Case) -> int:
        new = 100 * (f"kind {case.disturbance.kind}" not in known)
        new += 10 * len({name for pair in case.pairs for name in pair} - known)
        return new + len(set(case.pairs) - paired)

    while candidates := [case for case in cases if case.seconds <= left]:
        best = max(candidates, key=lambda case: (gain(case), -used[case.machine.name]))
        if gain(best) == 0:
            break
        choice.append(best)
        left -= best.seconds
        used[best.machine.name] += 1
        paired.update(best.pairs)
        known.update({f"kind {best.disturbance.kind}", *(name for pair in best.pairs for name in pair)})
    return choice


def of_names(names: list[str]) -> list[Machine]:
    """Machines by name; without names all that are not by hand."""
    return [machine for machine in MACHINES if machine.name in names or (not names and not machine.by_hand)]
