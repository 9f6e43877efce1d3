"""What becomes of the steps of `.ci/run` when it is ended: in a folder of its own, with steps that wait."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).parent
# Until a signal comes; longer than the test waits.
WAITS = "sleep 100 & echo $! >>pids; wait"


class Ends(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        self.script(".ci/packages", ":")
        # There is a Python that can build the adapters, and none that installs packages.
        self.script("bin/python3", 'case "$*" in *tomllib*) ;; *) exit 1 ;; esac')
        shutil.copy(HERE / "run", self.root / ".ci/run")

    def script(self, path: str, line: str) -> None:
        file = self.root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{line}\n")
        file.chmod(0o755)

    def ended(self, number: int, waiting: int, to_all: bool) -> int:
        """The exit code after a signal, sent once so many steps wait; to the whole group, as a terminal does, or to the script."""
        pids = self.root / "pids"
        began = subprocess.Popen(
            [self.root / ".ci/run"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", "TMPDIR": str(self.root)},
        )  # fmt: skip
        while not pids.exists() or pids.read_text().count("\n") < waiting:
            self.assertIsNone(began.poll())
            time.sleep(0.01)
        (os.killpg if to_all else os.kill)(began.pid, number)
        # Nothing of it is left when it ends, nor does it wait for its steps.
        code = began.wait(20)
        for pid in pids.read_text().split():
            state = Path(f"/proc/{pid}/stat")
            self.assertTrue(not state.exists() or state.read_text().split()[2] == "Z", "a step runs on")
        pids.unlink()
        self.assertEqual(list(self.root.glob("tmp.*")), [], "the scratch folder is left")
        return code

    def test_a_signal_ends_the_steps_that_run(self) -> None:
        self.script("bin/cargo", WAITS)
        self.script(".ci/runtimes", WAITS)
        self.assertEqual(self.ended(signal.SIGINT, 2, to_all=True), 130)
        self.assertEqual(self.ended(signal.SIGTERM, 2, to_all=False), 143)

    def test_a_signal_ends_the_deep_checks(self) -> None:
        self.script("bin/cargo", ":")
        self.script(".ci/runtimes", ":")
        self.script(".ci/deep.py", '[ "$1 $3" = "--elapsed --summary" ] || exit 1\necho $$ >>pids; exec sleep 100')
        self.assertEqual(self.ended(signal.SIGINT, 1, to_all=True), 130)
        self.assertEqual(self.ended(signal.SIGTERM, 1, to_all=False), 143)


if __name__ == "__main__":
    unittest.main()
