import pathlib
import re

import pytest

HERE = pathlib.Path(__file__).parent.parent


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
