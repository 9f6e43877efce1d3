"""Which cases are run: all of them, or a choice in which as many pairs as fit stand together once."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from disturbances import DISTURBANCES, Disturbance
from machines import MACHINES, Machine
from probes import PROBES, Probe
from systems import System

# Seconds that a run takes here besides what it measures, with what is asked of it afterwards.
BESIDE = 5
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
        if self.disturbance.effect == "refused":
            return REFUSAL
        # What is disturbed goes on afterwards.
        return (BESIDE + self.probe.seconds) * (1 if self.disturbance.kind == "nothing" else 2)


    def __str__(self) -> str:
        return f"{self.machine.name} {self.probe.name} / {self.disturbance.name}"


def all_cases(machines: Iterable[Machine]) -> list[Case]:
    """Every probe with every disturbance on these machines."""
    every = [Case(machine, probe, it) for machine in machines for probe in PROBES for it in DISTURBANCES]
    return [case for case in every if case.probe.one_by_one or case.disturbance.kind != "power"]


def lanes(machines: Iterable[Machine | System], number: int) -> list[list[Machine | System]]:
    """Machines that run one after the other, in so many lanes side by side, each of which takes about as long."""
    lanes: list[list[Machine | System]] = [[] for _ in range(number)]
    for machine in sorted(machines, key=lambda it: -it.seconds):
        min(lanes, key=lambda lane: sum(it.seconds for it in lane)).append(machine)
    return [lane for lane in lanes if lane]


def seconds(machine: Machine | System, choice: Iterable[Case]) -> float:
    """About how long a machine takes, with its cases."""
    return machine.seconds + sum(case.seconds for case in choice if case.machine == machine)


def chosen(
    cases: list[Case],
    lanes: Sequence[Sequence[Machine | System]],
    seconds: float,
    done: Iterable[Case] = (),
    first: Iterable[Case] = (),
) -> list[Case]:
    """As many as fit into the lanes: what comes first in any event, then each machine, probe and disturbance, then each probe
    with each effect, then each pair of two of them; whatever brings the most that is new beside what was done, on the machine
    that was used least. The same choice each time."""
    lane_of = {machine.name: number for number, lane in enumerate(lanes) for machine in lane}
    left = [seconds - sum(machine.seconds for machine in lane) for lane in lanes]
    # Of every machine as a whole a run to which nothing happens is made anyway.
    known: set[tuple[str, ...]] = {("nothing",)}
    used: Counter[str] = Counter()
    choice: list[Case] = []

    def parts(case: Case) -> dict[tuple[str, ...], int]:
        """What stands together in a case, with what it is worth once."""
        worth: dict[tuple[str, ...], int] = dict.fromkeys(case.pairs, 1)
        worth |= {(name,): 10 for pair in case.pairs for name in pair}
        return worth | {(case.probe.name, "effect", case.disturbance.effect): 3}

    def gain(case: Case) -> int:
        return sum(worth for part, worth in parts(case).items() if part not in known)

    def choose(case: Case) -> None:
        choice.append(case)
        left[lane_of[case.machine.name]] -= case.seconds
        used[case.machine.name] += 1
        known.update(parts(case))

    known.update(part for case in done for part in parts(case))
    for case in first:
        choose(case)
    while candidates := [case for case in cases if case.seconds <= left[lane_of[case.machine.name]]]:
        best = max(candidates, key=lambda case: (gain(case), -used[case.machine.name]))
        if gain(best) == 0:
            break
        choose(best)
    return choice


def of_names(names: list[str]) -> list[Machine]:
    """Machines by name; without names all that are not by hand."""
    return [machine for machine in MACHINES if machine.name in names or (not names and not machine.by_hand)]
