import csv
import io
import math
import pathlib
import subprocess
import sys

import pytest
from conftest import MACHINE

import coretalk as ct
from coretalk import _binary


def exported(run, store, *words):
    return _binary.output(["export", run.id, "--store", store, *words])


def test_a_run_says_what_it_is(latency):
    assert latency.complete and latency.simulated and latency.id
    assert "latency" in repr(latency)
    assert latency.build is None, "no program measured a simulated machine"


def test_cells_have_intervals_and_relations(latency):
    rows = latency.cells()
    assert len(rows) == 10
    by_pair = {(row["from_cpu"], row["to_cpu"]): row for row in rows}
    assert by_pair[0, 16]["relation"] == "core"
    assert {by_pair[pair]["relation"] for pair in by_pair if 8 not in pair and pair != (0, 16)} == {"l3"}
    assert all(row["low_ns"] < row["median_ns"] < row["high_ns"] for row in rows)
    assert 7 < by_pair[0, 16]["median_ns"] < 8.5 and by_pair[0, 16]["cycles"] > 25


def test_a_matrix_is_what_export_prints(latency, store):
    text = exported(latency, store, "--format", "csv")
    table = list(csv.reader(line for line in io.StringIO(text) if not line.startswith("#")))
    square, cpus = latency.matrix("cas")
    assert [str(cpu) for cpu in cpus] == table[0][1:]
    for row, printed in zip(square, table[1:]):
        for value, text in zip(row, printed[1:]):
            assert math.isnan(value) if not text else round(float(text), 4) == value
    square, cpus = latency.matrix("cas", order="number")
    assert cpus == sorted(cpus) and square[0][-1] == square[-1][0]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_hold_the_rows(latency, kind):
    pytest.importorskip(kind)
    frame = latency.cells(to=kind)
    rows = frame.to_dict("records") if kind == "pandas" else frame.to_dicts()
    assert [row["median_ns"] for row in rows] == [row["median_ns"] for row in latency.cells()]


def test_queues_are_chosen_by_their_parameters(queues):
    rows = ct.queue(queues, capacity=10, queue="spsc")
    assert len(rows) == 9 and {row["capacity"] for row in rows} == {10} and rows[0]["unit"] == "messages/s"
    with pytest.raises(ValueError, match="4 matrices match"):
        queues.matrix()
    square, cpus = queues.matrix(capacity=10, queue="spsc")
    assert len(square) == len(cpus) == 3


def test_runs_are_loaded_by_name_path_and_from_other_tools(latency, store, tmp_path):
    assert ct.load("latest", store=store).document["schema"] == "coretalk.run/1"
    again = ct.load(latency.id, store=store)
    assert again.cells() == latency.cells()
    path = _binary.output(["runs", "path", latency.id, "--store", store]).strip()
    assert ct.load(path).id == latency.id
    foreign = tmp_path / "matrix.csv"
    foreign.write_text("cpu,0,1,2\n0,,20,30\n1,20,,31\n2,30,31,\n")
    loaded = ct.load(foreign)
    assert loaded.id is None and {row["median_ns"] for row in loaded.cells()} == {20, 30, 31}


def test_the_quick_look_has_a_ladder(store):
    run = ct.quick(cpus=range(3), name="glance", store=store, progress=False, **MACHINE)
    steps = run.ladder()
    assert {"cas", "futex"} <= {row["step"] for row in steps} and steps[0]["ci_low"] < steps[0]["ci_high"]
    listed = {saved["id"]: saved for saved in ct.runs(store)}
    assert listed[run.id]["tags"] == ["glance"] and listed[run.id]["cpus"] == 3
    assert ct.runs(store + "-empty") == []


@pytest.mark.parametrize("command", ["runs", "report", "view", "lint", "adapters", "selftest", "man"])
def test_commands_without_a_document_name_the_call(command):
    with pytest.raises(ct.UsageError, match="prints no document of a run: (use|call)"):
        ct.run(command)


def test_text_in_place_of_a_document_is_an_error():
    with pytest.raises(ct.UsageError, match="no document"):
        ct.run("plan", "wait", progress=False)
    for words, options in (((), {"output": "x.json"}), (("-o", "x.json"), {}), (("--output=x.json",), {})):
        with pytest.raises(ct.UsageError, match="export_json"):
            ct.run("latency", *words, **options)
    with pytest.raises(TypeError):
        ct.quick(range(4))


def test_cpus_are_any_iterable_of_numbers(store):
    options = {"pairs": [(0, 1)], "samples": 5, "iterations": 50, "store": store, "progress": False, **MACHINE}
    chosen = [[0, 1], range(2), (cpu for cpu in (0, 1)), {0: "a", 1: "b"}.keys()]
    chosen += [pytest.importorskip("numpy").arange(2), pytest.importorskip("pandas").Series([0, 1])]
    for cpus in chosen:
        assert ct.run("latency", cpus=cpus, **options).document["topology"]["cpus"] == [0, 1]
    placements = {"one": range(2), "two": pytest.importorskip("numpy").array([0, 8])}
    placed = ct.place([], placements, workload="ring", threads=2, store=store, progress=False, **MACHINE)
    assert {row["placement"]: row["cpus"] for row in placed.comparisons()} == {"one": "0-1", "two": "0-8"}


def test_misspelt_parameters_name_what_there_is(queues, latency):
    known = "`capacty`; there are: .*capacity.*, probe"
    for call in (ct.queue, ct.Run.cells, ct.Run.matrices, ct.Run.matrix):
        with pytest.raises(ct.ParameterError, match=known):
            call(queues, capacty=10)
        with pytest.raises(ValueError, match="capacity=7: there are 1"):
            call(queues, capacity=7)
    with pytest.raises(ct.UsageError, match="protocol='nope': there are 'cas'"):
        latency.cells(protocol="nope")
    with pytest.raises(ct.UsageError, match="this run has no series"):
        latency.series(primitive="pipe")
    with pytest.raises(ct.ParameterError, match="this run has no matrices"):
        ct.Run({**latency.document, "matrices": []}).matrix()
    with pytest.raises(ct.ParameterError, match="capacity is empty"):
        queues.cells(capacity=[])
    assert {row["capacity"] for row in queues.cells(capacity=[1, 10])} == {1, 10}
    ten = pytest.importorskip("numpy").array(10)
    assert {row["capacity"] for row in queues.cells(capacity=ten)} == {10}


def test_bad_input_is_a_coretalk_error(latency, store, tmp_path, monkeypatch):
    (tmp_path / "binary.hgrm").write_bytes(b"\xff\x00")
    absent = str(tmp_path / "absent.hgrm")
    attempts = [
        lambda: ct.percentiles([absent]),
        lambda: ct.load(tmp_path / "binary.hgrm"),
        lambda: ct.load("a\0b"),
        lambda: ct.Run({}),
        lambda: ct.Run(latency.document).report(str(tmp_path)),
        lambda: latency.cells(to="excel"),
        lambda: latency.matrix(order="random"),
        lambda: ct.run("import", tmp_path / "absent.csv"),
        lambda: ct.place([], {1: None, 2: [0, 1]}, workload="ring", threads=2, progress=False, **MACHINE),
        lambda: ct.Comparison({**latency.document, "run": None}).text(),
    ]
    for attempt in attempts:
        with pytest.raises(ct.CoretalkError):
            attempt()
    of_wrong_types = [
        lambda: ct.place("./bench", {"one": "0"}),
        lambda: ct.place([], ["0"]),
        lambda: ct.queue(None),
        lambda: ct.Run(None),
        lambda: ct.compare(latency, latency),
        lambda: ct.percentiles(absent),
    ]
    for wrong in of_wrong_types:
        with pytest.raises(TypeError):
            wrong()
    monkeypatch.setattr("builtins.open", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "denied")))
    with pytest.raises(ct.InputError, match="denied"):
        ct.load(tmp_path / "binary.hgrm")
    (tmp_path / "locked.csv").touch()
    with pytest.raises(ct.InputError, match="denied"):
        ct.load(tmp_path / "locked.csv")


@pytest.mark.parametrize("command", ["wait", "wake", "spawn", "contend", "sharing", "broadcast", "jitter", "queue"])
def test_series_have_the_columns_of_csv(command, store):
    more = {"rate": "1M/s"} if command == "queue" else {}
    run = ct.run(command, cpus="0,1", budget="3s", store=store, progress=False, **more, **MACHINE)
    text = exported(run, store, "--format", "csv", "--probe", command)
    printed = list(csv.reader(line for line in io.StringIO(text) if not line.startswith("#")))
    columns = [name.replace("max_ns", "p100_ns") for name in printed[0]]
    assert len(set(columns)) == len(columns)
    rows = run.series()
    filled = {name for fields in printed[1:] for name, field in zip(columns, fields) if field}
    assert filled <= {*rows[0], "view"} and {*rows[0]} - {"phase"} <= {*columns}
    assert len(rows) == len(printed) - 1
    for row, fields in zip(rows, printed[1:]):
        for name, field in zip(columns, fields):
            value = row.get(name)
            is_alike = field == ("" if value is None else str(value))
            assert is_alike or float(field) == pytest.approx(value, abs=1e-3), name


def test_each_distribution_has_the_values_of_its_trial(store):
    run = ct.run("wake", cpus="0,1", budget="2s", gap="20us,1ms", primitive="semaphore", store=store, progress=False, **MACHINE)
    values = {(row["gap_ns"], row["slept_mean_ns"], row["samples"]) for row in run.series()}
    assert len(values) == 2 and len(run.series(view="slept")) == 2, "two trials of several distributions"
    assert {(row["gap_ns"], row["slept_mean_ns"], row["samples"]) for row in run.series(view="slept")} == values


def test_series_have_their_parameters_values_and_percentiles(store):
    run = ct.run("wake", cpus="0,1", budget="2s", store=store, progress=False, **MACHINE)
    rows = run.series(primitive="semaphore")
    assert rows and {row["primitive"] for row in rows} == {"semaphore"} and "p50_ns" in rows[0]


def test_percentile_tables_are_read(store, tmp_path):
    run = ct.run("wake", cpus="0,1", budget="2s", primitive="semaphore", store=store, progress=False, **MACHINE)
    _binary.output(["export", run.id, "--store", store, "--format", "hgrm", "-o", str(tmp_path)])
    curves = [ct.load(file) for file in sorted(tmp_path.glob("*.hgrm"))]
    assert curves and all(curve.count > 0 and curve.at(0.5) <= curve.at(0.99) for curve in curves)


def test_comparisons_have_levels(latency, store):
    other = ct.run("latency", cpus="0-2,8,16", store=store, progress=False, machine="sim:chiplet-16-smt", seed=2)
    compared = ct.compare(latency.id, other.id, store=store, progress=False)
    levels = compared.levels()
    paths = [pathlib.Path(_binary.output(["runs", "path", run.id, "--store", store]).strip()) for run in (latency, other)]
    assert ct.compare(*paths, progress=False).levels() == levels
    assert [row["level"] for row in levels] == ["smt", "l3", "package"]
    assert {(row["from_cpu"], row["to_cpu"]) for row in compared.pairs()} >= {(0, 1), (0, 16)}
    assert {row["verdict"] for row in levels} <= {"same", "faster", "slower", "unknown"}


def test_placements_name_their_winner(store):
    placements = {"one": "0-3", "two": "0,1,8,9"}
    options = {"workload": "ring", "threads": 4, "store": store, "progress": False}
    result = ct.place([], placements, **options, **MACHINE)
    assert result.winner == "one" and result.verdict == "winner"
    assert {row["placement"] for row in result.comparisons()} == set(placements)


def test_each_exit_code_has_a_class(tmp_path, store):
    with pytest.raises(ct.UsageError, match="similar name exists: `mutex`"):
        ct.run("queue", queue="mutx", progress=False, **MACHINE)
    with pytest.raises(ct.UsageError):
        ct.load("no-such-run", store=store)
    with pytest.raises(ct.InputError, match="failed to read"):
        ct.load(tmp_path / "absent.hgrm")
    codes = [error.exit_code for error in ct.errors.BY_EXIT_CODE.values()]
    assert sorted(codes) == [1, 2, 3, 4, 5, 6, 7, 70]


def test_words_are_as_on_the_command_line():
    options = {"cpus": [0, 8], "strict": True, "quiet": False, "budget": None, "note": {"bios": "1.2"}, "n_": 3}
    expected = ["--cpus", "0,8", "--strict", "--note", "bios=1.2", "--n", "3"]
    assert _binary.words_of(options) == expected
    assert _binary.words_of({"placement": {"one-l3": None, "two": range(2)}}) == ["--placement", "one-l3", "--placement", "two=0,1"]
    numpy = pytest.importorskip("numpy")
    options = {"cpus": numpy.array(3), "strict": numpy.bool_(True), "quiet": numpy.bool_(False)}
    assert _binary.words_of(options) == ["--cpus", "3", "--strict"]


def test_a_stderr_that_cannot_take_the_text_blocks_nothing(monkeypatch):
    for stderr in (None, io.TextIOWrapper(io.BytesIO(), encoding="ascii")):
        monkeypatch.setattr("sys.stderr", stderr)
        told = []
        _binary._relay(io.BytesIO("µs\nlast\n".encode()), told)
        assert told == ["µs\n", "last\n"]


def test_a_binary_that_is_none_is_refused(tmp_path, monkeypatch):
    for other in (tmp_path, tmp_path / "absent"):
        monkeypatch.setenv("CORETALK_BINARY", str(other))
        with pytest.raises(ct.BinaryNotFound, match="failed to run"):
            ct.runs()


def test_a_missing_binary_names_the_distribution(monkeypatch):
    monkeypatch.delenv("CORETALK_BINARY", raising=False)
    monkeypatch.setattr(_binary, "candidates", lambda: [])
    with pytest.raises(ct.BinaryNotFound, match=f"pip install {_binary.DISTRIBUTION}$"):
        ct.runs()


def test_a_binary_of_another_version_is_refused(tmp_path, monkeypatch):
    other = tmp_path / "coretalk"
    other.write_text("#!/bin/sh\necho coretalk 9.9.9\n")
    other.chmod(0o755)
    monkeypatch.setenv("CORETALK_BINARY", str(other))
    with pytest.raises(ct.BinaryNotFound, match="9.9.9"):
        _binary.find()


def test_a_run_in_a_notebook_is_a_picture_with_its_words(latency):
    shown = latency._repr_html_()
    assert "data:image/svg+xml;base64," in shown and "half round trip" in shown


def test_pictures_by_matplotlib(latency, tmp_path, store):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = latency.heatmap()
    assert len(axes.texts) == 20
    assert len(latency.heatmap(kernel=(name for name in [latency.matrices()[0]["kernel"]])).texts) == 20
    table = tmp_path / "a.hgrm"
    table.write_text(
        "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
        "       10.000 0.500000000000          5           2.00\n"
        "       20.000 1.000000000000         10\n#[Mean    =       15.000, StdDeviation   =        5.000]\n"
    )
    assert ct.percentiles([str(table)]).get_xlabel() == "percentile"


def test_ctrl_c_keeps_what_was_measured(store):
    code = (
        "import coretalk as ct, os, signal, threading\n"
        "threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        f"    ct.run('latency', cpus='0,1', budget='30s', precision='0.1%', store={store!r}, progress=False)\n"
        "except ct.Interrupted as stopped:\n"
        "    print('kept', stopped.run.id)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("kept "), done.stdout + done.stderr


def test_importing_takes_no_other_package():
    code = "import sys, coretalk; print(sorted({'numpy', 'pandas', 'polars', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
