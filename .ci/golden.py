#!/usr/bin/env python3
"""The golden set: what coretalk prints and writes of simulated runs, compared with committed digests or another binary.

    .ci/golden.py BINARY                  compares with .ci/golden.json; exit code 1 where an output differs
    .ci/golden.py BINARY --against OTHER  compares two binaries, and shows the lines that differ
    .ci/golden.py BINARY --record         writes .ci/golden.json anew
    .ci/golden.py BINARY --only NAME …    these runs alone

A change that intends other outputs records them anew, and its description lists the outputs that differ.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIGESTS = ROOT / ".ci/golden.json"
VERSIONS = ROOT / "crates/coretalk/src/store/tests/versions"
SAMPLES = ROOT / "crates/model/tests/integration/samples"

SMT, CHIPLETS, GUEST = "chiplet-16-smt", "chiplet-16", "noisy-vm"


def on(machine: str, line: str, seed: int = 1) -> str:
    return f"{line} --machine sim:{machine} --seed {seed}"


# Runs by name: the command that measures, and commands that read what it saved as `it`.
RUNS: dict[str, tuple[str, ...]] = {
    "quick-look": (on(CHIPLETS, "--cpus 0-3,8 --budget 10s"),),
    "quick-look-smt": (on(SMT, "--cpus 0,1,8,16,17 --budget 10s"),),
    "latency": (on(SMT, "latency --cpus 0-3,8,16 --budget 5s"), "topology --from it", "advise -n 4 --from it"),
    "latency-protocols": (on(SMT, "latency --protocol cas,store,msg,xfer,one-way --cpus 0-2,8,16 --budget 5s"),),
    "latency-pairs": (on(SMT, "latency --pairs 0-1,0-8,0-16 --budget 2s"),),
    "latency-hybrid": (on("hybrid", "latency --cpus 0-3,12-15 --budget 4s"), "topology --from it"),
    "latency-mesh": (on("mesh-64", "latency --cpus 0-11 --budget 4s"),),
    "latency-guest": (on(GUEST, "latency --budget 5s"), "topology --from it"),
    "latency-coarse": (on("arm-coarse-clock", "latency --protocol one-way,msg --cpus 0-2,4 --budget 4s"),),
    "latency-two": (on("laptop-smt", "latency --cpus 0,4 --budget 2s"),),
    "under-load": (on(CHIPLETS, "latency --pairs 0-1,0-8 --load none,stream --gap 1us,1ms --budget 4s"),),
    "wait": (on(SMT, "wait --cpus 0,1,8,16 --budget 3s"),),
    "wait-alternate": (on(CHIPLETS, "wait --cpus 0,1 --strategy pause --alternate --budget 3s"),),
    "wake": (on(SMT, "wake --cpus 0,1,8,16 --budget 3s"),),
    "wake-unpinned": (on(GUEST, "wake --unpinned --primitive semaphore,ttas --gap 20us --budget 3s"),),
    "queue": (on(SMT, "queue --cpus 0,1,8,16 --budget 4s"),),
    "queue-capacities": (on(CHIPLETS, "queue --cpus 0,1,8 --queue spsc,mutex --capacity 1,10,1000 --budget 4s"),),
    "queue-rates": (on(CHIPLETS, "queue --cpus 0,1 --queue spsc --rate-sweep --budget 6s"),),
    "queue-sides": (on(CHIPLETS, "queue --cpus 0-5 --queue mutex --producers 1,2 --consumers 1,2 --budget 4s"),),
    "queue-batches": (on(CHIPLETS, "queue --cpus 0,1 --queue spsc --batch 1,8 --budget 4s"),),
    "place": (on(SMT, "place --workload ring,integer --threads 4 --budget 300s"),),
    "place-own": (on(SMT, "place --workload ring --threads 2 --placement one=0,1 --placement two=0,8 --budget 60s"),),
    "spawn": (on(CHIPLETS, "spawn --cpus 0,1,8 --budget 3s"),),
    "contend": (on(SMT, "contend --cpus 0,1,8,16 --budget 3s"),),
    "sharing": (on(CHIPLETS, "sharing --cpus 0,1,8 --budget 3s"),),
    "broadcast": (on(CHIPLETS, "broadcast --budget 3s"),),
    "jitter": (on(GUEST, "jitter"),),
    "suite": (on(SMT, "suite --cpus 0,1,8,16 --budget 6s"),),
    "suite-guest": (on(GUEST, "suite --budget 6s", 3),),
    "runtimes": (on(CHIPLETS, "contend --cpus 0,1 --method fetch-add,cpp:mutex --budget 2s"),),
    "ended-by-budget": (on(SMT, "latency --budget 100ms"),),
    "resumed": (on(SMT, "latency --budget 100ms"), "latency --resume it --budget 5s -q", "runs show it"),
    "lost-cpu": ("latency --machine sim:lost.toml --seed 3 --budget 4s", "latency --resume it -q", "runs show it"),
    "lost-cpu-trials": ("wait --pairs all --strategy busy,futex --machine sim:lost.toml --seed 3 --budget 4s",),
    "interrupted": ("queue --machine sim:stops.toml --seed 1 --cpus 0,1,8 --budget 6s",),
    "compared": (
        on(SMT, "latency --cpus 0-3,8 --budget 3s"),
        on(SMT, "latency --cpus 0-3,8 --budget 3s --name other -q", 2),
        "compare it other",
        "compare it other --format json",
        "report it other -o several.html",
    ),
    "wrong": (
        on(SMT, "latency --cpus 99"),
        "latency --machine sim:nowhere",
        "queue --capacity 0",
        "queue --machine sim:chiplet-16 --queue nothing",
        "export absent --format json",
        "compare absent other",
        "place --machine sim:chiplet-16 --workload nothing",
    ),
    "plan": tuple(on(SMT, f"plan {what} --format {form}") for what in ("latency", "queue", "suite") for form in ("text", "json")),
    "imported": tuple(
        f"{word} ./{name}"
        for name in ("core-to-core.csv", "c2clat.txt", "inter-processor.json", "long.csv")
        for word in ("import", "import --format json", "topology --from", "lint")
    ),
    "earlier-files": tuple(
        f"{word} ./{version}.sqlite{end}"
        for version in (1, 2, 3)
        for word, end in (("runs show", ""), ("export", " --format json"), ("export", " --format csv"))
    ),
}
# Machines that lose a CPU while they are measured, and on which somebody presses Ctrl-C.
SCENARIOS = {
    "lost.toml": "based_on = 'laptop-smt'\n[failures]\ndepartures = [{ cpu = 3, at_ms = 300 }]\n",
    "stops.toml": "based_on = 'chiplet-16'\n[failures]\nstop_at_ms = 900\n",
}
# What each run that was saved as `it` is read by.
READ = {
    "screen-80": ("runs show it", 80),
    "screen-120": ("runs show it", 120),
    "json": ("export it --format json", 80),
    "csv": ("export it --format csv", 80),
    "markdown": ("export it --format markdown", 80),
    "page": ("report it -o it.html", 80),
    "picture": ("report it -o it.svg", 80),
}
# What every run has of its own: its id, also as the screen shortens it, its time, and what a page says of its scripts.
MASKS = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r'((?:--from|--resume|report|export|show|run|saved as|\bit:?|other:?)\s+|"name":")[0-9a-f]{4,5}\b'), r"\1ID"),
    (re.compile(r"\b20\d\d-\d\d-\d\d(?:[T ]\d\d\\?:\d\d(?:\\?:\d\d(?:\.\d+)?)?(?:Z| UTC)?)?"), "TIME"),
    (re.compile(r"'sha256-[^']+'"), "SCRIPT"),
)

Outputs = dict[str, str]


def masked(text: str, folder: Path) -> str:
    text = text.replace(str(folder), "FOLDER")
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return text


def called(binary: Path, folder: Path, words: list[str], columns: int = 80) -> str:
    """Standard output, standard error and exit code."""
    environment = {
        "PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1",
        "COLUMNS": str(columns), "CORETALK_STORE": str(folder / "store"),
    }  # fmt: skip
    done = subprocess.run(
        [binary, *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return f"{done.stdout}\n-- {done.returncode}\n{done.stderr}"


def rows(path: Path) -> str:
    with sqlite3.connect(path) as file:
        return "\n".join(file.iterdump())


def outputs(binary: Path, name: str) -> Outputs:
    """Everything that a run and its readers print and write, by name."""
    with tempfile.TemporaryDirectory(prefix="golden-") as place:
        folder = Path(place)
        for scenario, text in SCENARIOS.items():
            (folder / scenario).write_text(text)
        # Copies: their names are short wherever the project lies, and reading a file of an earlier schema brings it up to date.
        for sample in (*VERSIONS.glob("*.sqlite"), *SAMPLES.iterdir()):
            shutil.copy(sample, folder)
        made: Outputs = {}
        for number, line in enumerate(RUNS[name]):
            measures = number == 0 and "--machine" in line and not line.startswith("plan") and name != "wrong"
            words = [*line.split(), *(["--name", "it"] if measures else [])]
            made[f"{number} {line.split()[0]}"] = called(binary, folder, words)
        saved = sorted((folder / "store").glob("*.coretalk"))
        for output, (line, columns) in READ.items() if saved else ():
            made[output] = called(binary, folder, line.split(), columns)
        for number, path in enumerate(saved):
            made[f"rows {number}"] = rows(path)
        for path in sorted({*folder.glob("*.html"), *folder.glob("*.svg")}):
            made[path.name] = path.read_text()
        return {output: masked(text, folder) for output, text in made.items()}


def all_of(binary: Path, names: list[str]) -> dict[str, Outputs]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(names, pool.map(lambda name: outputs(binary, name), names), strict=True))


def digests(of: dict[str, Outputs]) -> dict[str, dict[str, str]]:
    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    return {name: {output: digest(text) for output, text in made.items()} for name, made in of.items()}


def differing(one: dict[str, dict[str, str]], other: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    keys = {(name, output) for side in (one, other) for name, made in side.items() for output in made}
    return sorted(key for key in keys if one.get(key[0], {}).get(key[1]) != other.get(key[0], {}).get(key[1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--against", type=Path, metavar="OTHER")
    way.add_argument("--record", action="store_true")
    parser.add_argument("--only", nargs="+", choices=RUNS, metavar="NAME")
    options = parser.parse_args()
    for binary in filter(None, (options.binary, options.against)):
        if not shutil.which(binary):
            parser.error(f"{binary} is no program")
    names = options.only or list(RUNS)
    made = all_of(options.binary.resolve(), names)
    if options.against:
        other = all_of(options.against.resolve(), names)
        differ = differing(made, other)
        for name, output in differ:
            before, after = (side.get(name, {}).get(output, "").splitlines() for side in (other, made))
            print(f"== {name}, {output}")
            lines = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
            print("\n".join(line[:300] for line in lines[:20]), f"… {len(lines) - 20} more" if len(lines) > 20 else "")
    else:
        known = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
        differ = differing(digests(made), {name: known[name] for name in names if name in known})
        print("\n".join(f"{name}: {output} differs" for name, output in differ))
        if options.record:
            DIGESTS.write_text(json.dumps({**known, **digests(made)}, indent=1, sort_keys=True) + "\n")
    count = sum(map(len, made.values()))
    print(f"{count - len(differ)} of {count} outputs of {len(names)} runs are the same")
    return 0 if options.record or not differ else 1


if __name__ == "__main__":
    sys.exit(main())
