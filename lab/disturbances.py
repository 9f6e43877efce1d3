"""What happens to a machine while something is measured on it."""

from dataclasses import dataclass

from machines import Machine
from probes import Probe

# Bytes of a disk that are free when a run begins that is to meet a full one: more than it writes.
ROOM = 3 << 20
ONLINE = "/sys/devices/system/cpu/cpu{victim}/online"


@dataclass(frozen=True)
class Disturbance:
    """`begins` and `ends` are lines for the shell of the machine. Times are shares of the length of the probe since its run
    file was there; without `at` it has happened before the command starts, and without `back` it lasts until the command
    has ended."""

    name: str
    # What it does, by which its outcome is checked: `nothing`, `cpu`, `quota`, `disk` or `power`.
    kind: str
    begins: str = "true"
    ends: str = "true"
    at: float | None = None
    back: float | None = None
    # Why a CPU is missed, as documents say it.
    why: str = ""

    @property
    def effect(self) -> str:
        """What comes of it, as far as cases of one effect show much the same."""
        if self.kind != "cpu":
            return self.kind
        return "refused" if self.at is None else f"{self.why} departs"


def _of_cpu(name: str, why: str, begins: str, ends: str) -> tuple[Disturbance, ...]:
    def one(when: str, at: float | None, back: float | None = None) -> Disturbance:
        return Disturbance(f"{name} {when}", "cpu", begins, ends, at, back, why)

    return (one("before", None), one("at once", 0.0), one("early", 0.3), one("late", 0.6), one("and back", 0.3, 0.6))


NOTHING = Disturbance("nothing", "nothing")
POWER_CUT = Disturbance("power cut", "power")
DISTURBANCES = (
    NOTHING,
    *_of_cpu("offline", "offline", f"echo 0 >{ONLINE}", f"echo 1 >{ONLINE}"),
    *_of_cpu("cpuset", "cpuset", "echo {others} >$group/cpuset.cpus", "cat $cpus/online >$group/cpuset.cpus"),
    # Every CPU of a run is stopped after a fifth of each tenth of a second.
    Disturbance("quota early", "quota", "echo 20000 100000 >$group/cpu.max", "echo max 100000 >$group/cpu.max", 0.3),
    *(Disturbance(f"full disk {when}", "disk", "cat /dev/zero >/store/filler", "rm /store/filler /store/ballast", at)
      for when, at in (("early", 0.3), ("late", 0.6))),
    POWER_CUT,
)


def job(machine: Machine, probe: Probe, disturbance: Disturbance, case: str) -> str:
    """The lines of a case for the shell of the machine; `power` has its own."""
    others = ",".join(str(cpu) for cpu in range(machine.cpus) if cpu != machine.victim)
    begins, ends = (
        f"'{line.format(victim=machine.victim, others=others)}'" for line in (disturbance.begins, disturbance.ends)
    )
    # A machine that is emulated on few CPUs is slow; these limits only end what hangs.
    limit = 90
    run = f"attempt run {limit} coretalk {probe.command(machine)} --name case --format jsonl"
    lines = [f"fresh {case}"]
    if disturbance.kind == "disk":
        # What is left is filled in a moment: a machine that is busy needs seconds for all of it.
        lines += [
            "mount -t ext4 /dev/vdb /store && rm -rf /store/* &&"
            f" head -c $(( $(stat -f -c '%a * %S' /store) - {ROOM} )) /dev/zero >/store/ballast",
        ]
    if disturbance.kind == "nothing":
        lines.append(run)
    elif disturbance.at is None:
        lines += [f"happens begins {begins}", run]
    else:
        happening = f"once_begun; sleep {disturbance.at * probe.seconds:.2f}; happens begins {begins}"
        if disturbance.back is not None:
            happening += f"; sleep {(disturbance.back - disturbance.at) * probe.seconds:.2f}; happens ends {ends}"
        lines += [f"({happening}) &", "happening=$!", run, "kill $happening 2>/dev/null", "wait $happening"]
    ends_it = f"happens ends {ends}"
    if disturbance.kind == "quota":
        # What is asked afterwards need not wait for it.
        lines.append(ends_it)
    lines += [
        "attempt document 60 coretalk export case --format json",
        "attempt kept 60 coretalk export case --format jsonl",
        "attempt screen 60 coretalk runs show case",
    ]
    if disturbance.kind != "nothing":
        if disturbance.kind != "quota":
            # Where the command ended first, it has not come to that yet.
            lines.append(ends_it)
        lines += [f"attempt resumed {limit} coretalk --resume case --format json", "attempt kept-after 60 coretalk export case --format jsonl"]
    return "".join(f"{line}\n" for line in lines)


def power_job(machine: Machine, probe: Probe, boots: int) -> str:
    """The lines of a boot of a case whose power is cut: what is measured goes to the console line by line, each once it is
    kept. The first boot begins the run, the others go on with it."""
    command = f"coretalk {probe.command(machine)} --name case" if boots == 0 else "coretalk --resume case"
    return f"""fresh power
mount -t ext4 /dev/vdb /store
attempt kept 60 coretalk export case --format jsonl
say measuring
{{ in_group timeout -s KILL 90 {command} --format jsonl 2>/tmp/err; echo $? >/tmp/code; }} | sed 's/^/@line /'
say "ended with $(cat /tmp/code) $(cat /tmp/err)"
attempt document 60 coretalk export case --format json
attempt kept-after 60 coretalk export case --format jsonl
attempt screen 60 coretalk runs show case
umount /store
"""
