import ast
import functools
import os
import pathlib
import re
import types

import pytest
from conftest import MACHINE

import coretalk as ct

HERE = pathlib.Path(__file__).parent.parent


def calls():
    """The examples between backquotes in docstrings and the README that are calls."""
    texts = [(HERE / "README.md").read_text()]
    for file in sorted((HERE / "coretalk").glob("*.py")):
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        texts += [ast.get_docstring(one) or "" for one in ast.walk(ast.parse(file.read_text())) if isinstance(one, documented)]
    for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", "\n".join(texts)):
        try:
            is_call = isinstance(ast.parse(span, mode="eval").body, ast.Call)
        except SyntaxError:
            continue
        if is_call and span not in {"ladder()", "series()", "comparisons()"}:
            yield span


@pytest.mark.parametrize("example", list(calls()))
def test_examples_of_docstrings_run(example, queues, tmp_path, monkeypatch):
    if "./bench" in example and not (hasattr(os, "sched_getaffinity") and {0, 1} <= os.sched_getaffinity(0)):
        pytest.skip("the command needs the CPUs 0 and 1 of this machine")
    monkeypatch.setenv("CORETALK_STORE", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench").write_text("#!/bin/sh\necho 12.5 op/s\n")
    (tmp_path / "bench").chmod(0o755)
    names = {**vars(ct), "queues": queues}
    names.update({name: functools.partial(vars(ct)[name], **MACHINE) for name in ("run", "quick")})
    names["ct"] = types.SimpleNamespace(**names)
    eval(example, names)


def test_there_are_examples():
    assert {re.split(r"[(.]", call.replace("ct.", ""))[0] for call in calls()} >= {"run", "quick", "runs", "place", "queue"}


def test_examples_of_the_readme_run(tmp_path, monkeypatch):
    for package in ("numpy", "pandas", "matplotlib"):
        pytest.importorskip(package).__name__ == "matplotlib" and __import__("matplotlib").use("Agg")
    monkeypatch.setenv("CORETALK_STORE", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.S)
    assert len(blocks) == 4
    exec("\n".join(blocks), {})
    assert (tmp_path / "run.svg").read_text().startswith("<svg")


def test_the_notebook_runs(tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("CORETALK_STORE", str(tmp_path / "runs"))
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    notebook = nbformat.read(HERE / "tour.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    assert any("text/html" in out.get("data", {}) for out in shown), "the run shows its picture"
    assert any("image/png" in out.get("data", {}) for out in shown), "matplotlib draws the heat map"
