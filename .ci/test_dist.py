"""What is released: names, versions, documents and notices agree with each other and with the lock file."""

import ast
import re
import unittest

import deep

TREE = deep.snapshot()


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
        other = re.compile(rf"pip3? install (?:-\S+ )*coretalk(?!{self.distribution.removeprefix('coretalk')}\b)".encode())
        for path in TREE.keys() - {".ci/test_dist.py"}:
            self.assertIsNone(other.search(TREE[path]), path)


class Documents(unittest.TestCase):


    def test_crates_include_no_file_from_outside(self) -> None:
        found = 0
        for path in (path for path in TREE if re.match(r"crates/\w+/src/.*\.rs$", path)):
            for name in re.findall(r'include_(?:str|bytes)!\((?:concat!\()?"([^"]*)"', text(path)):
                crate = deep.ROOT / "/".join(path.split("/")[:2])
                self.assertTrue((deep.ROOT / path).parent.joinpath(name).resolve().is_relative_to(crate), f"{path}: {name}")
                found += 1
        self.assertGreater(found, 5)


if __name__ == "__main__":
    unittest.main()
