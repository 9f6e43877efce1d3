"""What makes a deep check due, in which order due checks run, and which are left out."""

import contextlib
import io
import json
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import deep

TREE = deep.snapshot()
SCREEN = "crates/coretalk/src/report/queue/table.rs"


def passed(check: deep.Check) -> dict[str, Any]:
    """A record of a check that has just passed, with the sources that its committed record names."""
    committed = deep.record_of(check, TREE)
    sources = committed["inputs"] if committed else ()
    return {"command": check.command, "tools": {}, "inputs": deep.inputs(check, TREE, sources), "seconds": 1, "loop_s": 1}


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
            "aarch64": (".ci/emulated", "crates/measure/src/counter.rs"),
            "types-macos": (".ci/macos", ".ci/no-c", "crates/coretalk/src/report/screen.rs"),
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

    def test_a_damaged_record_is_none(self) -> None:
        for check in deep.CHECKS:
            for content in (b"", b"{}", b"[]", b"null", b"<<<<<<< ours\n{}", b'{"command": "x"}'):
                self.assertIsNone(deep.record_of(check, {f"{deep.PASSED}/{check.name}": content}))

    def test_a_new_file_in_a_declared_folder_makes_a_check_due(self) -> None:
        for check in deep.CHECKS:
            self.assertIsNotNone(why(check, ".cargo/new.toml", b""), check.name)

    def test_a_tool_or_a_command_that_changed_makes_a_check_due(self) -> None:
        for check in deep.CHECKS:
            record = passed(check)
            self.assertIn("now", deep.why_due(check, record, TREE, {"tool": "now"}) or "")
            self.assertIsNotNone(deep.why_due(check._replace(command="true"), record, TREE, {}))
            self.assertIsNotNone(deep.why_due(check, None, TREE, {}))

    def test_documents_screen_texts_and_comments_make_none_due(self) -> None:
        screens = [path for path in TREE if path.startswith("crates/coretalk/src/report/") and path.endswith(".rs")]
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
            ("crates/coretalk/src/report/x.rs", b'fn f() { g("another text: {one}", 2) }', False),
            ("crates/coretalk/src/report/x.rs", b'fn f() { g("a text with {two} place", 2) }', True),
            ("crates/coretalk/src/report/x.rs", b'fn f() { g("a text with {one} place", 3) }', True),
            ("crates/measure/src/x.rs", b'fn f() { g("another text: {one}", 2) }', True),
            ("crates/coretalk/src/store/x.rs", b'fn f() { g("another text: {one}", 2) }', True),
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
            deep.Check(name, f"title of {name}", f"echo {name} >>ran", files=(name,), tools=()) for name in ("a", "b")
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
        """Exit code, what ran in which order, and the summary."""
        files = {p.relative_to(self.root).as_posix(): p.read_bytes() for p in self.root.rglob("*") if p.is_file() and ".git" not in p.parts}
        self.snapshot = lambda: files
        ran, summary = self.root / "ran", self.root / "summary"
        ran.unlink(missing_ok=True)
        summary.unlink(missing_ok=True)
        with contextlib.redirect_stdout(io.StringIO()):
            code = deep.main(["--summary", str(summary), *words])
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
        # 100 s, when the loop took 1 s; it takes 2 s now.
        record.write_text(json.dumps(json.loads(record.read_text()) | {"seconds": 100, "loop_s": 1.0}))
        for name in "ab":
            (self.root / name).write_text("changed")
        code, ran, summary = self.call("--elapsed", str(deep.CAP_S - 150))
        self.assertEqual((code, ran), (0, "b"))
        self.assertIn("left out            title of a: due, and expected to end in minute 61", summary)
        self.assertEqual(self.call("--elapsed", str(deep.CAP_S - 250))[:2], (0, "a"))

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
        (deps / "a-2.d").write_text("c:\n# env-dep:CLIPPY_ARGS=\n")
        self.assertEqual(self.call()[0], 0)
        record = json.loads((self.root / ".ci/passed/a").read_text())
        self.assertEqual(list(record["inputs"]), ["a", "b"])

    def test_a_check_without_its_tools_is_skipped_and_stays_due(self) -> None:
        deep.CHECKS = (deep.CHECKS[0]._replace(needs=(deep.program("no-such-program"),)), deep.CHECKS[1])
        code, ran, summary = self.call()
        self.assertEqual((code, ran), (0, "b"))
        self.assertIn("no-such-program is not installed", summary)
        self.assertFalse((self.root / ".ci/passed/a").exists())


if __name__ == "__main__":
    unittest.main()
