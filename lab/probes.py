"""What is run on the machines: every command that measures, short, on four CPUs of each."""

from dataclasses import dataclass

from machines import Machine


@dataclass(frozen=True)
class Probe:
    """A command that measures; in `words` stand the CPUs of the machine, and `seconds`, for about which it measures."""

    name: str
    words: str
    seconds: float = 3.0
    # Whether results are said one by one here, so that the power can be cut between two of them.
    one_by_one: bool = True

    def command(self, machine: Machine) -> str:
        a, b, c, d = machine.few
        return self.words.format(few=f"{a},{b},{c},{d}", a=a, b=b, c=c, d=d, seconds=f"{self.seconds:g}s")


PROBES = (
    Probe("quick look", "--cpus {few} --budget {seconds}"),
    Probe("latency", "latency --cpus {few} --precision 0.1% --budget {seconds}"),
    # Where two CPUs emulate 64, three seconds are too few for a pair.
    Probe(
        "latency --tails",
        "latency --cpus {few} --pairs {a}-{c},{b}-{d} --tails --precision 0.1% --budget {seconds}",
        seconds=9.0,
    ),
    Probe("latency --load", "latency --cpus {few} --pairs {a}-{c},{b}-{d} --load none,compute --budget {seconds}"),
    Probe("latency --gap", "latency --cpus {few} --pairs {a}-{c},{b}-{d} --gap 1us,100us --budget {seconds}"),
    Probe("wait", "wait --cpus {few} --pairs all --strategy busy,futex --budget {seconds}"),
    Probe("wake", "wake --cpus {few} --pairs all --primitive semaphore,park --budget {seconds}"),
    Probe("queue", "queue --cpus {few} --queue spsc,mutex --capacity 1,100 --budget {seconds}"),
    Probe("spawn", "spawn --cpus {few} --kind thread --budget {seconds}"),
    Probe("contend", "contend --cpus {few} --method fetch-add,std-mutex --threads 1,2,4 --budget {seconds}"),
    Probe("sharing", "sharing --cpus {few} --pairs {a}-{c},{b}-{d} --budget {seconds}"),
    Probe("broadcast", "broadcast --cpus {few} --budget {seconds}"),
    Probe("jitter", "jitter --cpus {few} --for {seconds}"),
    Probe("place", "place --placement near={a},{b} --placement far={c},{d} --workload ring --budget {seconds}", one_by_one=False),
)
