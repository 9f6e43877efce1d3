"""The machines of the laboratory: what QEMU is asked for, and what must be seen of it from inside."""

from dataclasses import dataclass


def cpu_set(text: str) -> frozenset[int]:
    """CPUs of a list such as `0-3,8`."""
    cpus: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


@dataclass(frozen=True)
class Machine:
    """A machine as it is declared. Ids of CPUs count threads first, then cores, clusters or dies, and sockets."""

    name: str
    arch: str
    model: str
    sockets: int
    dies: int
    clusters: int
    cores: int
    threads: int
    # Four CPUs for probes that need few. The third is the one that is taken away.
    few: tuple[int, int, int, int]
    # How long it takes here to boot it and to look at it as a whole, beside another.
    seconds: int
    memory_mib: int = 2048
    # The CPUs of each NUMA node; an empty list is a node of memory only.
    nodes: tuple[str, ...] = ()
    # CPUs of each kind of core, slowest first, with the capacity that the device tree tells; and the L2 caches, which
    # stand in the same device tree.
    kinds: tuple[tuple[str, int], ...] = ()
    l2: tuple[str, ...] = ()
    # What its kernel is told besides.
    kernel: str = ""
    # Only where it is named: it takes minutes.
    by_hand: bool = False

    @property
    def cpus(self) -> int:
        return self.sockets * self.dies * self.clusters * self.cores * self.threads

    @property
    def victim(self) -> int:
        return self.few[2]

    def levels(self) -> dict[str, set[frozenset[int]]]:
        """The groups of every level that the system must report, by the names that coretalk gives them."""
        core = self.threads
        cluster = core * self.cores
        die = cluster * self.clusters
        package = die * self.dies
        levels = {"core": self._blocks(core), "package": self._blocks(package)}
        if self.clusters > 1:
            levels["cluster"] = self._blocks(cluster)
        if self.arch == "x86_64":
            # QEMU's models have an L3 for each die.
            levels["l3"] = levels["die"] = self._blocks(die)
        if self.l2:
            levels["l2"] = {cpu_set(cpus) for cpus in self.l2}
            levels["l3"] = self._blocks(self.cpus)
        if self.nodes:
            levels["node"] = {cpu_set(cpus) for cpus in self.nodes if cpus}
        return levels

    def memory_nodes(self) -> list[int]:
        """NUMA nodes without CPUs."""
        return [number for number, cpus in enumerate(self.nodes) if not cpus]

    def qemu(self) -> list[str]:
        """Its words to QEMU, after the binary."""
        shape = f"{self.cpus},sockets={self.sockets}"
        shape += f",dies={self.dies}" if self.arch == "x86_64" else f",clusters={self.clusters}"
        shape += f",cores={self.cores},threads={self.threads}"
        board = "q35" if self.arch == "x86_64" else "virt,gic-version=3"
        words = ["-M", board, "-cpu", self.model, "-smp", shape, "-m", f"{self.memory_mib}M"]
        for number, cpus in enumerate(self.nodes):
            size = self.memory_mib // len(self.nodes)
            words += ["-object", f"memory-backend-ram,id=m{number},size={size}M"]
            owned = "".join(f",cpus={part}" for part in cpus.split(",") if part)
            words += ["-numa", f"node,nodeid={number},memdev=m{number}{owned}"]
        return words

    def _blocks(self, size: int) -> set[frozenset[int]]:
        return {frozenset(range(first, first + size)) for first in range(0, self.cpus, size)}


# Without the vendor, threads are lost and the kernel falls back to a clock that cannot measure.
X86 = "max,vendor=GenuineIntel"
# Pointer authentication as its architecture has it takes most of the time of an emulated Arm machine.
ARM = "max,pauth-impdef=on"

MACHINES = (
    Machine("x86-16", "x86_64", X86, 2, 1, 1, 4, 2, few=(0, 1, 2, 8), seconds=55),
    Machine(
        "x86-32", "x86_64", "Cascadelake-Server", 2, 2, 1, 4, 2, few=(0, 1, 8, 16), seconds=70,
        nodes=("0-7", "8-15", "16-31", ""),
    ),
    Machine("x86-64", "x86_64", "Cascadelake-Server", 2, 2, 1, 8, 2, few=(0, 1, 16, 32), seconds=110),
    Machine("x86-128", "x86_64", "Cascadelake-Server", 2, 2, 1, 16, 2, few=(0, 1, 32, 64), seconds=300, memory_mib=3072, by_hand=True),
    Machine("arm-16", "aarch64", ARM, 2, 1, 2, 2, 2, few=(0, 1, 2, 8), seconds=70, nodes=("0-7", "8-15")),
    Machine(
        "arm-big-little", "aarch64", ARM, 1, 1, 2, 4, 1, few=(0, 1, 4, 6), seconds=50, memory_mib=1536,
        kinds=(("0-3", 446), ("4-7", 1024)), l2=("0-3", "4-5", "6-7"),
    ),
)
