"""Boots machines in QEMU without hardware acceleration, from a kernel and programs of Debian's packages in an initial
file system."""

import contextlib
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from machines import Machine, cpu_set

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "target" / "lab"
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
# Maximum seconds until the first process runs: it took 8 to 60, the latter with 64 CPUs on a busy host.
UP_BY = 150
QEMU = {"x86_64": "qemu-system-x86_64", "aarch64": "qemu-system-aarch64"}
CONSOLE = {"x86_64": "ttyS0", "aarch64": "ttyAMA0"}
# Drivers of the disks, in the order of loading; ext4 is built into the kernel.
MODULES = ("virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_blk")
# The shell, and lstopo with its libraries.
PACKAGES = ("busybox-static", "hwloc-nox", "libhwloc15", "libc6", "libtinfo6", "libudev1", "libgcc-s1")
PARTS = (
    "bin/busybox", "bin/lstopo-no-graphics", "lib64/ld-linux-*", "lib/ld-linux-*",
    *(f"lib/*/{name}.so.*" for name in ("libc", "libm", "libtinfo", "libgcc_s", "libhwloc", "libudev")),
)


class Missing(Exception):
    """Why a machine cannot be booted here."""


@dataclass
class Boot:
    """Result of a boot: the lines of the console, the files that the machine left, the duration, whether the job was
    completed, and whether the first process ran."""

    lines: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    ended_itself: bool = False
    is_up: bool = False


class Guests:
    """Boots machines; prepares kernel and initial file system once per architecture."""

    def __init__(self, binaries: dict[str, Path]):
        self.binaries = binaries
        self.made: dict[str, tuple[Path, Path]] = {}
        self.making = threading.Lock()

    def boot(
        self,
        machine: Machine,
        job: str,
        limit: float,
        disk: Path,
        log: Path | None = None,
        told: Callable[[str], bool] = lambda line: False,
        programs: Sequence[str] = (),
    ) -> Boot:
        """Runs a job (a shell script) on a machine with a disk. Every write to the disk is also written to `log`, if
        given. The power is cut after the first line for which `told` is true. `programs` are C programs of the job."""
        added = [entry(f"bin/{name}", 0o100755, compiled(name)) for name in programs]
        kernel, initramfs = self._made(machine.arch)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with open(folder / "initrd", "wb") as whole, open(initramfs, "rb") as base:
                shutil.copyfileobj(base, whole)
                whole.write(archive([entry("job", 0o100644, job.encode()), *added]))
            results = folder / "results"
            with open(results, "wb") as empty:
                empty.truncate(128 << 20)
            words = [QEMU[machine.arch], *machine.qemu(), *device_tree(machine, folder)]
            words += ["-accel", "tcg,thread=multi", "-nodefaults", "-no-user-config", "-display", "none"]
            words += ["-serial", "stdio", "-monitor", "none", "-no-reboot"]
            words += ["-kernel", str(kernel), "-initrd", str(folder / "initrd")]
            # A kernel with an internal fault ends at once: without this, one continued for ten minutes with hung tasks.
            # An x86 kernel gives up if its timer seems not to tick, as on a busy host.
            timer = " no_timer_check" if machine.arch == "x86_64" else ""
            words += ["-append", f"console={CONSOLE[machine.arch]} panic=-1 oops=panic quiet loglevel=4{timer} {machine.kernel}"]
            words += ["-blockdev", f"driver=file,node-name=results,filename={results}"]
            if log is None:
                words += ["-blockdev", f"driver=file,node-name=disk,filename={disk}"]
            else:
                logged = f"file.driver=file,file.filename={disk},log.driver=file,log.filename={log}"
                words += ["-blockdev", f"driver=blklogwrites,node-name=disk,{logged},log-sector-size=512"]
            for name in ("results", "disk"):
                words += ["-device", f"virtio-blk-pci,drive={name},write-cache=on"]
            boot = run(words, limit, told)
            if not boot.is_up:
                # A kernel gives up if a busy host gives its CPUs no time for a second; the disk is unchanged.
                boot = run(words, limit, told)
            if boot.ended_itself:
                boot.files = files_of(results)
            return boot

    def _made(self, arch: str) -> tuple[Path, Path]:
        with self.making:
            if arch not in self.made:
                self.made[arch] = self._make(arch)
            return self.made[arch]

    def _make(self, arch: str) -> tuple[Path, Path]:
        need(QEMU[arch], "qemu-system-x86" if arch == "x86_64" else "qemu-system-arm")
        binary = self.binaries.get(arch)
        if binary is None or not binary.exists():
            raise Missing(f"no static coretalk for {arch} was given or built")
        root = packages(arch)
        kernel = next((root / "boot").glob("vmlinuz-*"))
        folders = {"bin", "dev", "modules"}
        entries = [entry(name, 0o040755) for name in sorted(folders)]
        entries.append(entry("dev/console", 0o020600, device=(5, 1)))
        # Packages put their files below the root or below /usr; here all are below the root.
        for part in sorted({found for below in (root, root / "usr") for part in PARTS for found in below.glob(part)}):
            path = Path(str(part.relative_to(root)).removeprefix("usr/"))
            for above in reversed(path.parents[:-1]):
                if str(above) not in folders:
                    folders.add(str(above))
                    entries.append(entry(str(above), 0o040755))
            entries.append(entry(str(path), 0o100755, part.read_bytes()))
        for module in MODULES:
            file = next(root.glob(f"lib/modules/*/kernel/drivers/**/{module}.ko"))
            entries.append(entry(f"modules/{module}.ko", 0o100644, file.read_bytes()))
        entries.append(entry("bin/coretalk", 0o100755, binary.read_bytes()))
        entries.append(entry("init", 0o100755, (ROOT / "lab" / "init").read_bytes()))
        initramfs = CACHE / f"{arch}.cpio"
        initramfs.write_bytes(archive(entries))
        return kernel, initramfs


def need(command: str, package: str) -> None:
    """Raises `Missing` if a command is not installed."""
    if shutil.which(command) is None:
        raise Missing(f"{command} is missing; install {package}")


def packages(arch: str) -> Path:
    """Downloads and unpacks a kernel, a shell and lstopo. apt uses a state directory in the cache, so nothing is
    installed, and packages of another architecture need no change of the system."""
    debian = DEBIAN[arch]
    root = CACHE / debian / "root"
    if (root / "complete").exists():
        return root
    need("apt-get", "apt")
    state = CACHE / debian / "apt"
    shutil.rmtree(CACHE / debian, ignore_errors=True)
    for name in ("lists/partial", "cache/archives/partial", "debs"):
        (state / name).mkdir(parents=True)
    (state / "status").touch()
    options = {
        "APT::Architecture": debian, "APT::Architectures": debian, "Dir::State::Lists": state / "lists",
        "Dir::State::Status": state / "status", "Dir::Cache": state / "cache", "Acquire::Languages": "none",
        "APT::Sandbox::User": "",
    }
    words = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]

    def call(*command: str | Path) -> str:
        said = subprocess.run([str(word) for word in command], cwd=state / "debs", capture_output=True, text=True)
        if said.returncode != 0:
            raise Missing(f"`{command[0]}` failed: {(said.stderr.strip() or 'no reason given').splitlines()[-1]}")
        return said.stdout

    call("apt-get", *words, "update")
    # The metapackage depends on one package, the current kernel.
    needs = call("apt-cache", *words, "depends", f"linux-image-cloud-{debian}")
    kernel = next((line.split()[-1] for line in needs.splitlines() if "Depends:" in line), None)
    if kernel is None:
        raise Missing(f"apt knows no linux-image-cloud-{debian}: these machines boot Debian's kernel")
    call("apt-get", *words, "download", kernel, *PACKAGES)
    for package in (state / "debs").glob("*.deb"):
        call("dpkg-deb", "-x", package, root)
    shutil.rmtree(state)
    (root / "complete").touch()
    return root


def compiled(name: str) -> bytes:
    """Compiles a C program of the laboratory statically, for the architecture of the host."""
    need("cc", "gcc and libc6-dev")
    CACHE.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(
        ["cc", "-static", "-Os", "-s", "-o", CACHE / name, ROOT / "lab" / f"{name}.c"], capture_output=True, text=True
    )
    if made.returncode != 0:
        raise Missing(f"`cc` makes no static program here: {(made.stderr.strip() or 'no reason given').splitlines()[-1]}")
    return (CACHE / name).read_bytes()


def entry(name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> bytes:
    """One file of an archive in cpio's format `newc`, as the kernel reads it."""
    path = name.encode() + b"\0"
    numbers = (0, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(path), 0)
    head = b"070701" + b"".join(b"%08X" % number for number in numbers) + path
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def archive(entries: list[bytes]) -> bytes:
    """A complete archive; the kernel reads concatenated archives if each begins at a multiple of four bytes."""
    return b"".join(entries) + entry("TRAILER!!!", 0)


def device_tree(machine: Machine, folder: Path) -> list[str]:
    """Adds kinds of cores and caches, for which QEMU has no option, to the device tree that QEMU would pass."""
    if not machine.kinds:
        return []
    need("dtc", "device-tree-compiler")
    words = machine.qemu()
    words[1] += f",dumpdtb={folder}/given.dtb"
    subprocess.run([QEMU[machine.arch], *words, "-nodefaults", "-display", "none"], check=True, capture_output=True)
    source = subprocess.run(
        ["dtc", "-q", "-I", "dtb", "-O", "dts", folder / "given.dtb"], check=True, capture_output=True, text=True
    ).stdout
    for cpus, capacity in machine.kinds:
        for cpu in cpu_set(cpus):
            cache = next(number for number, owners in enumerate(machine.l2) if cpu in cpu_set(owners))
            told = f"capacity-dmips-mhz = <{capacity}>; next-level-cache = <&l2_{cache}>;"
            source = source.replace(f"cpu@{cpu:x} {{", f"cpu@{cpu:x} {{ {told}", 1)
    shared = 'compatible = "cache"; cache-unified;'
    caches = f"l3: l3 {{ {shared} cache-level = <3>; cache-size = <0x400000>; }};"
    for number in range(len(machine.l2)):
        caches += f"l2_{number}: l2-{number} {{ {shared} cache-level = <2>; cache-size = <0x80000>; next-level-cache = <&l3>; }};"
    # In a source, the children of a node follow its properties.
    at = source.index("cpu-map {", source.index("cpus {"))
    (folder / "told.dts").write_text(source[:at] + caches + source[at:])
    subprocess.run(["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", folder / "told.dtb", folder / "told.dts"], check=True)
    return ["-dtb", str(folder / "told.dtb")]


# Held during a boot: two kernels that start all their CPUs at the same time starve each other until one gives up.
STARTING = threading.Lock()


def run(words: list[str], limit: float, told: Callable[[str], bool]) -> Boot:
    """Runs QEMU until it ends, `limit` seconds pass, or `told` is true for a line; at most `UP_BY` seconds if the first
    process does not run. Machines boot one at a time."""
    with contextlib.ExitStack() as starting:
        starting.enter_context(STARTING)
        return watched(words, limit, told, starting.close)


def watched(words: list[str], limit: float, told: Callable[[str], bool], is_up: Callable[[], None]) -> Boot:
    """`run` without the lock; calls `is_up` when the first process runs."""
    boot = Boot()
    began = time.monotonic()
    qemu = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    watches = [threading.Timer(limit, qemu.kill), threading.Timer(UP_BY, lambda: boot.is_up or qemu.kill())]
    for watch in watches:
        watch.start()
    cut = False
    assert qemu.stdout is not None
    for raw in qemu.stdout:
        # A last line without its end was cut off.
        if not raw.endswith(b"\n"):
            break
        line = raw.decode(errors="replace").rstrip("\r\n")
        # QEMU names each feature of a model that it cannot emulate.
        if "TCG doesn't support requested feature" in line:
            continue
        boot.lines.append(line)
        if not boot.is_up and " booted with CPUs " in line:
            boot.is_up = True
            is_up()
        if not cut and told(line):
            cut = True
            qemu.kill()
    qemu.wait()
    for watch in watches:
        watch.cancel()
    boot.seconds = time.monotonic() - began
    boot.ended_itself = not cut and any(line.startswith("@@ ") and line.endswith(" done") for line in boot.lines)
    return boot


def files_of(results: Path) -> dict[str, str]:
    """The files that a machine left."""
    try:
        with tarfile.open(results) as tar:
            members = ((member.name.removeprefix("./"), tar.extractfile(member)) for member in tar if member.isfile())
            return {name: file.read().decode(errors="replace") for name, file in members if file is not None}
    except tarfile.TarError:
        return {}


def ext4(image: Path, mib: int) -> None:
    """An empty file system for run files."""
    need("mkfs.ext4", "e2fsprogs")
    with open(image, "wb") as empty:
        empty.truncate(mib << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", "-b", "1024", image], check=True)


def static_binary(arch: str, given: str | None) -> Path | None:
    """The static coretalk for an architecture: the given file, or the stripped one in the tarball of `dist/build`."""
    if given is not None:
        return Path(given)
    tarball = max((ROOT / "target" / "dist").glob(f"coretalk-*-{arch}-linux.tar.gz"), default=None)
    if tarball is None:
        return None
    binary = CACHE / f"coretalk-{arch}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with tarfile.open(tarball) as tar:
        file = tar.extractfile(f"{tarball.name.removesuffix('.tar.gz')}/coretalk")
        assert file is not None
        binary.write_bytes(file.read())
    return binary
