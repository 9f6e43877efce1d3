"""What is released: names, versions, documents and notices agree with each other and with the lock file."""

import ast
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import deep

TREE = deep.snapshot()
# Phrases of the text of each licence besides those of crates, and of an exception, without layout; one text has them all.
PHRASES = {
    "Apache-2.0": ["You must give any other recipients of the Work or Derivative Works a copy of this License"],
    "Apache-2.0 WITH LLVM-exception": [
        "You must give any other recipients of the Work or Derivative Works a copy of this License",
        "you may redistribute such embedded portions in such Object form without complying with the conditions of Sections 4(a)",
    ],
    "blessing": ["The author disclaims copyright to this source code", "May you share freely, never taking more than you give."],
    "GPL-3.0-or-later WITH GCC-exception-3.1": [
        "GNU GENERAL PUBLIC LICENSE Version 3, 29 June 2007",
        "You may convey a covered work in object code form under the terms of sections 4 and 5",
        "You have permission to propagate a work of Target Code formed by combining the Runtime Library with Independent Modules",
    ],
    "LGPL-2.1-or-later": [
        "GNU LESSER GENERAL PUBLIC LICENSE Version 2.1, February 1999",
        "A program that contains no derivative of any portion of the Library",
    ],
    "Unicode-3.0": ["UNICODE LICENSE V3", "deal in the Data Files or Software without restriction"],
    "Unicode-DFS-2016": [
        "UNICODE, INC. LICENSE AGREEMENT - DATA FILES AND SOFTWARE",
        "a copy of the Unicode data files and any associated documentation",
    ],
}


def text(path: str) -> str:
    return TREE[path].decode()


def constant(path: str, name: str) -> str:
    """A string that a Python module assigns, without running it."""
    for node in ast.parse(text(path)).body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", None) for target in node.targets] == [name]:
            return str(ast.literal_eval(node.value))
    raise AssertionError(f"{path} assigns no {name}")


class Names(unittest.TestCase):
    distribution = constant("python/coretalk/_binary.py", "DISTRIBUTION")

    def test_the_distribution_has_one_name(self) -> None:
        self.assertEqual(re.findall(r'^name = "(.*)"', text("python/pyproject.toml"), re.M), [self.distribution])
        self.assertIn(f"pip install ./{self.distribution.replace('-', '_')}-", text("README.md"))

    def test_no_text_advises_the_package_of_another_project(self) -> None:
        advice = r"(?:pip3? install|pipx (?:install|run)|uv (?:add|tool install)|uvx|pypi\.org/project/)(?:\s*-\S+)*\s*[\"']?"
        other = re.compile(rf"{advice}coretalk(?!{self.distribution.removeprefix('coretalk')}\b)")
        for advised in ("pip install --user -U coretalk", "pipx install 'coretalk[frames]'", "uvx coretalk", "pypi.org/project/coretalk/"):
            self.assertRegex(advised, other)
            self.assertNotRegex(advised.replace("coretalk", self.distribution), other)
        for path in TREE.keys() - {".ci/test_dist.py"}:
            self.assertIsNone(other.search(TREE[path].decode(errors="replace")), path)


class Versions(unittest.TestCase):
    version = re.findall(r'^version = "(.*)"', text("Cargo.toml"), re.M)[0]

    def test_every_version_is_that_of_the_workspace(self) -> None:
        self.assertEqual(constant("python/coretalk/__init__.py", "__version__"), self.version)
        self.assertEqual(re.findall(r"^version: (.*)", text("CITATION.cff"), re.M), [self.version])
        self.assertEqual(re.findall(r"^## \[(\d.*?)\]", text("CHANGELOG.md"), re.M)[0], self.version)
        names = re.findall(r"coretalk(?:_bench)?[-_](\d+\.\d+\.\d+)", text("README.md"))
        self.assertEqual((set(names), len(names)), ({self.version}, 3))

    def test_build_tools_of_python_are_pinned(self) -> None:
        lines = [line for line in text("dist/requirements.txt").splitlines() if not line.startswith("#")]
        for line in lines:
            self.assertRegex(line, r"^[a-z_-]+==[\d.]+$")
        self.assertLessEqual({"build", "hatchling", "wheel"}, {line.partition("==")[0] for line in lines})


class Documents(unittest.TestCase):
    def test_links_of_packed_documents_lead_to_packed_documents(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([deep.ROOT / "dist/documents", folder], check=True)
            documents = list(Path(folder).rglob("*.md"))
            links = [
                (document, link.partition("#")[0])
                for document in documents
                for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text())
                if "://" not in link
            ]
            self.assertGreater(len(links), 50)
            for document, link in links:
                self.assertTrue(not link or (document.parent / link).exists(), f"{document.name} links to {link}")

    def test_notices_name_each_linked_crate(self) -> None:
        made = subprocess.run([deep.ROOT / "dist/notices", "--list"], capture_output=True, text=True, check=False)
        if "--offline was specified" in made.stderr or "failed to download" in made.stderr:
            self.skipTest(made.stderr.strip())
        self.assertEqual(made.returncode, 0, made.stderr)
        listed = re.findall(r"^  (\S+ \S+): (?:MIT|BSD-\d-Clause|Zlib)$", text("THIRD-PARTY-NOTICES"), re.M)
        self.assertEqual(listed, made.stdout.splitlines(), "run dist/notices")
        self.assertGreater(len(listed), 50)
        for crate in listed:
            self.assertRegex(text("THIRD-PARTY-NOTICES"), rf"(?m)^{re.escape(crate)}$", f"{crate} has no text")

    def test_the_licence_of_binaries_has_each_licence_in_the_notices(self) -> None:
        notices = text("THIRD-PARTY-NOTICES")
        own, *terms = re.findall(r"^License-Expression: (.*)", notices, re.M)[0].split(" AND ")
        self.assertEqual(re.findall(r'^license = "(.*)"', text("Cargo.toml"), re.M), [own.strip("()")])
        self.assertEqual(terms, sorted(set(terms), key=str.lower))
        of_crates = dict(re.findall(r"^  (\S+ \d\S+): (\S+)$", notices, re.M))
        self.assertIn("MIT", of_crates.values())
        self.assertEqual(set(terms), {*PHRASES, *of_crates.values()})
        head, *parts = notices.split(f"\n\n{'=' * 80}\n\n")
        for term in terms:
            self.assertIn(term, head.partition("License-Expression")[0])
        # What quotes many licences, as Debian's notices of glibc do, shows none of them whole.
        words = [" ".join(part.split()) for part in parts if not part.startswith("GNU C Library: the notices")]
        self.assertEqual(len(words), len(parts) - 1)
        for term, phrases in PHRASES.items():
            self.assertTrue(any(all(phrase in part for phrase in phrases) for part in words), f"{term} has no text")
        phrase_of = ast.literal_eval(constant("dist/notices", "LICENCES"))
        for crate, licence in of_crates.items():
            own_parts = [" ".join(part.split()) for part in parts if re.search(rf"^{re.escape(crate)}$", part, re.M)]
            self.assertTrue(any(phrase_of[licence] in part for part in own_parts), f"{crate} has no text of {licence}")

    def test_notices_of_a_package_state_the_glibc_of_its_binary(self) -> None:
        def notices(binary: bytes) -> "subprocess.CompletedProcess[str]":
            with tempfile.NamedTemporaryFile() as file:
                Path(file.name).write_bytes(binary)
                return subprocess.run([deep.ROOT / "dist/notices", file.name], capture_output=True, text=True, check=False)

        of_debian = b"\0GNU C Library (Debian GLIBC 2.36-8) stable release version 2.36.\n"
        for binary, source in (
            (of_debian, "2.36 (Debian GLIBC 2.36-8); its source is at https://snapshot.debian.org/package/glibc/2.36-8/"),
            (of_debian.replace(b"Debian GLIBC 2.36-8", b"GNU libc"), "2.36 (GNU libc); its source is at https://ftp.gnu.org/gnu/"),
        ):
            lines = notices(binary).stdout.splitlines()
            differ = [line for line, committed in zip(lines, text("THIRD-PARTY-NOTICES").splitlines(), strict=True) if line != committed]
            self.assertEqual(len(differ), 1, differ)
            self.assertIn(f"  Version: {source}", differ[0])
        for binary, said in ((b"", "names no versions of glibc"), (of_debian + of_debian.replace(b"6-8", b"6-9"), "names 2 versions")):
            done = notices(binary)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(said, done.stderr)

    def test_crates_include_no_file_from_outside(self) -> None:
        found = 0
        for path in (path for path in TREE if re.match(r"crates/\w+/src/.*\.rs$", path)):
            for name in re.findall(r'include_(?:str|bytes)!\((?:concat!\()?"([^"]*)"', text(path)):
                crate = deep.ROOT / "/".join(path.split("/")[:2])
                self.assertTrue((deep.ROOT / path).parent.joinpath(name).resolve().is_relative_to(crate), f"{path}: {name}")
                found += 1
        self.assertGreater(found, 5)


class Origin(unittest.TestCase):
    """Date, commit and toolchain of a build, in a folder of its own."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        self.write("dist/build", "")
        self.write("Cargo.lock", "")

    def write(self, path: str, content: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        file.chmod(0o755)
        os.utime(file, (1_000_000_000, 1_000_000_000))
        return file

    def commit(self) -> str:
        for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"]):
            subprocess.run(["git", *words], cwd=self.root, check=True)
        return self.output("git", "rev-parse", "--short=12", "HEAD").strip()

    def output(self, *words: object, **environment: str) -> str:
        env = {"PATH": os.environ["PATH"], **environment}
        return subprocess.run(words, cwd=self.root, env=env, check=True, text=True, capture_output=True).stdout

    def environment(self, version: str, installed: str = "", **environment: str) -> tuple[str, str]:
        """Exported lines and messages, with a Rust of this version, and with toolchains that rustup lists."""
        shutil.copy2(deep.ROOT / "dist/environment", self.root / "dist")
        os.utime(self.root / "dist/environment", (0, 0))
        for name, said in (("rustc", f"rustc {version} (0 1970-01-01)"), ("rustup", installed)):
            os.utime(self.write(f"target/{name}", f"#!/bin/sh\necho '{said}'\n"), (2_000_000_000, 2_000_000_000))
        env = {"PATH": f"{self.root}/target:/usr/bin:/bin", **environment}
        done = subprocess.run([self.root / "dist/environment"], env=env, check=True, text=True, capture_output=True)
        return done.stdout, done.stderr

    rust = re.findall(r"^readonly RUST=(.*)", text("dist/environment"), re.M)[0]

    def test_an_archive_is_dated_by_its_newest_file(self) -> None:
        exported, said = self.environment(self.rust)
        self.assertEqual(exported, "export SOURCE_DATE_EPOCH=1000000000 CORETALK_COMMIT=''\n")
        self.assertIn("dated by the newest file, of 2001-09-09", said)
        self.assertIn("the commit is unknown", said)
        exported, said = self.environment(self.rust, SOURCE_DATE_EPOCH="1", CORETALK_COMMIT="a")
        self.assertEqual((exported, said), ("export SOURCE_DATE_EPOCH=1 CORETALK_COMMIT=a\n", ""))

    def test_a_clone_without_git_is_an_archive(self) -> None:
        self.commit()
        programs = self.root / "target/programs"
        programs.mkdir(parents=True)
        for name in ("bash", "cut", "date", "dirname", "find", "grep", "sort", "tail"):
            (programs / name).symlink_to(str(shutil.which(name)))
        exported, said = self.environment(self.rust, PATH=f"{self.root}/target:{programs}")
        self.assertEqual(exported, "export SOURCE_DATE_EPOCH=1000000000 CORETALK_COMMIT=''\n")
        self.assertIn("the commit is unknown", said)

    def test_a_clone_has_the_date_and_commit_of_its_history(self) -> None:
        shutil.copy2(deep.ROOT / "dist/environment", self.root / "dist")
        self.write(".gitignore", "/target")
        self.write(".ci/passed/loom", "a pass")
        commit = self.commit()
        date = self.output("git", "log", "-1", "--format=%ct").strip()
        exported = f"export SOURCE_DATE_EPOCH={date} CORETALK_COMMIT={commit}"
        self.assertEqual(self.environment(self.rust), (f"{exported}\n", ""))
        self.write(".ci/passed/loom", "a later pass")
        self.assertEqual(self.environment(self.rust)[0], f"{exported}\n")
        self.write("dist/build", "changed")
        self.assertEqual(self.environment(self.rust)[0], f"{exported}-dirty\n")

    def test_the_pinned_rust_is_used_where_it_is_installed(self) -> None:
        exported, said = self.environment("1.0.0", f"{self.rust}-x86_64-unknown-linux-gnu")
        self.assertIn(f"export RUSTUP_TOOLCHAIN={self.rust}\n", exported)
        self.assertNotIn("Rust", said)
        exported, said = self.environment("1.0.0", "stable-x86_64-unknown-linux-gnu")
        self.assertNotIn("RUSTUP_TOOLCHAIN", exported)
        self.assertIn(f"Rust {self.rust} is not installed, so rustc 1.0.0 (0 1970-01-01) builds", said)

    def test_a_change_of_what_is_compiled_counts(self) -> None:
        listed = re.findall(r'"(.*)"', re.findall(r"(?s)^const COMPILED.*?\];", text("crates/coretalk/build.rs"), re.M)[0])
        compiled = re.compile(r"\.cargo/|Cargo\.lock$|(crates/\w+/)?(Cargo\.toml|build\.rs)$|crates/\w+/src/")
        paths = {path for path in TREE if compiled.match(path)}
        self.assertLessEqual(set(deep.MANIFESTS) - {".cargo"}, paths)
        missing = {path for path in paths if not any(f"{path}/".startswith(f"{name}/") for name in [*listed, "Cargo.lock"])}
        self.assertEqual(missing, set())
        # cargo runs a build script each time where one of its paths is not there.
        self.assertEqual([name for name in listed if not (deep.ROOT / name).exists()], [])

    def test_a_release_build_knows_its_commit(self) -> None:
        script = self.write("build.rs", text("crates/coretalk/build.rs"))
        self.write(".gitignore", "/build")
        subprocess.run(["rustc", "--edition", "2024", "-o", self.root / "build", script], check=True)

        def stated(profile: str, **environment: str) -> str:
            said = self.output(self.root / "build", PROFILE=profile, **environment)
            return re.findall(r"^cargo::rustc-env=CORETALK_COMMIT=(.*)$", said, re.M)[0]

        self.assertEqual(stated("release"), "")
        commit = self.commit()
        self.assertEqual((stated("release"), stated("debug")), (commit, ""))
        self.assertEqual(stated("release", CORETALK_COMMIT="given"), "given")
        self.write("Cargo.lock", "changed")
        self.assertEqual(stated("release"), f"{commit}-dirty")
        self.write(".cargo_vcs_info.json", '{\n  "git": {\n    "sha1": "0123456789abcdef"\n  }\n}')
        self.assertEqual(stated("debug"), "0123456789ab")


if __name__ == "__main__":
    unittest.main()
