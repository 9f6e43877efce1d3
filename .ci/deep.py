#!/usr/bin/env python3
"""The deep checks: each runs only when its inputs have changed since it last passed.

    .ci/deep.py                 what is due, as `.ci/run` does
    .ci/deep.py loom miri       these, due or not
    .ci/deep.py --all           every check
    .ci/deep.py --list          which checks are due, and why; runs nothing

A check that passes writes `.ci/passed/NAME`: its inputs with their digests, the versions of its tools, the seconds it took
and the speed of the machine then, and a digest of all that. Commit these files with the change that made the checks due.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PASSED = ".ci/passed"
# Seconds from the start of `.ci/run`; a check that is expected to end later is not started.
CAP_S = 60 * 60
# Seconds from the start of `.ci/run`; a check still running then is stopped, so that the run can report its failure.
STOP_S = 85 * 60
# The expected time of a check without a record.
UNKNOWN_S = 10 * 60
# Exit status of a command that lacks something it needs: neither a pass nor a failure.
SKIPPED = 3
# Signals that end the checks and all their processes.
ENDING = (signal.SIGINT, signal.SIGTERM)
# Received signals; the first determines the exit status.
ENDED: list[int] = []
NIGHTLY = "nightly-2026-10-30"
# rust-version in Cargo.toml.
OLDEST = re.findall(r'^rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[0]

# A snapshot of the repository: path to content.
Tree = Mapping[str, bytes]

MANIFESTS = (
    "Cargo.lock", "Cargo.toml", ".cargo", "crates/model/Cargo.toml", "crates/measure/Cargo.toml",
    "crates/report/Cargo.toml", "crates/measure/build.rs", "crates/coretalk/build.rs",
)  # fmt: skip
# Strings in these modules are for screens. A change of their wording makes no check due; the tests of the core cover it.
SCREEN_TEXT = (
    "crates/report/src",
    *(f"crates/coretalk/src/{module}{end}" for module in ("commands", "args", "exit") for end in ("", ".rs")),
)


class Need(NamedTuple):
    """Something that a check cannot do without."""

    what: str
    # Why it is missing, after an attempt to install it; None if it is there.
    missing: Callable[[], str | None]


class Check(NamedTuple):
    """One deep check."""

    name: str
    title: str
    # A line for bash, to which `tests` are appended, and the option that shows the output of passing tests.
    command: str
    # Parts of test names; each must match a test that passes. An empty one matches any test.
    tests: tuple[str, ...] = ()
    # Patterns of the compiler's dependency files, below target/; they name the Rust sources that are inputs.
    compiled: tuple[str, ...] = ()
    # Other inputs: files, or folders with everything in them.
    files: tuple[str, ...] = MANIFESTS
    # Commands whose first line of output is a version.
    tools: tuple[str, ...] = ("rustc -V",)
    needs: tuple[Need, ...] = ()
    # Build time that the record lacks if another check had built the same before, in seconds where `loop_s` is 0.1 s.
    build_s: int = 0

    @property
    def line(self) -> str:
        # A test that lacks something it needs passes, and reports that in its output only.
        return " ".join([self.command, *filter(None, self.tests), *(["--show-output"] if self.tests else [])])

    def definition(self) -> str:
        """A digest of everything in the definition that affects the meaning of a pass."""
        needs = tuple(need.what for need in self.needs)
        return digest_of(self._replace(title="", command=self.line, needs=needs, build_s=0))


def digest_of(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


def program(*names: str) -> Need:
    """Needs these programs, which `.ci/packages` has tried to install."""
    return Need(
        f"programs {names}",
        lambda: next((f"{name} is not installed" for name in names if shutil.which(name) is None), None),
    )


def native(machine: str) -> Need:
    """Needs a machine of this architecture."""
    return Need(f"native {machine}", lambda: None if platform.machine() == machine else f"this machine is no {machine}")


def foreign(machine: str) -> Need:
    """Needs a machine of another architecture."""
    why = f"this machine is {machine} itself, where `cargo test` runs these tests"
    return Need(f"foreign {machine}", lambda: why if platform.machine() == machine else None)


def toolchain(name: str, *components: str) -> Need:
    """A Rust toolchain with its components."""

    def need() -> str | None:
        wanted = ["rustc", *components]
        installed = output("rustup", "component", "list", "--toolchain", name, "--installed")
        if installed is not None and all(re.search(f"^{part}", installed, re.M) for part in wanted):
            return None
        more = [word for part in components for word in ("--component", part)]
        line = ["rustup", "toolchain", "install", name, "--profile", "minimal", "--no-self-update", *more]
        return None if output(*line) is not None else f"Rust {name} cannot be installed"

    return Need(f"toolchain {name} {components}", need)


def target(triple: str) -> Need:
    """The standard library of a target, for the default toolchain."""

    def need() -> str | None:
        installed = output("rustup", "target", "list", "--installed") or ""
        if triple in installed.split() or output("rustup", "target", "add", triple) is not None:
            return None
        return f"the target {triple} cannot be installed"

    return Need(f"target {triple}", need)


def output(*words: str) -> str | None:
    """What a command prints; None if it fails or takes more than five minutes."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def of_tests(*crates: str) -> tuple[str, ...]:
    """Dependency files of the test binaries of `cargo test --workspace`, and of the libraries below them."""
    return tuple(f"debug/deps/{crate}-*.d" for crate in crates)


def of_target(folder: str) -> tuple[str, ...]:
    """Dependency files of a target directory that only this check uses."""
    return (f"{folder}/**/*.d",)


RELEASE_NEEDS = (
    program("dpkg-deb", "aarch64-linux-gnu-gcc"),
    target("x86_64-unknown-linux-gnu"),
    target("aarch64-unknown-linux-gnu"),
)
PACKED = (
    *MANIFESTS, "dist", "python/coretalk", "python/pyproject.toml", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-NOTICES",
    "docs", "pictures", "schema", "crates/model/LICENSE-APACHE", "crates/model/LICENSE-MIT", "crates/measure/LICENSE-APACHE",
    "crates/measure/LICENSE-MIT", "crates/report/LICENSE-APACHE", "crates/report/LICENSE-MIT",
)  # fmt: skip
ACCEPTANCE = "CORETALK_TEST_ACCEPTANCE=1 cargo test --locked --workspace"

# The most valuable first.
CHECKS = (
    Check(
        "laboratory",
        "laboratory: virtual machines of many shapes",
        "dist/build --quick x86_64 aarch64 && lab/run",
        compiled=of_target("static"),
        files=(*MANIFESTS, "lab", "dist"),
        tools=("rustc -V", "qemu-system-x86_64 --version", "qemu-system-aarch64 --version"),
        needs=(*RELEASE_NEEDS, program("qemu-system-x86_64", "qemu-system-aarch64")),
    ),
    Check(
        "systems",
        "systems: virtual machines whose system refuses something, or keeps it from a program",
        "dist/build --quick x86_64 && lab/run --systems",
        compiled=of_target("static"),
        files=(*MANIFESTS, "lab", "dist"),
        tools=("rustc -V", "qemu-system-x86_64 --version"),
        needs=(program("dpkg-deb", "qemu-system-x86_64", "cc"), target("x86_64-unknown-linux-gnu")),
        build_s=240,
    ),
    Check(
        "packages",
        "packages: crates, static binaries of x86-64 and aarch64, tarballs, wheels, Debian packages",
        "cargo package --workspace --locked --offline --no-verify --allow-dirty && dist/build --quick x86_64 aarch64 && "
        ".ci/released.py && lintian --fail-on error,warning target/dist/*.deb",
        # How packages are built, and the sources of the manual page and the completions. `laboratory` builds the same
        # packages after a change of any other source, and finds build failures and excessive size.
        files=(*PACKED, ".ci/released.py", "crates/coretalk/src/args.rs", "crates/coretalk/src/args"),
        tools=("rustc -V", "lintian --version"),
        needs=(*RELEASE_NEEDS, program("lintian")),
        build_s=300,
    ),
    Check(
        "loom",
        "loom: every order that the memory model allows, for two or three hops of each protocol",
        "RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=target/loom cargo test --locked -p coretalk-measure --test handshakes --",
        ("loom_",),
        of_target("loom"),
    ),
    Check(
        "miri",
        # Plain memory only: kernels between two threads, counters and locks under contention, their guard, our own rings.
        "Miri: kernels and rings",
        "CARGO_TARGET_DIR=target/miri MIRIFLAGS=-Zmiri-disable-isolation "
        f"cargo +{NIGHTLY} miri test --locked -p coretalk-measure --lib --",
        (
            "probes::two_threads", "probes::latency_", "probes::ping_pong", "kernel_context::", "counters::", "queues::spsc", "queues::row",
            "queues::slot_queue",
        ),  # fmt: skip
        of_target("miri"),
        tools=(),  # named by the command
        needs=(toolchain(NIGHTLY, "miri", "rust-src"),),
    ),
    Check(
        "thread-sanitizer",
        # Real threads with tiny counts: kernels, hand-over of tasks and rounds, stops, lost partners. Our code is not optimised:
        # these tests take seconds, and optimising takes minutes. A backtrace of an intended panic takes longer than a test waits.
        "ThreadSanitizer: kernels and workers with real threads",
        "CARGO_TARGET_DIR=target/tsan CARGO_PROFILE_DEV_OPT_LEVEL=0 RUSTFLAGS=-Zsanitizer=thread RUST_BACKTRACE=0 "
        f"cargo +{NIGHTLY} test --locked -Zbuild-std --target x86_64-unknown-linux-gnu -p coretalk-measure --lib --",
        ("probes::", "kernel_context::", "host::worker", "host::workers", "host::tests"),
        of_target("tsan"),
        tools=(),  # named by the command
        needs=(native("x86_64"), toolchain(NIGHTLY, "rust-src")),
    ),
    Check(
        "coverage",
        "acceptance: coverage of the intervals",
        f"{ACCEPTANCE} --test coverage --",
        ("",),
        of_tests("coverage", "coretalk_model"),
    ),
    Check(
        "inference",
        "acceptance: structure from the latencies",
        f"{ACCEPTANCE} --test inference --",
        ("",),
        of_tests("inference", "coretalk_model"),
    ),
    Check(
        "simulated",
        "acceptance: the simulated machine as oracle, coverage of trials, matrices of queues, comparisons of runs",
        f"{ACCEPTANCE} --test simulated -- --include-ignored",
        ("acceptance::", "coverage::", "queue::sixteen_cpus", "compare::"),
        of_tests("simulated", "coretalk_measure", "coretalk_model"),
    ),
    Check(
        "fuzz",
        "fuzz: 2,000 seeds of changed run files, matrices, histograms, XML, scenarios and lines of adapters",
        "CORETALK_TEST_ACCEPTANCE=1 cargo test --locked -p coretalk --test integration --",
        ("fuzz::",),
        # The parsers of these files. After every change, the core fuzzes with fewer seeds how the contents are shown.
        of_tests("coretalk_measure", "coretalk_model"),
        (*MANIFESTS, "crates/coretalk/src/store.rs", "crates/coretalk/src/store", "crates/coretalk/tests/fuzz"),
    ),
    Check(
        "aarch64",
        "tests on aarch64, emulated",
        ".ci/emulated",
        ("",),
        of_target("emulated"),
        (*MANIFESTS, ".ci/emulated"),
        tools=("rustc -V", "qemu-aarch64-static --version"),
        needs=(
            foreign("aarch64"),
            program("aarch64-linux-gnu-gcc", "qemu-aarch64-static"),
            target("aarch64-unknown-linux-gnu"),
        ),
    ),
    Check(
        "types-macos",
        "types on macOS",
        ".ci/macos aarch64-apple-darwin",
        compiled=of_target("macos"),
        files=(*MANIFESTS, ".ci/macos", ".ci/no-c"),
        needs=(target("aarch64-apple-darwin"),),
    ),
    Check(
        "types-oldest",
        f"types on Rust {OLDEST}",
        f'CC="$PWD/.ci/no-c" AR="$PWD/.ci/no-c" CARGO_TARGET_DIR=target/oldest cargo +{OLDEST} check --locked --workspace',
        compiled=of_target("oldest"),
        files=(*MANIFESTS, ".ci/no-c"),
        tools=(),  # named by the command
        needs=(toolchain(OLDEST),),
    ),
    Check(
        "reproducible",
        "packages of x86-64 built twice: the same bytes",
        "dist/build --twice x86_64",
        # What may bring times, paths or a random order into the packages: building and packing, build scripts, macros
        # of other crates, and the compiler (in `tools`). Our other sources cannot: rustc reads no clock, and the core
        # compares the texts that the binary writes into the packages with snapshots.
        files=PACKED,
        needs=RELEASE_NEEDS,
        build_s=200,
    ),
)


# Inputs and digests


def snapshot(root: Path = ROOT) -> Tree:
    """Every file that git tracks or would add, read once, so that records describe the files at the beginning."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=root, capture_output=True, check=False)
    if listed.returncode != 0:
        sys.exit(f"deep.py: the inputs of checks are listed by git, which says: {os.fsdecode(listed.stderr).strip()}")
    paths = [path for path in os.fsdecode(listed.stdout).split("\0") if path]
    return {path: (root / path).read_bytes() for path in paths if (root / path).is_file()}


# Comments, strings and characters of Rust. A character is matched so that a quote in one opens no string.
RUST = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r"|\b[bc]?r(?P<hashes>#*)\".*?\"(?P=hashes)"
    r"|\"(?:[^\"\\]|\\.)*\""
    r"|'(?:\\.[^']*|[^\\'\n])'",
    re.S,
)


def code_of(text: str, with_text: bool) -> str:
    """Rust source without comments and layout; without `with_text`, strings are reduced to their placeholders."""
    literals = []

    def reduced(found: re.Match[str]) -> str:
        token = found[0]
        if token.startswith(("//", "/*")):
            return " "
        if not with_text and " " in token and not token.startswith("'"):
            token = '"' + "".join(re.findall(r"\{[^{}]*\}", token.replace("{{", "").replace("}}", ""))) + '"'
        literals.append(token)
        return "\0"

    code = re.sub(r"\s+", " ", RUST.sub(reduced, text))
    code = re.sub(r" ?([^\w ]) ?", r"\1", code)
    # rustfmt breaks a line that gets longer, and ends its last argument with a comma.
    code = re.sub(r",([)\]}])", r"\1", code).strip()
    between = iter(literals)
    return re.sub("\0", lambda _: next(between), code)


def below(path: str, places: tuple[str, ...]) -> bool:
    """Whether the path is one of `places` (files or folders) or in one of them."""
    return any(path == place or path.startswith(f"{place}/") for place in places)


@functools.cache
def digest(path: str, content: bytes) -> str:
    if path.endswith(".rs"):
        content = code_of(content.decode(), with_text=not below(path, SCREEN_TEXT)).encode()
    return hashlib.sha256(content).hexdigest()[:12]


def compiled_sources(pattern: str, tree: Tree) -> set[str]:
    """The sources that the compiler's dependency files of a pattern name, as paths from the root."""
    found = set()
    for file in (ROOT / "target").glob(pattern):
        text = file.read_text()
        # Written by Clippy, which is part of the core and reads settings of its own.
        if "env-dep:CLIPPY_ARGS" in text:
            continue
        for line in text.splitlines():
            if line.endswith(":") and not line.startswith("#"):
                path = os.path.join(ROOT, line[:-1].replace("\\ ", " "))
                found.add(os.path.relpath(os.path.normpath(path), ROOT))
    return found & tree.keys()


def inputs(check: Check, tree: Tree, compiled: Iterable[str]) -> dict[str, str]:
    """Each input with its digest: sources that were compiled, and what the check declares. Documents are inputs of the core only."""
    sources = set(compiled)
    paths = sorted(path for path in tree if (path in sources or below(path, check.files)) and not path.endswith(".md"))
    return {path: digest(path, tree[path]) for path in paths}


def versions(check: Check) -> dict[str, str]:
    """The first line of output of each tool; empty if it fails."""
    lines = {tool: output(*tool.split()) or "" for tool in check.tools}
    return {tool: said.partition("\n")[0].strip() for tool, said in lines.items()}


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with a digest of its other fields, which does not match in a record that git merged from two."""
    rest = {key: value for key, value in record.items() if key != "digest"}
    return {**rest, "digest": digest_of(rest)}


def record_of(check: Check, tree: Tree) -> dict[str, Any] | None:
    """The record of the last pass; None if it is missing or damaged."""
    try:
        record = json.loads(tree.get(f"{PASSED}/{check.name}", b""))
        return record if record == sealed(record) else None
    except (ValueError, AttributeError):
        return None


def why_due(check: Check, record: Mapping[str, Any] | None, tree: Tree, tools: Mapping[str, str]) -> str | None:
    """Why a check is due; None if nothing that it depends on has changed."""
    if record is None:
        return "there is no record of a pass"
    if record["definition"] != check.definition():
        return "its definition has changed"
    for tool, version in tools.items():
        if version != record["tools"].get(tool):
            return f"{tool} says {version!r}, not {record['tools'].get(tool)!r}"
    before = record["inputs"]
    now = inputs(check, tree, before)
    changed = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    if not changed:
        return None
    return changed[0] + (f" and {len(changed) - 1} more inputs have changed" if len(changed) > 1 else " has changed")


# Order and time


def spin(_: int) -> float:
    """Seconds of a CPU-bound loop."""
    began, value = time.perf_counter(), 0
    for number in range(2_000_000):
        value = (value * 31 + number) & 0xFFFF_FFFF
    return time.perf_counter() - began


def loop_s() -> float:
    """Seconds of that loop on both CPUs at once, as checks use them; the fastest of three."""
    # Not `multiprocessing.Pool`, which ends its workers with SIGTERM and joins them: the handler of `main`, which they
    # inherit, loses a signal that arrives just before a worker waits for its next task.
    with ProcessPoolExecutor(2) as pool:
        return min(max(pool.map(spin, range(2))) for _ in range(3))


def expected_s(check: Check, record: Mapping[str, Any] | None, loop: float) -> float:
    """The recorded time, at the speed of this machine."""
    return UNKNOWN_S if record is None else (check.build_s / 0.1 + record["seconds"] / record["loop_s"]) * loop


def passed_at(check: Check) -> int:
    """The time of the last commit that changed the record of a check; 0 without one."""
    return int((output("git", "log", "-1", "--format=%ct", "--", f"{PASSED}/{check.name}") or "").strip() or 0)


def run(check: Check, limit_s: float) -> tuple[int, list[str]]:
    """Runs a check and prints its lines; returns its exit status (124 if stopped) and lines. Kills what remains."""
    words = ["timeout", "--kill-after=30", f"{limit_s:.0f}", "bash", "-c", check.line]
    child = subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True,
    )  # fmt: skip
    lines: list[str] = []

    def read() -> None:
        assert child.stdout is not None
        with child.stdout:
            for line in child.stdout:
                print(line, end="", flush=True)
                lines.append(line.rstrip())

    reader = threading.Thread(target=read, daemon=True)
    try:
        reader.start()
        # Without reaping, so that the process id stays reserved. Polled, since a signal just before a blocking call
        # would not interrupt it.
        while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            time.sleep(0.05)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        if ENDED:
            sys.stdout.flush()
            # Not `sys.exit`: Python restores the default handlers while it exits, and a second signal would kill it.
            os._exit(128 + ENDED[0])
    reader.join(10)
    return child.wait(), lines


def outcome(check: Check, status: int, lines: list[str], compiled: Mapping[str, set[str]]) -> tuple[str, str]:
    """The outcome (`ok`, `skipped` or `FAILED (…)`) and, if the status does not show it, why it is no pass."""
    if status == SKIPPED:
        return "skipped", next(filter(None, reversed(lines)), "it does not say why")
    if status != 0:
        return f"FAILED ({status})", ""
    passed = [found[1] for line in lines if (found := re.fullmatch(r"test (\S+).* \.\.\. ok", line))]
    if unmatched := [part for part in check.tests if not any(part in name for name in passed)]:
        return "FAILED", f"no test passed whose name contains `{unmatched[0]}`"
    # Only its output shows that a test was skipped.
    if skipped := [line for line in lines if line.startswith("skipped: ")]:
        return "skipped", skipped[0].removeprefix("skipped: ")
    if unknown := [pattern for pattern in check.compiled if not compiled[pattern]]:
        return "FAILED", f"target/{unknown[0]} names no source: its inputs are not known"
    return "ok", ""


def end(number: int, _: Any) -> None:
    """Exits on the first signal; later signals are ignored, so that they do not disturb the exit."""
    ENDED.append(number)
    for other in ENDING:
        # Not `SIG_IGN`: for a signal that has already arrived, Python would print a warning and drop the exit.
        signal.signal(other, lambda *_: None)
    sys.exit(128 + number)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(check.name for check in CHECKS))
    parser.add_argument("--all", action="store_true", help="every check, due or not, without a cap")
    parser.add_argument("--list", action="store_true", help="say what is due, and why")
    parser.add_argument("--elapsed", type=int, default=0, metavar="S", help="seconds since `.ci/run` began")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="append one line for each check")
    options = parser.parse_args(words)
    unknown = set(options.names) - {check.name for check in CHECKS}
    if unknown:
        parser.error(f"no check is called {sorted(unknown)[0]}; known: {', '.join(check.name for check in CHECKS)}")
    began = time.monotonic() - options.elapsed
    # Also in a background job, for which the shell ignores Ctrl-C; `run` kills the processes of its check.
    for number in ENDING:
        signal.signal(number, end)
    # Variables that would change where or how cargo builds, or which binary is tested.
    for name in ("CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "RUSTFLAGS", "CORETALK_X86_64", "CORETALK_AARCH64", "CORETALK_TEST_BINARY"):
        os.environ.pop(name, None)
    os.environ |= {"CARGO_TERM_COLOR": "never", "CARGO_INCREMENTAL": "0", "NO_COLOR": "1"}

    def summary(line: str) -> None:
        print(line, flush=True)
        if options.summary is not None:
            with options.summary.open("a") as file:
                file.write(f"{line}\n")

    tree, failed = snapshot(), False
    forced = not options.list and (options.all or bool(options.names))
    due: list[tuple[Check, str]] = []
    for check in CHECKS:
        if options.names and check.name not in options.names:
            continue
        why = why_due(check, record_of(check, tree), tree, versions(check))
        if why is None and not forced:
            print(f"{check.name}: nothing that it depends on has changed since it passed")
            continue
        due.append((check, "asked for" if why is None else f"due, as {why}"))
        print(f"{check.name}: {due[-1][1]}")
    if options.list or not due:
        return 0
    loop = loop_s()
    print(f"a CPU-bound loop takes {loop:.3f} s on both CPUs")
    # Oldest pass first; `sorted` is stable, so equal ones stay in the order of CHECKS.
    for check, why in sorted(due, key=lambda it: passed_at(it[0])):
        print(f"\n== {check.title}\n   {check.line}\n   {why}", flush=True)
        record = record_of(check, tree)
        expected, elapsed = expected_s(check, record, loop), time.monotonic() - began
        if not forced and elapsed + expected > CAP_S:
            minutes = (elapsed + expected) / 60
            summary(f"left out            {check.title}: due, and expected to end in minute {minutes:.0f}, after {CAP_S // 60}")
            continue
        missing = next(filter(None, (need.missing() for need in check.needs)), None)
        if missing is not None:
            summary(f"skipped             {check.title}: {missing}")
            continue
        started = time.monotonic()
        # The limit leaves time for the other checks if one hangs.
        status, lines = run(check, 2 * CAP_S if forced else min(STOP_S - elapsed, 3 * expected + 300))
        took = time.monotonic() - started
        compiled = {pattern: compiled_sources(pattern, tree) for pattern in check.compiled}
        how, why_no_pass = outcome(check, status, lines, compiled)
        summary(f"{how:12} {took:4.0f} s  {check.title}" + (f": {why_no_pass}" if why_no_pass else ""))
        failed |= how.startswith("FAILED")
        if how == "ok":
            kept = sealed({
                "definition": check.definition(),
                "seconds": round(took),
                "loop_s": round(loop, 3),
                "tools": versions(check),
                "inputs": inputs(check, tree, set().union(*compiled.values())),
            })
            (ROOT / PASSED).mkdir(exist_ok=True)
            (ROOT / PASSED / check.name).write_text(json.dumps(kept, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
