"""Which cases are run: all of them, or a choice in which as many pairs as fit stand together once."""

from collections.abc import Iterable
from dataclasses import dataclass

from disturbances import DISTURBANCES, Disturbance
from machines import MACHINES, Machine
from probes import PROBES, Probe

# Seconds that it takes here to boot a machine and look at it as a whole, and that a case takes besides what it measures.
BOOT = 45
BESIDE = 10
# Boots of a case whose power is cut, and how long one takes.
CUTS = 3
CUT = 18


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
        return BESIDE + self.probe.seconds * (1 if self.disturbance.kind == "nothing" else 2)


def all_cases(machines: Iterable[Machine]) -> list[Case]:
    """Every probe with every disturbance on these machines."""
    return [Case(machine, probe, it) for machine in machines for probe in PROBES for it in DISTURBANCES]


def chosen(cases: list[Case], seconds: float) -> list[Case]:
    """As many as fit: each machine, probe and disturbance first, then each pair of two of them, whatever brings the most
    that is new for its time. The same choice each time."""
    left = seconds - BOOT * len({case.machine for case in cases})
    known: set[str] = set()
    paired: set[tuple[str, str]] = set()
    choice: list[Case] = []

    def gain(case: Case) -> float:
        singles = {name for pair in case.pairs for name in pair} - known
        return (10 * len(singles) + len(set(case.pairs) - paired)) / case.seconds

    while candidates := [case for case in cases if case.seconds <= left]:
        best = max(candidates, key=gain)
        if gain(best) == 0:
            break
        choice.append(best)
        left -= best.seconds
        paired.update(best.pairs)
        known.update(name for pair in best.pairs for name in pair)
    return choice


def of_names(names: list[str]) -> list[Machine]:
    """Machines by name; without names all that are not by hand."""
    return [machine for machine in MACHINES if machine.name in names or (not names and not machine.by_hand)]
