"""Every check of an outcome can fail: a case that held, and each way in which it would not.

    python3 -B -m unittest discover -s lab
"""

import copy
import json
import random
import struct
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import cases
import outcomes
import power
import systems
import tables
import whole
from cases import all_cases, chosen, lanes, of_names
from disturbances import DISTURBANCES
from guest import Boot
from machines import MACHINES, cpu_set
from probes import PROBES

MACHINE = next(machine for machine in MACHINES if machine.name == "x86-16")
GUEST = {"bare_metal": False, "hypervisor": "tcg", "arch": "x86_64", "clock": {"source": "tsc"}, "throttled": None}


def disturbance(name: str) -> Any:
    return next(it for it in DISTURBANCES if it.name == name)


def document(complete: bool = True, **run: Any) -> dict[str, Any]:
    """A run of three pairs, two of which need CPU 2."""
    cells: list[dict[str, Any]] = [
        {"from": a, "to": b, "median": 9.0, "reason": None, "flags": []} for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    told = {"complete": complete, "departed": [], "budget_ended": False, "segments": 1, **run}
    return {"run": told, "environment": dict(GUEST), "matrices": [{"cells": cells}], "series": [], "comparisons": []}


class Case(unittest.TestCase):
    """Files of a case, made to hold; a test changes one and expects a word of what is wrong."""

    def left(self, **attempts: Any) -> dict[str, str]:
        files: dict[str, str] = {}
        for name, (code, out, err) in attempts.items():
            name = name.replace("_", "-")
            text = out if isinstance(out, str) else json.dumps(out)
            files |= {f"it/{name}/code": str(code), f"it/{name}/out": text, f"it/{name}/err": err}
        return files

    def judged(self, files: dict[str, str], name: str) -> list[str]:
        return outcomes.judge(outcomes.Left(files, "it"), MACHINE, disturbance(name), 3.0).wrong

    def holds(self, files: dict[str, str], name: str) -> None:
        self.assertEqual(self.judged(files, name), [])

    def fails(self, files: dict[str, str], name: str, word: str, **changed: str) -> None:
        changes = {f"it/{path.replace('__', '/').replace('_', '-')}": text for path, text in changed.items()}
        wrong = self.judged({**files, **changes}, name)
        self.assertTrue(any(word in it for it in wrong), f"{word!r} in {wrong}")


LINES = '{"pass":0}\n{"pass":1}\n'


class Undisturbed(Case):
    def setUp(self) -> None:
        self.files = self.left(
            run=(0, LINES, ""), document=(0, document(), ""), kept=(0, LINES, ""), screen=(0, "9 ns", "")
        )

    def test_what_is_as_it_must_be_holds(self) -> None:
        self.holds(self.files, "nothing")

    def test_every_check_can_fail(self) -> None:
        self.fails(self.files, "nothing", "ended with 70", run__code="70")
        self.fails(self.files, "nothing", "in time", run__code="137")
        self.fails(self.files, "nothing", "panicked", run__err="thread panicked")
        self.fails(self.files, "nothing", "bare metal", screen__out="a CPU on bare metal")
        self.fails(self.files, "nothing", "lost", kept__out='{"pass":0}\n')
        self.fails(self.files, "nothing", "complete", document__out=json.dumps(document(complete=False)))
        for key, value, word in (
            ("bare_metal", True, "bare_metal"), ("hypervisor", None, "no hypervisor"), ("arch", "aarch64", "architecture"),
            ("clock", {"source": "cntvct"}, "clock"),
        ):
            changed = document()
            changed["environment"][key] = value
            self.fails(self.files, "nothing", word, document__out=json.dumps(changed))
        silent = document()
        silent["matrices"][0]["cells"][0]["median"] = None
        self.fails(self.files, "nothing", "no reason", document__out=json.dumps(silent))
        self.fails({}, "nothing", "did not get there")

    def test_tails_have_events_in_place_of_passes(self) -> None:
        tails = document()
        tails["series"] = [{"placement": [0, 1], "parameters": {}, "passes": None, "count": 5366488, "reason": None}]
        self.holds({**self.files, "it/document/out": json.dumps(tails)}, "nothing")
        tails["series"][0]["count"] = 0
        self.fails(self.files, "nothing", "no reason", document__out=json.dumps(tails))


class Departed(Case):
    def setUp(self) -> None:
        self.partial = document(complete=False, departed=[{"cpu": 2, "at_s": 1.4, "why": "offline"}])
        for cell in self.partial["matrices"][0]["cells"][1:]:
            cell |= {"median": None, "reason": "CPU 2 was taken away during the run"}
        after = document(segments=2)
        more = LINES + '{"pass":2}\n'
        screen = "! CPU 2 went offline after 1.4 s; once it is back: coretalk --resume 1234"
        self.files = self.left(
            run=(0, LINES, ""), document=(0, self.partial, ""), kept=(0, LINES, ""), screen=(0, screen, ""),
            resumed=(0, after, ""), kept_after=(0, more, ""),
        ) | {"it/begins.at": "11.5", "it/begun": "10.0", "it/begins.code": "0"}

    def test_what_is_as_it_must_be_holds(self) -> None:
        self.holds(self.files, "offline early")

    def test_every_check_can_fail(self) -> None:
        def of(name: str, word: str, **changed: str) -> None:
            self.fails(self.files, name, word, **changed)

        early = "offline early"
        of(early, "none did", document__out=json.dumps(document()))
        of(early, "ended before", **{"begins.code": ""})
        of(early, "ended before", **{"begins.code": "", "run__ended": "10.5"})
        slow = {**self.files, "it/begins.code": "", "it/run/ended": "11.0"}
        self.assertTrue(outcomes.judge(outcomes.Left(slow, "it"), MACHINE, disturbance(early), 3.0).too_slow)
        of(early, "could not be done", **{"begins.code": "1"})
        of("cpuset early", "by offline")
        of(early, "does not name CPU 2", screen__out="9 ns")
        of(early, "interrupted", screen__out="CPU 2 went; coretalk --resume 1; Interrupted after 3 passes")
        of(early, "lost", kept_after__out='{"pass":0}\n')
        of(early, "segments", resumed__out=json.dumps(document()))
        of(early, "complete without", document__out=json.dumps(self.partial | {"run": self.partial["run"] | {"complete": True}}))
        late = copy.deepcopy(self.partial)
        late["run"]["departed"][0]["at_s"] = 29.0
        of(early, "missed after 29.0 s", document__out=json.dumps(late))
        other = copy.deepcopy(self.partial)
        other["matrices"][0]["cells"][0] |= {"median": None, "reason": "the partner stopped answering"}
        of(early, "no value without CPU 2", document__out=json.dumps(other))
        moved = copy.deepcopy(self.partial)
        moved["matrices"][0]["cells"][0]["flags"] = ["migrated"]
        of(early, "flagged `migrated`", document__out=json.dumps(moved))
        self.holds(self.files | {"it/document/out": json.dumps(moved)}, "offline and back")
        still = document(segments=2)
        still["matrices"][0]["cells"][1] |= {"median": None, "reason": "CPU 2 was taken away during the run"}
        of(early, "and still", resumed__out=json.dumps(still))

    def test_work_that_ran_elsewhere_while_a_cpu_was_away_misses_nothing(self) -> None:
        ran = document() | {"comparisons": [{"metric": "wall_s", "placements": [{"flags": [], "runs": [0.3, 1.2]}]}]}
        files = self.files | {"it/document/out": json.dumps(ran), "it/ends.at": "12.5"}
        self.holds(files, "offline and back")
        self.fails(files, "offline and back", "lost", kept_after__out="")
        self.fails(files, "offline and back", "none did", **{"ends.at": "15.0"})
        self.fails(files, "offline early", "none did")

    def test_a_refusal_names_the_cpu_and_what_it_is(self) -> None:
        files = self.left(run=(3, "", "coretalk: CPU 2 is offline: enable it"), document=(2, "", "no run"))
        self.holds(files, "offline before")
        self.fails(files, "offline before", "no sentence", run__err="coretalk: CPU 2 does not exist")
        self.fails(files, "offline before", "ended with 2", run__code="2")
        self.fails(files, "offline before", "had been refused", document__code="0")
        self.fails(files, "cpuset before", "cpuset")
        self.holds(files | {"it/run/err": "coretalk: far lists CPU 2, which the cpuset does not contain"}, "cpuset before")
        self.fails(files, "cpuset before", "no sentence", run__err="coretalk: CPU 21 is not in the cpuset")


class Stopped(Case):
    def test_a_quota_is_told(self) -> None:
        told = document()
        told["environment"]["throttled"] = {"times": 9, "seconds": 0.4, "from_s": 1.5}
        told["matrices"][0]["cells"][0]["flags"] = ["quota"]
        screen = "! the CPU quota stopped this process 9 times"
        files = self.left(run=(0, LINES, ""), document=(0, told, ""), kept=(0, LINES, ""), screen=(0, screen, ""))
        files |= {"it/begins.code": "0"}
        self.holds(files, "quota early")
        self.fails(files, "quota early", "the run says", document__out=json.dumps(document()))
        self.fails(files, "quota early", "screen", screen__out="9 ns")
        told["matrices"][0]["cells"][0]["flags"] = []
        self.fails(files, "quota early", "flagged", document__out=json.dumps(told))
        for cell in told["matrices"][0]["cells"]:
            cell |= {"median": None, "reason": "the run ended before this pair was measured"}
        self.holds(files | {"it/document/out": json.dumps(told)}, "quota early")
        told["comparisons"] = [{"placements": [{"flags": [], "runs": []}]}]
        self.holds(files | {"it/document/out": json.dumps(told)}, "quota early")
        told["comparisons"][0]["placements"][0]["runs"] = [9.0]
        self.fails(files, "quota early", "flagged", document__out=json.dumps(told))

    def test_a_full_disk_loses_nothing(self) -> None:
        files = self.left(
            run=(6, LINES, "coretalk: failed to save: the disk is full"), document=(0, document(complete=False), ""),
            kept=(0, LINES, ""), screen=(0, "", ""), resumed=(0, document(), ""), kept_after=(0, LINES, ""),
        ) | {"it/begins.code": "1"}
        self.holds(files, "full disk early")
        self.fails(files, "full disk early", "ended with 0", run__code="0")
        self.fails(files, "full disk early", "does not name", run__err="coretalk: error 28")
        self.fails(files, "full disk early", "lost", kept__out="")
        self.fails(files, "full disk early", "full disk", document__out=json.dumps(document()))
        fitted = files | {"it/run/code": "0", "it/document/out": json.dumps(document())}
        self.holds(fitted, "full disk early")
        self.fails(fitted, "full disk early", "lost", kept__out="")
        self.fails(files, "full disk early", "not complete", resumed__out=json.dumps(document(complete=False)))


class Power(Case):
    def test_what_was_flushed_stays_and_the_rest_by_chance(self) -> None:
        def entry(sector: int, data: bytes, flags: int = 0) -> bytes:
            return struct.pack("<4Q", sector, len(data) // 512, flags, 0).ljust(512, b"\0") + data

        a, b = b"a" * 512, b"b" * 512
        writes = [entry(0, a), entry(1, a), entry(0, b"", power.FLUSH)] + [entry(sector, b) for sector in range(2, 42)]
        with tempfile.TemporaryDirectory() as folder:
            kept, log = Path(folder) / "kept", Path(folder) / "log"
            kept.write_bytes(bytes(512 * 42))
            log.write_bytes(bytes(512) + b"".join(writes) + bytes(1024))
            power.lose(kept, log, random.Random(1))
            disk = kept.read_bytes()
        self.assertEqual(disk[:1024], a + a)
        self.assertTrue(5 < disk.count(b) < 35)

    def cut(self, *boots: Boot) -> outcomes.Outcome:
        """A case whose boots were these; without mkfs, and without a log of writes, so that nothing is lost."""
        case = next(it for it in all_cases([MACHINE]) if it.disturbance.kind == "power")
        with mock.patch.object(power, "ext4", lambda image, _: image.touch()):
            return power.cut(mock.Mock(boot=mock.Mock(side_effect=boots)), case, 2, lambda boot: None)

    def test_a_run_that_ended_first_is_judged_as_far_as_it_was_cut(self) -> None:
        first, second = (power.LINE + line for line in LINES.splitlines())
        cut = Boot([first], {}, 1.0, False)
        files = self.left(kept=(0, LINES.splitlines()[0], ""), document=(0, document(), ""), kept_after=(0, LINES, ""))
        files = {path.replace("it/", "power/"): text for path, text in files.items()}
        ended = Boot([second, "@@ 9 ended with 0"], files, 1.0, True)
        self.assertTrue(self.cut(ended).too_slow)
        refused = self.cut(Boot(["@@ 9 ended with 3 no CPU"], {}, 1.0, True))
        self.assertEqual((refused.too_slow, "ended with 3" in " ".join(refused.wrong)), (False, True))
        for boots in ((cut, ended), (cut, Boot(), ended)):
            outcome = self.cut(*boots)
            self.assertEqual((outcome.wrong, outcome.too_slow), ([], False))
            self.assertIn(f"cut {len(boots) - 1} times", outcome.seen)
        # Where no more was to be measured, the lines of before are said again.
        repeated = Boot([first, second, "@@ 9 ended with 0"], files, 1.0, True)
        self.assertEqual(self.cut(cut, repeated).wrong, [])
        ended.files["power/kept-after/out"] = ""
        self.assertIn("lost by resuming", " ".join(self.cut(cut, ended).wrong))
        self.assertIn("did not end by itself", " ".join(self.cut(cut, cut, cut).wrong))


class Whole(unittest.TestCase):
    def test_every_level_is_compared(self) -> None:
        def text(groups: set[frozenset[int]]) -> list[str]:
            return [",".join(map(str, sorted(group))) for group in groups]

        for machine in MACHINES:
            levels = [{"level": level, "groups": text(groups)} for level, groups in machine.levels().items()]
            nodes = [{"node": node} for node in machine.memory_nodes()]
            kinds = [{"cpus": cpus} for cpus, _ in machine.kinds]
            reported = {"levels": levels, "same": [], "memory_nodes": nodes, "classes": kinds}
            seen = {"topology": {"cpus": list(range(machine.cpus)), "reported": reported}}
            objects = "".join(f'<object type="NUMANode" cpuset="0x{node + 1:x}"/>' for node in range(max(1, len(machine.nodes))))
            screen = " ".join(f"Node {node} has memory and no CPUs of its own" for node in machine.memory_nodes())
            files = {"it/doctor/out": json.dumps(seen), "it/lstopo/out": f"<topology>{objects}</topology>", "it/topology/out": screen}
            left = outcomes.Left(files, "it")
            self.assertEqual(list(whole.built_as_asked(left, machine)), [], machine.name)
            for level in levels:
                groups, level["groups"] = level["groups"], ["0"]
                files["it/doctor/out"] = json.dumps(seen)
                wrong = list(whole.built_as_asked(left, machine))
                self.assertTrue(any(it.startswith(f"{level['level']}:") for it in wrong), f"{machine.name}: {wrong}")
                level["groups"] = groups
            files["it/doctor/out"] = json.dumps(seen)
            files["it/lstopo/out"] = f'<topology>{objects}<object type="Core" cpuset="0x1"/></topology>'
            self.assertTrue(any("hwloc" in it for it in whole.built_as_asked(left, machine)))
            files["it/topology/out"] = "Not reported: packages."
            self.assertTrue(any("is not reported" in it for it in whole.built_as_asked(left, machine)))

    def test_masks_and_lists_are_read(self) -> None:
        self.assertEqual(cpu_set("0-2,8"), {0, 1, 2, 8})
        levels, nodes = whole.seen_by_hwloc('<t><object type="Core" cpuset="0x00000001,,0x00000003"/></t>')
        self.assertEqual((levels, nodes), ({"core": {frozenset({0, 1, 64})}}, 0))


class Systems(Case):
    """What must come of each system: files that hold, and each way in which they would not."""

    HOME = document()
    for cell in HOME["matrices"][0]["cells"]:
        cell["flags"] = ["freq", "home"]
    KEPT = document(complete=False, departed=[{"cpu": 3, "at_s": 5.0, "why": "not-run"}])
    KEPT["matrices"][0]["cells"].append({"from": 0, "to": 3, "median": None, "reason": "pinned to CPU 3", "flags": []})
    REFUSED = "coretalk: failed to {}; simulated machines work everywhere"

    def doctor(self, line: str) -> str:
        return "\n".join([line, *("   ok           load            nothing" for _ in range(12))])

    def files_of(self, name: str) -> dict[str, str]:
        rdtscp = (3, "", self.REFUSED.format("use the clock: no RDTSCP"))
        denied = (3, "", self.REFUSED.format("pin threads: Operation not permitted"))
        no_clock = self.doctor(" ✗ fail         clock-source    no RDTSCP")
        holds: dict[str, Any] = {
            "full-node": {"run": (0, self.HOME, ""), "place": (0, "", "")},
            "no-memory": {
                "doctor": (0, self.doctor(" ! warn         node-memory     NUMA node 1 (flag `home`)"), ""),
                "run": (0, self.HOME, ""), "topology": (0, "4 CPUs, 2 nodes", ""), "advise": (0, "", ""), "plan": (0, "", ""),
            },
            "kept-cpu": {"doctor": (0, "", ""), "elsewhere": (0, document(), ""), "there": (0, self.KEPT, "")},
            "no-pinning": {
                "doctor": (3, self.doctor(" ✗ fail         affinity        Operation not permitted"), denied[2]),
                "run": denied, "topology": (0, "4 CPUs", ""),
            },
            "few-threads": {
                f"wait-{number}": (0, "", "") if number > 5 else (3, "", "coretalk: the system refused: raise pids.max")
                for number in systems.PIDS
            },
        }
        for model in ("kvm64", "qemu64"):
            holds[f"no-rdtscp-{model}"] = {
                "doctor": (3, no_clock, rdtscp[2]), "run": rdtscp, "topology": (0, "4 CPUs", ""), "simulated": (0, "", ""),
            }
        more = {"full-node": {"other.code": "0", "free": "38", "dmesg": ""}, "kept-cpu": {"kept.code": "0"}}.get(name, {})
        files = self.left(**holds[name]) | {f"it/{path}": text for path, text in more.items()}
        return {path.replace("it/", f"{systems.CASE}/"): text for path, text in files.items()}

    def test_every_check_can_fail(self) -> None:
        away = copy.deepcopy(self.KEPT) | {"run": {"departed": []}}
        silent = copy.deepcopy(self.KEPT)
        silent["matrices"][0]["cells"][0] |= {"median": None, "reason": "the thread on CPU 0 stopped responding"}
        ways: dict[str, list[tuple[str, str, str]]] = {
            "full-node": [
                ("run/out", json.dumps(document()), "flags are"), ("run/code", "137", "in time"), ("other.code", "1", "not there"),
                ("dmesg", "Out of memory: Killed process 7 (dd)", "the kernel killed"), ("free", "500", "not filled"),
            ],
            "no-memory": [
                ("run/code", "3", "ended with 3"), ("doctor/out", self.doctor(" ok node-memory all 2"), "node-memory"),
                ("topology/out", "4 CPUs", "both nodes"), ("advise/code", "3", "ended with 3"),
            ],
            "no-rdtscp-kvm64": [
                ("run/code", "132", "signal 4"), ("doctor/code", "132", "signal 4"), ("topology/code", "3", "ended with 3"),
                ("run/err", "illegal", "is refused as"), ("doctor/out", "", "the doctor says"),
            ],
            "kept-cpu": [
                ("elsewhere/code", "137", "in time"), ("there/out", json.dumps(away), "departed are"), ("kept.code", "1", "not there"),
                ("there/out", json.dumps(silent), "has no value"), ("elsewhere/out", json.dumps(self.KEPT), "departed are"),
            ],
            "no-pinning": [("doctor/out", "", "the doctor says"), ("doctor/err", "coretalk: no", "is refused as"), ("run/code", "0", "ended with 0")],
            "few-threads": [
                ("wait-4/err", "a thread could not be pinned to CPU 1 (errno 11)", "a refused pin"), ("wait-7/err", "coretalk: the system refused: raise pids.max", "too low"),
                ("wait-5/err", "coretalk: no", "not named"), ("wait-3/code", "101", "ended with 101"),
            ],
        }
        for system in systems.SYSTEMS:
            files = self.files_of(system.name)
            self.assertEqual(system.judge(files).wrong, [], system.name)
            for path, text, word in ways.get(system.name, []):
                wrong = system.judge(files | {f"{systems.CASE}/{path}": text}).wrong
                self.assertTrue(any(word in it for it in wrong), f"{system.name}, {path}: {word!r} in {wrong}")


class Tables(unittest.TestCase):
    def test_what_held_at_the_second_try_alone_is_told_and_what_did_not_is_wrong(self) -> None:
        machine, probe = MACHINE, PROBES[0]
        one, other = (cases.Case(machine, probe, disturbance(name)) for name in ("nothing", "quota early"))
        wrong = [(case, outcomes.Outcome(["lost"])) for case in (one, other)]
        first = tables.Results({machine.name: outcomes.Outcome(["not up"])}, wrong)
        held = [(one, outcomes.Outcome()), (other, outcomes.Outcome(["lost again"]))]
        second = tables.Results({machine.name: outcomes.Outcome()}, held)
        both = tables.tried_again(first, second)
        self.assertEqual(both.wrong, [f"{machine.name}, {probe.name}, quota early: lost again"])
        self.assertEqual(both.once, [f"{machine.name}, as a whole: not up", f"{machine.name}, {probe.name}, nothing: lost"])
        text = tables.text(both, [machine])
        self.assertIn("Held only when it was run again", text)
        self.assertIn("quota early: lost again", text)
        # A later run of it counts: it held at once, or not.
        self.assertEqual(both.held_at_once, [])
        later = tables.added(both, tables.Results({}, [(one, outcomes.Outcome())]))
        self.assertEqual((later.held_at_once, later.once), ([one], [f"{machine.name}, as a whole: not up"]))


    def test_a_machine_that_was_left_out_is_no_pass(self) -> None:
        held, wrong = outcomes.Outcome(), outcomes.Outcome(["it"])
        for results, code in [
            (tables.Results({"x86-16": held}), 0),
            (tables.Results({"x86-16": held}, skipped={"arm-16": "qemu is missing"}), 3),
            (tables.Results({"x86-16": wrong}, skipped={"arm-16": "qemu is missing"}), 1),
            (tables.Results(), 3),
        ]:
            self.assertEqual(results.code, code)

    def test_a_machine_whose_cases_were_all_late_is_no_pass(self) -> None:
        held = outcomes.Outcome()
        one, other = (cases.Case(MACHINE, PROBES[0], disturbance(name)) for name in ("nothing", "quota early"))
        for results, untested, code in [
            (tables.Results({MACHINE.name: held}, late=[one, other]), [MACHINE.name], 3),
            (tables.Results({}, [(one, held)], late=[other]), [], 0),
            (tables.Results({}, [(one, outcomes.Outcome(["it"]))], late=[other]), [], 1),
        ]:
            self.assertEqual((list(results.untested), results.code), (untested, code))
        # What ran later, beside what was kept, is known.
        later = tables.added(tables.Results(late=[one]), tables.Results({}, [(one, held)]))
        self.assertEqual((later.untested, later.code), ({}, 0))


class Sentences(unittest.TestCase):
    def test_what_is_looked_for_on_screens_is_written_there(self) -> None:
        # A change of the wording of screens does not make the laboratory due.
        root = Path(outcomes.__file__).parent.parent
        ours = "".join(Path(module.__file__).read_text() for module in (outcomes, whole))
        theirs = "".join(file.read_text() for file in root.glob("crates/*/src/**/*.rs"))
        for sentence in (
            "coretalk --resume", "Interrupted", "the CPU quota stopped this process", "the disk is full", "is offline",
            "has memory and no CPUs of its own", "Not reported: ",
        ):  # fmt: skip
            self.assertIn(sentence, ours)
            self.assertIn(sentence, theirs)


class Choice(unittest.TestCase):
    def test_every_pair_stands_together_once_where_there_is_time(self) -> None:
        every = all_cases(of_names([]))
        for number, minutes in ((1, 10), (2, 6), (2, 300)):
            choice = chosen(every, lanes(of_names([]), number), 60 * minutes)
            self.assertLess(len(choice), len(every))
        pairs = {pair for case in every for pair in case.pairs}
        self.assertEqual({pair for case in choice for pair in case.pairs}, pairs)
        # Beside what was done only what failed, and what is new.
        failed, *done = choice[:-5]
        rest = chosen(every, lanes(of_names([]), 2), 60 * 300, done, [failed])
        self.assertEqual(rest[0], failed)
        self.assertTrue(len(rest) < 10 and not set(rest) & set(done))
        self.assertEqual({pair for case in done + rest for pair in case.pairs}, pairs)

    def test_machines_of_two_lanes_take_about_as_long(self) -> None:
        machines = of_names([])
        two = lanes(machines, 2)
        self.assertEqual(sorted(it.name for lane in two for it in lane), sorted(it.name for it in machines))
        first, second = (sum(it.seconds for it in lane) for lane in two)
        self.assertLess(abs(first - second), max(it.seconds for it in machines))


if __name__ == "__main__":
    unittest.main()
