"""A run, as the binary printed it: `coretalk.run/1`."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterator, List, Optional, Tuple, cast

from . import _binary
from .errors import CoretalkError, ParameterError, UsageError
from .frames import Row, to_frame

SCHEMA = "coretalk.run/1"


class Run:
    """A run, a comparison or imported numbers; `document` is the JSON document as a dict.

    Unknown values are None. Intervals are at 95 %, computed by the binary.
    """

    def __init__(self, document: Dict[str, Any], store: Optional[str] = None) -> None:
        if not isinstance(document, dict):
            raise TypeError(f"`document` is a dict, not a {type(document).__name__}")
        if document.get("schema") != SCHEMA:
            raise ParameterError(f"this is a document of schema {document.get('schema')!r}, not {SCHEMA!r}")
        self.document = document
        self._store = store

    @property
    def id(self) -> Optional[str]:
        """The id of the run; None for comparisons and imported numbers."""
        return cast(Optional[str], self._header("id"))

    @property
    def command(self) -> List[str]:
        """The arguments of the command that measured it, without the program name."""
        return self._header("command") or []

    @property
    def tags(self) -> List[str]:
        """Tags given by `coretalk runs tag`."""
        return self._header("tags") or []

    @property
    def complete(self) -> Optional[bool]:
        """Whether everything planned was measured."""
        return cast(Optional[bool], self._header("complete"))

    @property
    def simulated(self) -> Optional[bool]:
        """Whether the machine was simulated: such numbers say nothing about hardware."""
        return cast(Optional[bool], self._header("simulated"))

    @property
    def build(self) -> Optional[Dict[str, Any]]:
        """How the program that measured was built: target, linking, features, profile, opt_level, commit, lock_date,
        sqlite; None where simulated, and in runs of programs that did not say."""
        environment = self.document.get("environment") or {}
        return cast(Optional[Dict[str, Any]], environment.get("build_facts"))

    def _header(self, key: str) -> Any:
        return (self.document.get("run") or {}).get(key)

    def __repr__(self) -> str:
        name = " ".join(self.command) or "numbers without a run"
        matrices = len(self.document["matrices"])
        return f"<coretalk.Run {(self.id or '')[-4:]} {name}: {matrices} matrices, {len(self.series())} series>"

    def matrices(self, **parameters: Any) -> List[Dict[str, Any]]:
        """The matrices of the document whose probe, protocol, kernel or parameters are as given; a list means any of it.

        Raises ParameterError, as all that take such parameters, for a name or value that no matrix has.
        """
        return _chosen(self.document["matrices"], "matrices", parameters)

    def cells(self, to: Optional[str] = None, **parameters: Any) -> Any:
        """A row for each cell: from_cpu, to_cpu, relation, kernel, median, low and high (95 %), cycles, grade, flags, reason.

        Columns of times end in `_ns`; those of other quantities stand beside their `unit`. Parameters such as
        `protocol="cas"` or `capacity=10` choose matrices. `to` is "pandas", "polars" or None for a list of dicts.
        """
        chosen = self.matrices(**parameters)
        relation = self._relations()
        in_ns = all(matrix["unit"] == "ns" for matrix in chosen)
        ending = "_ns" if in_ns else ""
        rows: List[Row] = []
        for matrix in chosen:
            own = {} if matrix["probe"] in ("latency", "imported") else matrix["parameters"]
            for cell in matrix["cells"]:
                low, high = cell["ci"] or (None, None)
                row: Row = {
                    "from_cpu": cell["from"],
                    "to_cpu": cell["to"],
                    "relation": relation(cell["from"], cell["to"]),
                    "protocol": matrix["protocol"],
                    "kernel": matrix["kernel"],
                    **own,
                    "median" + ending: cell["median"],
                    "low" + ending: low,
                    "high" + ending: high,
                }
                if not in_ns:
                    row["unit"] = matrix["unit"]
                row["cycles"] = (cell["cycles"] or {}).get("median")
                row["passes"] = cell["passes"]
                row["grade"] = cell["grade"]
                row["flags"] = " ".join(cell["flags"])
                row["reason"] = cell["reason"]
                rows.append(row)
        return to_frame(rows, to)

    def _relations(self) -> Any:
        levels = ((self.document.get("topology") or {}).get("reported") or {}).get("levels") or []
        homes = [
            (level["level"], {cpu: index for index, group in enumerate(level["groups"]) for cpu in _cpus(group)})
            for level in levels
        ]

        def relation(a: int, b: int) -> Optional[str]:
            if a == b:
                return "self"
            shared = (name for name, home in homes if a in home and home.get(a) == home.get(b))
            return next(shared, None)

        return relation

    def matrix(self, protocol: Optional[str] = None, order: str = "measured", **parameters: Any) -> Tuple[Any, List[int]]:
        """A square of medians and the CPUs of its rows and columns; unmeasured cells are NaN.

        A numpy array where numpy is installed, otherwise a list of lists. `order` is "measured", as the run was laid
        out, or "number". More parameters, such as `capacity=10`, choose one of several matrices.
        """
        return self._square(self._only_matrix(protocol, parameters), order)

    def _only_matrix(self, protocol: Optional[str], parameters: Dict[str, Any]) -> Dict[str, Any]:
        chosen = self.matrices(protocol=protocol, **parameters)
        if len(chosen) != 1:
            names = "; ".join(map(_name, chosen))
            raise ParameterError(f"{len(chosen)} matrices match; there are: {names}" if chosen else "this run has no matrices")
        return chosen[0]

    @staticmethod
    def _square(matrix: Dict[str, Any], order: str) -> Tuple[Any, List[int]]:
        if order not in ("measured", "number"):
            raise ParameterError(f'order={order!r}: "measured" or "number"')
        cpus: List[int] = list(matrix["cpus"]) if order == "measured" else sorted(matrix["cpus"])
        index = {cpu: at for at, cpu in enumerate(cpus)}
        square = [[float("nan")] * len(cpus) for _ in cpus]
        for cell in matrix["cells"]:
            if cell["median"] is None:
                continue
            a, b = index[cell["from"]], index[cell["to"]]
            square[a][b] = cell["median"]
            if matrix["symmetric"]:
                square[b][a] = cell["median"]
        try:
            import numpy
        except ImportError:
            return square, cpus
        return numpy.array(square), cpus

    def series(self, to: Optional[str] = None, **parameters: Any) -> Any:
        """A row for each distribution of each trial of the other probes, with columns as in CSV.

        These are its parameters, its CPUs in role order joined by `-`, count, mean and percentiles of its events, the
        interval of their median (`median_ns_low`, `median_ns_high`), values and counts of its trial, values with intervals.
        """
        rows: List[Row] = []
        for one in _chosen(_with_trials(self.document["series"]), "series", parameters):
            row: Row = {"probe": one["probe"], "cpus": _placed(one["placement"]), **one["parameters"]}
            unit, values = one["unit"], one["values"]
            row["count"] = one["count"] if one["kind"] == "event" else None
            row["mean_" + unit] = one["mean"]
            row.update((f"p{percent}_{unit}", value) for percent, value in one["percentiles"].items())
            for name in dict.fromkeys([*one["intervals"], *values]):
                if name in values:
                    row[name + "_point" if name in row else name] = values[name]
                if name not in one["counts"]:
                    row[name + "_low"], row[name + "_high"] = one["intervals"].get(name) or (None, None)
            row.update(one["counts"])
            row.update(passes=one["passes"], grade=one["grade"], flags=" ".join(one["flags"]), reason=one["reason"])
            rows.append(row)
        return to_frame(_even(rows), to)

    def ladder(self, to: Optional[str] = None) -> Any:
        """A row for each step of the ladder and relation, of a quick look (`quick`)."""
        rows = []
        for step in self.document["ladder"]:
            row = dict(step)
            for name in ("ci", "range"):
                row[name + "_low"], row[name + "_high"] = row.pop(name) or (None, None)
            rows.append(row)
        return to_frame(rows, to)

    def heatmap(self, protocol: Optional[str] = None, ax: Any = None, order: str = "measured", **parameters: Any) -> Any:
        """The matrix as a heat map, with matplotlib; returns the axes."""
        from .draw import heatmap

        return heatmap(self, protocol, ax, order, **parameters)

    def text(self) -> str:
        """The screen of the run, as the terminal shows it. Only for saved runs."""
        return _binary.output(["runs", "show", self._saved(), "--color", "never", *self._in_store()])

    def report(self, path: str, **options: Any) -> str:
        """Writes a page or a picture of a saved run (.html, .svg, .png) and returns its path."""
        _binary.output(["report", self._saved(), "-o", path, *_binary.words_of(options), *self._in_store(), "-q"])
        return path

    def _saved(self) -> str:
        if self.id is None:
            raise ParameterError("the binary can show only saved runs")
        return self.id

    def _in_store(self) -> List[str]:
        return _binary.words_of({"store": self._store})

    def _repr_html_(self) -> Optional[str]:
        """For notebooks: the picture to share, and the text of the screen."""
        import base64
        import html
        import tempfile

        try:
            with tempfile.TemporaryDirectory() as folder:
                path = self.report(os.path.join(folder, "run.svg"))
                with open(path, "rb") as file:
                    picture = base64.b64encode(file.read()).decode()
            words = html.escape(self.text())
        except CoretalkError:
            return None
        image = f'<img alt="{html.escape(repr(self))}" style="max-width:100%" src="data:image/svg+xml;base64,{picture}">'
        return f"{image}<details><summary>in words</summary><pre>{words}</pre></details>"


class Comparison(Run):
    """A comparison of two runs or files."""

    def levels(self, to: Optional[str] = None) -> Any:
        """A row for each level, or trial, that was compared: medians, shift, its interval, verdict and reason."""
        return to_frame(self._differences(of_pairs=False), to)

    def pairs(self, to: Optional[str] = None) -> Any:
        """The same for each pair of CPUs: from_cpu and to_cpu in place of a level."""
        return to_frame(self._differences(of_pairs=True), to)

    def _differences(self, of_pairs: bool) -> List[Row]:
        rows: List[Row] = []
        for one in self.document["differences"]:
            if ("cell" in one) != of_pairs:
                continue
            row = dict(one)
            if of_pairs:
                row["from_cpu"], row["to_cpu"] = row.pop("cell")
            row["ci_low"], row["ci_high"] = row.pop("ci") or (None, None)
            rows.append(row)
        return _even(rows)


class Placements(Run):
    """Placements compared by `place`."""

    @property
    def winner(self) -> Optional[str]:
        """The placement that beats every other; None if there is none or the data cannot tell (see `verdict`)."""
        return cast(Optional[str], self._first()["winner"])

    @property
    def verdict(self) -> str:
        """As in the document, such as "winner", "same" or "unknown"."""
        return cast(str, self._first()["verdict"])

    def _first(self) -> Dict[str, Any]:
        comparisons: List[Dict[str, Any]] = self.document["comparisons"]
        if len(comparisons) != 1:
            raise ParameterError(f"{len(comparisons)} comparisons: see `comparisons()`")
        return comparisons[0]

    def comparisons(self, to: Optional[str] = None) -> Any:
        """A row for each workload and placement: CPUs in role order joined by `-`, median with interval, runs, winner."""
        rows: List[Row] = []
        for comparison in self.document["comparisons"]:
            for placement in comparison["placements"]:
                low, high = placement["ci"] or (None, None)
                rows.append(
                    {
                        "workload": comparison["workload"],
                        "metric": comparison["metric"],
                        "placement": placement["name"],
                        "cpus": _placed(placement["cpus"]),
                        "median": placement["median"],
                        "low": low,
                        "high": high,
                        "unit": comparison["unit"],
                        "runs": len(placement["runs"]),
                        "winner": comparison["winner"],
                        "p_value": comparison["p_value"],
                    }
                )
        return to_frame(rows, to)


def parsed(text: str, store: Optional[str] = None) -> Run:
    """The run, comparison or placements of a document; UsageError for other text."""
    try:
        document = json.loads(text)
    except ValueError:
        raise UsageError("the command printed no document") from None
    if document.get("differences") or document.get("compared"):
        return Comparison(document, store)
    if document.get("comparisons"):
        return Placements(document, store)
    return Run(document, store)


def _chosen(entries: List[Dict[str, Any]], what: str, parameters: Dict[str, Any]) -> List[Dict[str, Any]]:
    """The entries that have one of the values of each parameter; None chooses all."""
    if not entries and parameters.keys() - {name for name, value in parameters.items() if value is None}:
        raise ParameterError(f"this run has no {what}")
    keys = ("probe", "protocol", "kernel", "regime")
    known = [{**one["parameters"], **{key: one[key] for key in keys if one.get(key) is not None}} for one in entries]
    for name, value in parameters.items():
        if value is None:
            continue
        there = list(dict.fromkeys(one[name] for one in known if name in one))
        value = _binary.scalar(value)
        wanted = [value] if isinstance(value, str) or not hasattr(value, "__iter__") else list(value)
        if not wanted:
            raise ParameterError(f"{name} is empty: name a value, or None for all")
        unknown = [one for one in wanted if one not in there]
        if not there:
            names = ", ".join(dict.fromkeys(name for one in known for name in one))
            raise ParameterError(f"nothing here has a `{name}`; there are: {names}")
        if unknown:
            raise ParameterError(f"{name}={unknown[0]!r}: there are {', '.join(map(repr, there))}")
        kept = [(one, has) for one, has in zip(entries, known) if has.get(name) in wanted]
        entries, known = [one for one, _ in kept], [has for _, has in kept]
    return entries


def _with_trials(entries: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The entries of series, each with values and counts of its trial: the document has them in the first of a trial."""
    whole: List[Dict[str, Any]] = []
    first: Dict[str, Any] = {}
    trial: Any = None
    for one in entries:
        parameters = {name: value for name, value in one["parameters"].items() if name not in ("view", "phase")}
        of = (one["probe"], one["placement"], parameters)
        if of != trial:
            first, trial = one, of
        values, counts = first["values"], first["counts"]
        intervals = {name: ends for name, ends in first["intervals"].items() if name in values}
        whole.append({**one, "values": values, "counts": counts, "intervals": {**intervals, **one["intervals"]}})
    return whole


def _placed(cpus: List[int]) -> str:
    return "-".join(map(str, cpus))


def _name(matrix: Dict[str, Any]) -> str:
    parameters = ", ".join(f"{key}={value}" for key, value in matrix["parameters"].items() if key != "hint_reason")
    return " ".join(filter(None, [matrix["probe"], matrix["protocol"] or "", parameters]))


def _even(rows: List[Row]) -> List[Row]:
    """The same columns in every row: trials of several probes stand in one table."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in columns} for row in rows]


def _cpus(group: str) -> Iterator[int]:
    for part in filter(None, group.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
