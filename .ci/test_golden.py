"""The golden set: what differs is found, and what every run has of its own is masked."""

import json
import unittest
from pathlib import Path

import golden


class Set(unittest.TestCase):
    def test_each_output_that_differs_is_named(self) -> None:
        known = golden.digests({"a": {"json": "1", "csv": "2"}, "b": {"json": "3"}})
        self.assertEqual(golden.differing(known, known), [])
        made = golden.digests({"a": {"json": "1", "csv": "other", "page": "new"}})
        self.assertEqual(golden.differing(made, known), [("a", "csv"), ("a", "page"), ("b", "json")])

    def test_ids_times_and_folders_are_masked(self) -> None:
        folder = Path("/tmp/place")
        one = "run 01a22181-370c-704e-9c42-40d7f369178b of 2026-11-28T09:34:06.092Z in /tmp/place/store; coretalk --resume\n  178b"
        other = "run 01a22181-385d-786b-ba84-f878b2005bf0 of 2026-11-28 09:35 UTC in /tmp/place/store; coretalk --resume\n  5bf0"
        self.assertEqual(golden.masked(one, folder), golden.masked(other, folder))
        self.assertEqual(golden.masked("1 024 messages, 178b", folder), "1 024 messages, 178b")

    def test_every_run_has_digests(self) -> None:
        known = json.loads(golden.DIGESTS.read_text())
        self.assertEqual(set(known), set(golden.RUNS))
        self.assertTrue(all(len(outputs) > 3 for outputs in known.values()))


if __name__ == "__main__":
    unittest.main()
