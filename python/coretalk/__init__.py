"""coretalk: how fast the CPUs of a machine talk to each other, and where threads should run.

Measuring happens in the binary, of the same version as this package, never inside the interpreter; so do statistics:
intervals and verdicts are read, not computed. numpy, pandas, polars and matplotlib are used where they are installed.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _binary
from .errors import (
    BinaryNotFound,
    CannotTell,
    CoretalkError,
    EnvironmentRefused,
    Found,
    InputError,
    InternalError,
    Interrupted,
    ParameterError,
    StoreError,
    UsageError,
)
from .percentiles import Percentiles, read
from .run import Comparison, Placements, Run, parsed

__version__ = "0.1.0"
__all__ = [
    "BinaryNotFound",
    "CannotTell",
    "Comparison",
    "CoretalkError",
    "EnvironmentRefused",
    "Found",
    "InputError",
    "InternalError",
    "Interrupted",
    "ParameterError",
    "Percentiles",
    "Placements",
    "Run",
    "StoreError",
    "UsageError",
    "compare",
    "load",
    "percentiles",
    "place",
    "queue",
    "quick",
    "run",
    "runs",
]


# Commands whose output is no document of a run, and what to use.
_INSTEAD = {
    "runs": "use `coretalk.runs()`, or `coretalk.load()` for one of them",
    "report": "use `Run.report()`",
    "view": "use `coretalk.percentiles()`",
    **dict.fromkeys(("adapters", "completions", "help", "lint", "man", "selftest"), "call it in a terminal"),
}


def run(command: str, *words: Union[str, "os.PathLike[str]"], progress: bool = True, **options: Any) -> Run:
    """Measures: `run("latency", cpus="0-7", precision="1%")` is `coretalk latency --cpus 0-7 --precision 1%`.

    Options are those of the command line with underscores; see `coretalk help COMMAND`. CPUs are text, or any iterable of
    numbers, such as `range(8)`. Progress goes to standard error.
    On Ctrl-C an exception Interrupted has what was measured so far in its `run`.

    Raises the class of the exit code: see `CoretalkError`. As everywhere in this package, TypeError stands for arguments
    of a wrong Python type alone.
    """
    if command in _INSTEAD and words[:1] != ("show",):
        raise UsageError(f"`coretalk {command}` prints no document of a run: {_INSTEAD[command]}")
    return _measured([command], [os.fsdecode(word) for word in words], progress, options)


def quick(*, progress: bool = True, **options: Any) -> Run:
    """Takes the quick look, as `coretalk` without a command: `quick(cpus=range(4)).ladder()` compares its steps.

    Options and exceptions are as of `run`.
    """
    return _measured([], (), progress, options)


def _measured(command: List[str], words: Sequence[str], progress: bool, options: Dict[str, Any]) -> Run:
    own = words[: words.index("--")] if "--" in words else words
    if options.get("output") is not None or any(word.startswith(("-o", "--output")) for word in own):
        raise UsageError("`output` would take the document that is returned: use `export_json` and the like")
    store = options.get("store")
    quiet = [] if progress else ["-q"]
    spoken = [*command, "--format", "json", *quiet, *_binary.words_of(options), *words]
    code, printed, told = _binary.execute(spoken)
    measured = parsed(printed, store) if code == 0 or printed.startswith("{") else None
    if code == 0 and measured is not None:
        return measured
    error = _binary.failure(code, told)
    error.run = measured or (_partial(spoken, store) if isinstance(error, Interrupted) else None)
    raise error


def runs(store: Optional[str] = None) -> List[Dict[str, Any]]:
    """The saved runs of a store, newest first: id, name, started, tags, command, machine, cpus, state, bytes, reason."""
    listed = parsed(_binary.output(["runs", "list", "--format", "json", *_binary.words_of({"store": store})]))
    return list(listed.document["saved"])


def _partial(spoken: List[str], store: Optional[str]) -> Optional[Run]:
    """The interrupted run of a command, read from the store: only complete runs print a document."""
    try:
        latest = load("latest", store)
    except CoretalkError:
        return None
    # Paths are not kept in runs, so options may differ by them.
    is_it = isinstance(latest, Run) and not latest.complete and len(latest.command) == len(spoken)
    return latest if isinstance(latest, Run) and is_it and latest.command[:1] == spoken[:1] else None


def load(what: Union[str, "os.PathLike[str]"], store: Optional[str] = None) -> Union[Run, Percentiles]:
    """A saved run (its id or the start or end of it, a tag, "latest", a path), a matrix of any tool, or a .hgrm file."""
    name = os.fsdecode(what)
    if name.endswith((".hgrm", ".hgrm.csv")):
        return read(name)
    is_foreign = os.path.isfile(name) and not _is_run_file(name)
    words = ["import" if is_foreign else "export", name, "--format", "json"]
    return parsed(_binary.output([*words, *([] if is_foreign else _binary.words_of({"store": store}))]), store)


def _is_run_file(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(15) == b"SQLite format 3"
    except OSError as error:
        raise InputError(f"failed to read {path}: {error.strerror}") from None


def compare(
    a: Union[str, "os.PathLike[str]"], b: Union[str, "os.PathLike[str]"], store: Optional[str] = None, **options: Any
) -> Comparison:
    """Two saved runs, by name as in `load`, or files of other tools, level by level.

    Raises Found or CannotTell only with `fail_on`.
    """
    result = run("compare", a, b, store=store, **options)
    assert isinstance(result, Comparison)
    return result


def place(
    command: Sequence[str],
    placements: Mapping[str, Any],
    metric: Union[str, Mapping[str, str], None] = None,
    **options: Any,
) -> Placements:
    """Compares placements with a command: `place(["./bench"], {"one": "0", "two": [0, 1]}, metric={"ops": r"([\\d.]+) op/s"})`.

    The CPUs of a placement are text or numbers in the order of threads, or None for a built-in placement, such as
    `{"one-l3": None}`; metrics are regular expressions by name.
    An empty command compares built-in work: give `workload`.
    """
    if isinstance(command, (str, bytes)) or not isinstance(placements, Mapping):
        raise TypeError("`command` is a list of words, `placements` a dict of CPUs by name")
    chosen = _binary.words_of({"placement": placements})
    program = ["--", *command] if command else []
    result = run("place", *chosen, *program, metric=metric, **options)
    assert isinstance(result, Placements)
    return result


def queue(run: Run, to: Optional[str] = None, **parameters: Any) -> Any:
    """The cells of a queue run, such as `queue(queues, capacity=10, to="pandas")`: messages per second with intervals."""
    if not isinstance(run, Run):
        raise TypeError(f"`queue` takes a Run, not a {type(run).__name__}")
    return run.cells(to, probe="queue", **parameters)


def percentiles(curves: Sequence[Union[Percentiles, str, "os.PathLike[str]"]], ax: Any = None) -> Any:
    """Draws distributions of .hgrm files in one chart, with matplotlib. Returns the axes."""
    from .draw import percentiles as draw

    if isinstance(curves, (str, bytes)):
        raise TypeError("`curves` is a list of files or distributions")
    loaded: List[Percentiles] = [
        curve if isinstance(curve, Percentiles) else read(os.fsdecode(curve)) for curve in curves
    ]
    return draw(loaded, ax)
