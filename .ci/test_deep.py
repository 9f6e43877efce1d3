"""What makes a deep check due, in which order due checks run, and which are left out."""

import contextlib
import io
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import deep

SNAPSHOT = deep.snapshot
TREE = SNAPSHOT()
SCREEN = "crates/report/src/queue/table.rs"


def passed(check: deep.Check) -> dict[str, Any]:
    """A record of a check that has just passed, with the sources that its committed record names."""
    committed = deep.record_of(check, TREE)
    sources = committed["inputs"] if committed else ()
    return {
        "definition": check.definition(), "tools": {}, "inputs": deep.inputs(check, TREE, sources), "seconds": 1, "loop_s": 1,
    }  # fmt: skip


def why(check: deep.Check, path: str, content: bytes) -> str | None:
    return deep.why_due(check, passed(check), {**TREE, path: content}, {})


class Inputs(unittest.TestCase):
    def test_each_changed_input_makes_its_check_due(self) -> None:
        for check in deep.CHECKS:
            record = passed(check)
            self.assertIsNone(deep.why_due(check, record, TREE, {}), check.name)
            self.assertIn("Cargo.lock", record["inputs"])
            for path in record["inputs"]:
                changed = {**TREE, path: TREE[path] + b"\nadded = 1;"}
                self.assertEqual(deep.why_due(check, record, changed, {}), f"{path} has changed", check.name)
                removed = {other: content for other, content in TREE.items() if other != path}
                self.assertIsNotNone(deep.why_due(check, record, removed, {}), f"{check.name} without {path}")

    def test_every_check_has_a_record_that_names_what_it_compiles(self) -> None:
        names = {path.removeprefix(f"{deep.PASSED}/") for path in TREE if path.startswith(f"{deep.PASSED}/")}
        self.assertEqual(names, {check.name for check in deep.CHECKS})
        for check in deep.CHECKS:
            has_sources = any(path.endswith("/src/lib.rs") for path in deep.record_of(check, TREE)["inputs"])
            self.assertEqual(has_sources, bool(check.compiled), check.name)

    def test_the_committed_records_name_what_each_check_depends_on(self) -> None:
        for name, paths in {
            "laboratory": ("lab/init", "lab/outcomes.py", "dist/build", "crates/coretalk/src/store/schema.rs", "crates/measure/src/host/worker.rs"),
            "packages": ("dist/deb", "dist/wheel", "python/coretalk/__init__.py", "crates/coretalk/build.rs"),
            "reproducible": ("dist/build", "Cargo.lock"),
            "loom": ("crates/measure/src/handshakes.rs", "crates/measure/src/counters/mcs.rs"),
            "miri": ("crates/measure/src/stop.rs",),
            "thread-sanitizer": ("crates/measure/src/host/worker.rs",),
            "coverage": ("crates/model/tests/coverage.rs", "crates/model/src/stats.rs"),
            "inference": ("crates/model/tests/inference/published.rs", "crates/model/src/infer.rs"),
            "simulated": ("crates/measure/tests/simulated/acceptance.rs", "crates/measure/src/sim.rs"),
            "fuzz": ("crates/coretalk/tests/fuzz/runs.rs", "crates/coretalk/src/store/reader.rs", "crates/model/src/formats/json.rs"),
            "aarch64": (".ci/emulated", "crates/measure/src/counter.rs"),
            "types-macos": (".ci/macos", ".ci/no-c", "crates/coretalk/src/exit.rs"),
            "types-oldest": (".ci/no-c", "crates/coretalk/src/main.rs"),
        }.items():
            check = next(check for check in deep.CHECKS if check.name == name)
            record = deep.record_of(check, TREE)
            self.assertIsNotNone(record, name)
            for path in paths:
                self.assertIn(path, TREE)
                changed = {**TREE, path: TREE[path] + b"\nadded = 1;"}
                self.assertIsNotNone(deep.why_due(check, record, changed, {}), f"{name}: {path}")
                self.assertIn(path, record["inputs"], name)

    def test_the_minutes_in_the_table_of_contributors_are_those_of_the_records(self) -> None:
        table = TREE["CONTRIBUTING.md"].decode()
        recorded = []
        for check in deep.CHECKS:
            row = re.search(rf"^\| due \| `{check.name}`: .* \| <?(\d+)(?: to (\d+))? \|$", table, re.M)
            assert row is not None, check.name
            # On a machine where the loop takes 0.11 s.
            recorded.append(deep.expected_s(check._replace(build_s=0), deep.record_of(check, TREE), 0.11) / 60)
            # A recorded run may have found much already built, and then took less than the stated time.
            self.assertLess(recorded[-1], 1 + 1.5 * int(row[2] or row[1]), check.name)
        (core, _), together = re.findall(r"together \| (\d+)(?: to (\d+))? \|", table)
        # Artifacts that several checks need are built once in a run, by the first of them.
        shared = max(check.build_s for check in deep.CHECKS) * 0.11 / 0.1 / 60
        for stated, minutes in zip(together, (sum(recorded), sum(recorded) + shared), strict=True):
            self.assertLess(minutes, 1.25 * int(stated))
            # The worst case of `.ci/run`.
            self.assertLessEqual(int(core) + max(int(stated), minutes), 65)

    def test_a_damaged_record_is_none(self) -> None:
        for check in deep.CHECKS:
            for content in (b"", b"{}", b"[]", b"null", b"<<<<<<< ours\n{}", b'{"definition": "x"}'):
                self.assertIsNone(deep.record_of(check, {f"{deep.PASSED}/{check.name}": content}))
            # Like the result of a merge that takes inputs of one side and the digest of the other.
            record = deep.record_of(check, TREE)
            merged = {**record, "inputs": {**record["inputs"], "Cargo.lock": "0"}}
            self.assertIsNone(deep.record_of(check, {f"{deep.PASSED}/{check.name}": json.dumps(merged).encode()}))

    def test_a_new_file_in_a_declared_folder_makes_a_check_due(self) -> None:
        for check in deep.CHECKS:
            self.assertIsNotNone(why(check, ".cargo/new.toml", b""), check.name)

    def test_a_tool_or_a_command_that_changed_makes_a_check_due(self) -> None:
        for check in deep.CHECKS:
            record = passed(check)
            for before in ("later", "an", "now"):
                due = deep.why_due(check, {**record, "tools": {"tool": before}}, TREE, {"tool": "now"})
                self.assertEqual(due, None if before == "now" else f"tool says 'now', not '{before}'")
            self.assertIn("now", deep.why_due(check, record, TREE, {"tool": "now"}) or "")
            self.assertIsNotNone(deep.why_due(check, None, TREE, {}))
            for other in (
                {"command": "true"}, {"tests": ("other",)}, {"compiled": ("other",)}, {"files": deep.MANIFESTS[1:]},
                {"tools": ("other",)}, {"needs": (deep.program("other"),)},
            ):  # fmt: skip
                why = deep.why_due(check._replace(**other), record, TREE, {})
                self.assertEqual(why, "its definition has changed", (check.name, other))
            # Additions to its command count, too.
            with mock.patch.object(deep.Check, "line", "other"):
                self.assertEqual(deep.why_due(check, record, TREE, {}), "its definition has changed", check.name)
            for other in ({"title": "other"}, {"build_s": 1}):
                self.assertIsNone(deep.why_due(check._replace(**other), record, TREE, {}), (check.name, other))

    def test_what_a_check_reads_and_packs_is_an_input(self) -> None:
        for name, path in [("packages", "crates/coretalk/src/args/options.rs"), ("laboratory", "crates/report/src/saved.rs")]:
            check = next(check for check in deep.CHECKS if check.name == name)
            self.assertIn(path, deep.inputs(check, TREE, {path} if check.compiled else ()))

    def test_every_declared_input_exists(self) -> None:
        for check in deep.CHECKS:
            for place in check.files:
                self.assertTrue(any(deep.below(path, (place,)) for path in TREE), (check.name, place))

    def test_no_document_is_an_input(self) -> None:
        found = deep.inputs(deep.Check("x", "x", "x", files=("docs", "lab", "README.md")), TREE, {"CHANGELOG.md"})
        self.assertIn("lab/run", found)
        self.assertEqual([path for path in found if path.endswith(".md")], [])

    def test_a_version_is_the_first_line(self) -> None:
        self.assertEqual(deep.versions(deep.Check("x", "x", "x", tools=("printf one\\ntwo",))), {"printf one\\ntwo": "one"})

    def test_the_expected_time_is_that_of_this_machine(self) -> None:
        check = deep.Check("x", "x", "x", build_s=10)
        self.assertAlmostEqual(deep.expected_s(check, {"seconds": 20, "loop_s": 0.1}, 0.2), 60)
        self.assertEqual(deep.expected_s(check, None, 0.2), deep.UNKNOWN_S)

    def test_every_check_of_tests_says_which(self) -> None:
        for check in deep.CHECKS:
            self.assertEqual(bool(check.tests), " test " in check.command or check.name == "aarch64", check.name)
            # The output shows whether a test was skipped; then the check is skipped, too.
            self.assertEqual(bool(check.tests), check.line.endswith(" --show-output"), check.name)

    def test_documents_screen_texts_and_comments_make_none_due(self) -> None:
        screens = [path for path in TREE if path.startswith("crates/report/src/") and path.endswith(".rs")]
        reworded = {path: TREE[path].replace(b" the ", b" this very ") for path in screens}
        self.assertNotEqual(reworded, {path: TREE[path] for path in screens})
        documents = {path: content + b"\nA sentence.\n" for path, content in TREE.items() if path.endswith(".md")}
        measure = "crates/measure/src/stop.rs"
        for change in (documents, reworded, {measure: b"// A comment.\n" + TREE[measure]}):
            for check in deep.CHECKS:
                self.assertIsNone(deep.why_due(check, passed(check), {**TREE, **change}, {}), check.name)

    def test_text_that_is_no_wording_of_a_screen_is_an_input(self) -> None:
        rust = b'fn f() { g("a text with {one} place", 2) }'
        for path, other, differs in [
            ("crates/report/src/x.rs", b'fn f() { g("another text: {one}", 2) }', False),
            ("crates/report/src/x.rs", b'fn f() { g("a text with {two} place", 2) }', True),
            ("crates/report/src/x.rs", b'fn f() { g("a text with {one} place", 3) }', True),
            ("crates/measure/src/x.rs", b'fn f() { g("another text: {one}", 2) }', True),
            ("crates/coretalk/src/store/x.rs", b'fn f() { g("another text: {one}", 2) }', True),
            ("crates/coretalk/src/args.rs", b'fn f() { g("another text: {one}", 2) }', False),
            ("crates/coretalk/src/exit.rs", b'fn f() { g("another text: {one}", 2) }', False),
            ("crates/coretalk/src/arguments.rs", b'fn f() { g("another text: {one}", 2) }', True),
            ("crates/reports/src/x.rs", b'fn f() { g("another text: {one}", 2) }', True),
        ]:
            self.assertEqual(deep.digest(path, rust) != deep.digest(path, other), differs, (path, other))

    def test_rust_is_reduced_to_its_code(self) -> None:
        for text, code in [
            ("a(b, // c\n  d,\n)", "a(b,d)"),
            ("let c = '\"'; // \"\nlet d = '\\'';", "let c='\"';let d='\\'';"),
            ('x("http://one", r#"a "b" // c"#)', 'x("http://one",r#"a "b" // c"#)'),
            ("/* a\n b */ fn f<'a>(x: &'a str) {}", "fn f<'a>(x:&'a str){}"),
        ]:
            self.assertEqual(deep.code_of(text, with_text=True), code)
        self.assertEqual(deep.code_of('f("one {a} and {{b}} {c:>3}", "word")', with_text=False), 'f("{a}{c:>3}","word")')

    def test_tests_of_aarch64_are_not_emulated_on_aarch64(self) -> None:
        check = next(check for check in deep.CHECKS if check.name == "aarch64")
        for machine, is_missing in (("aarch64", True), ("x86_64", False)):
            with (
                mock.patch.object(deep.platform, "machine", lambda: machine),
                mock.patch.object(deep.shutil, "which", lambda _: "/bin/it"),
                mock.patch.object(deep, "output", lambda *_: "aarch64-unknown-linux-gnu"),
            ):
                why = next(filter(None, (need.missing() for need in check.needs)), None)
            self.assertEqual(why is not None, is_missing, machine)


class Runs(unittest.TestCase):
    """In a repository of its own, with commands that take no time."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        (self.root / ".ci/passed").mkdir(parents=True)
        self.git("init", "-q")
        for name in "ab":
            (self.root / name).write_text(name)
        checks = tuple(
            deep.Check(name, f"title of {name}", f"echo {name} >>ran;", files=(name,), tools=()) for name in ("a", "b")
        )
        for patch in (
            mock.patch.object(deep, "ROOT", self.root),
            mock.patch.object(deep, "CHECKS", checks),
            mock.patch.object(deep, "snapshot", lambda: self.snapshot()),
            mock.patch.object(deep, "loop_s", lambda: 2.0),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    snapshot = staticmethod(lambda: {})

    def git(self, *words: str, when: int = 0) -> None:
        line = ["git", "-c", "user.name=n", "-c", "user.email=e", *words]
        subprocess.run(line, cwd=self.root, check=True, env={"GIT_COMMITTER_DATE": f"@{1700000000 + when} +0000", "PATH": "/usr/bin:/bin"})

    def call(self, *words: str) -> tuple[int, str, str]:
        """Returns the exit code, the names of the checks in the order in which they ran, and the summary."""
        def files() -> deep.Tree:
            found = (path for path in self.root.rglob("*") if path.is_file() and ".git" not in path.parts)
            return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in found}

        self.snapshot = files
        ran, summary = self.root / "ran", self.root / "summary"
        ran.unlink(missing_ok=True)
        summary.unlink(missing_ok=True)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            code = deep.main(["--summary", str(summary), *words])
        self.said = said.getvalue()
        return code, "".join(ran.read_text().split()) if ran.exists() else "", summary.read_text() if summary.exists() else ""

    def test_a_check_that_passed_runs_again_only_after_a_change(self) -> None:
        self.assertEqual(self.call()[:2], (0, "ab"))
        self.assertEqual(self.call()[:2], (0, ""))
        (self.root / "b").write_text("changed")
        self.assertEqual(self.call()[:2], (0, "b"))
        self.assertEqual(self.call("a")[:2], (0, "a"))
        self.assertEqual(self.call("--all")[:2], (0, "ab"))

    def test_the_check_that_has_been_due_longest_comes_first(self) -> None:
        self.call()
        for number, name in enumerate("ba"):
            self.git("add", f".ci/passed/{name}")
            self.git("commit", "-qm", name, when=number)
        for name in "ab":
            (self.root / name).write_text("changed")
        self.assertEqual(self.call()[1], "ba")

    def test_none_begins_that_would_end_after_the_cap(self) -> None:
        self.call()
        record = self.root / ".ci/passed/a"
        # 100 s on a machine where the loop takes 1 s; here it takes 2 s.
        record.write_text(json.dumps(deep.sealed(json.loads(record.read_text()) | {"seconds": 100, "loop_s": 1.0})))
        for name in "ab":
            (self.root / name).write_text("changed")
        code, ran, summary = self.call("--elapsed", str(deep.CAP_S - 150))
        self.assertEqual((code, ran), (0, "b"))
        self.assertIn("left out            title of a: due, and expected to end in minute 61", summary)
        self.assertEqual(self.call("--elapsed", str(deep.CAP_S - 250))[:2], (0, "a"))

    def test_a_check_that_was_asked_for_has_no_cap(self) -> None:
        self.assertEqual(self.call("a", "--elapsed", str(deep.CAP_S))[:2], (0, "a"))
        self.assertEqual(self.call("--all", "--elapsed", str(deep.CAP_S))[:2], (0, "ab"))

    def test_a_check_that_hangs_is_stopped_in_time_for_the_others(self) -> None:
        limits: list[float] = []
        with mock.patch.object(deep, "run", lambda check, limit_s: (limits.append(limit_s), (1, []))[1]):
            self.call("a")
            for elapsed in (0, deep.CAP_S - deep.UNKNOWN_S - 5):
                self.call("--elapsed", str(elapsed))
        for limit, wanted in zip(limits, (2 * deep.CAP_S, 3 * deep.UNKNOWN_S + 300, 3 * deep.UNKNOWN_S + 300), strict=False):
            self.assertLess(abs(limit - wanted), 5)
        with mock.patch.object(deep, "STOP_S", 100):
            self.assertEqual(self.limit_of("sleep 30", "--elapsed", "99"), 1)

    def limit_of(self, command: str, *words: str) -> int:
        deep.CHECKS = (deep.CHECKS[0]._replace(command=command),)
        return self.call(*words)[0]

    def test_inputs_are_those_that_were_there_at_the_beginning(self) -> None:
        deep.CHECKS = (deep.CHECKS[0]._replace(command="echo a >>ran; echo more >>a"),)
        self.assertEqual([self.call()[1] for _ in range(2)], ["a", "a"])

    def test_tools_are_recorded_and_the_environment_builds_nothing_elsewhere(self) -> None:
        deep.CHECKS = (deep.CHECKS[0]._replace(command="echo ${CARGO_TARGET_DIR-none} >ran", tools=("printf one",)),)
        with mock.patch.dict(deep.os.environ, {"CARGO_TARGET_DIR": "elsewhere"}):
            self.assertEqual(self.call()[:2], (0, "none"))
        self.assertEqual(json.loads((self.root / ".ci/passed/a").read_text())["tools"], {"printf one": "one"})

    def test_files_that_git_would_add_are_inputs_and_ignored_ones_are_none(self) -> None:
        (self.root / ".gitignore").write_text("ignored\n")
        for name in ("ignored", "added"):
            (self.root / name).write_text(name)
        self.git("add", "a")
        self.assertEqual(SNAPSHOT(self.root), {".gitignore": b"ignored\n", "a": b"a", "added": b"added", "b": b"b"})

    def test_a_check_that_fails_stays_due(self) -> None:
        deep.CHECKS = (deep.CHECKS[0]._replace(command="false"), deep.CHECKS[1])
        code, ran, summary = self.call()
        self.assertEqual((code, ran), (1, "b"))
        self.assertIn("FAILED (1)", summary)
        self.assertFalse((self.root / ".ci/passed/a").exists())

    def test_a_check_whose_sources_are_not_known_is_no_pass(self) -> None:
        deep.CHECKS = (deep.CHECKS[0]._replace(compiled=("debug/deps/a-*.d",)), deep.CHECKS[1])
        self.assertEqual(self.call()[0], 1)
        deps = self.root / "target/debug/deps"
        deps.mkdir(parents=True)
        (deps / "a-1.d").write_text(f"x: a\n\n{self.root}/b:\n/elsewhere/c:\n# env-dep:d:\n")
        (self.root / "c").write_text("c")
        (deps / "a-2.d").write_text("c:\n# env-dep:CLIPPY_ARGS=\n")
        self.assertEqual(self.call()[0], 0)
        record = json.loads((self.root / ".ci/passed/a").read_text())
        self.assertEqual(list(record["inputs"]), ["a", "b"])
        # Each pattern has to name a source; dependency files that list only other folders name none.
        (deps / "z-1.d").write_text("z: /elsewhere/c\n\n/elsewhere/c:\n")
        deep.CHECKS = (deep.CHECKS[0]._replace(compiled=("debug/deps/a-*.d", "debug/deps/z-*.d")), deep.CHECKS[1])
        code, _, summary = self.call()
        self.assertEqual(code, 1)
        self.assertIn("target/debug/deps/z-*.d names no source", summary)

    def test_a_check_whose_tests_did_not_run_is_no_pass(self) -> None:
        for said, tests, code, word in [
            ("test a::one ... ok", ("a::",), 0, "ok"),
            ("test a::one - should panic ... ok", ("a::",), 0, "ok"),
            ("test a::one ... ok", ("",), 0, "ok"),
            ("running 0 tests", ("",), 1, "FAILED"),
            ("test a::one ... ok", ("a::", "b::"), 1, "FAILED"),
            ("test a::one ... ignored", ("a::",), 1, "FAILED"),
            ("test a::one ... ok\nskipped: there is no data", ("a::",), 0, "skipped"),
        ]:
            (self.root / ".ci/passed/a").unlink(missing_ok=True)
            (self.root / "said").write_text(f"{said}\n")
            deep.CHECKS = (deep.CHECKS[0]._replace(command="cat said #", tests=tests),)
            got, _, summary = self.call()
            self.assertEqual((got, summary.split()[0]), (code, word), said)
            self.assertEqual((self.root / ".ci/passed/a").exists(), word == "ok", said)
            self.assertEqual("there is no data" in summary, word == "skipped")
            self.assertEqual("no test passed whose name contains" in summary, word == "FAILED")

    def test_a_check_that_lacks_something_is_neither_passed_nor_failed(self) -> None:
        deep.CHECKS = (deep.CHECKS[0]._replace(command="echo qemu is missing; exit 3"),)
        code, _, summary = self.call()
        self.assertEqual((code, summary.split()[0]), (0, "skipped"))
        self.assertIn("title of a: qemu is missing", summary)
        self.assertFalse((self.root / ".ci/passed/a").exists())

    def test_nothing_of_a_check_outlives_it(self) -> None:
        deep.CHECKS = (deep.CHECKS[0]._replace(command="sleep 100 & echo $! >pid;"),)
        self.assertEqual(self.call()[0], 0)
        self.gone()

    def test_a_check_ends_with_the_signal_that_ends_its_parent(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            line = f"import deep, pathlib; deep.ROOT = pathlib.Path({str(self.root)!r}); deep.loop_s = lambda: 1.0\n"
            line += "deep.CHECKS = (deep.Check('a', 'a', 'sleep 100 & echo $! >pid; wait', files=('a',), tools=()),)\n"
            words = [sys.executable, "-B", "-c", line + "deep.main([])"]
            parent = subprocess.Popen(words, cwd=Path(deep.__file__).parent, stdout=subprocess.DEVNULL)
            while not (self.root / "pid").exists() or not (self.root / "pid").read_text().endswith("\n"):
                self.assertIsNone(parent.poll())
                time.sleep(0.01)
            # A terminal signals all processes, and a parent may pass its signal on, so a second one can follow.
            parent.send_signal(number)
            parent.send_signal(signal.SIGTERM)
            # Python may run the handler of the second signal first.
            self.assertIn(parent.wait(), (128 + number, 128 + signal.SIGTERM))
            self.gone()

    def gone(self) -> None:
        """Waits up to 10 s for the end of the process whose number is in `pid`."""
        file = self.root / "pid"
        ends = time.monotonic() + 10
        while (state := Path(f"/proc/{file.read_text().strip()}/stat")).exists() and state.read_text().split()[2] != "Z":
            self.assertLess(time.monotonic(), ends)
            time.sleep(0.01)
        file.unlink()

    def test_the_list_says_what_is_due_and_runs_nothing(self) -> None:
        self.call("a")
        for words, lines in [
            (["--list"], ["a: nothing that it depends on has changed since it passed", "b: due, as there is no record of a pass"]),
            (["--list", "a"], ["a: nothing that it depends on has changed since it passed"]),
            (["--list", "--all", "b"], ["b: due, as there is no record of a pass"]),
        ]:
            code, ran, _ = self.call(*words)
            self.assertEqual((code, ran, self.said.splitlines()), (0, "", lines))
        self.assertEqual(self.call("a")[:2], (0, "a"))
        self.assertIn("a: asked for\n", self.said)

    def test_a_check_without_its_tools_is_skipped_and_stays_due(self) -> None:
        deep.CHECKS = (deep.CHECKS[0]._replace(needs=(deep.program("no-such-program"),)), deep.CHECKS[1])
        code, ran, summary = self.call()
        self.assertEqual((code, ran), (0, "b"))
        self.assertIn("no-such-program is not installed", summary)
        self.assertFalse((self.root / ".ci/passed/a").exists())


if __name__ == "__main__":
    unittest.main()
