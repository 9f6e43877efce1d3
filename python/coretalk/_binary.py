"""Finds the binary of this version and runs it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from functools import lru_cache
from typing import IO, Any, List, Mapping, Sequence, Tuple

from .errors import BY_EXIT_CODE, BinaryNotFound, CoretalkError, UsageError

Option = Any

# The name in the Python package index, where `coretalk` is another project.
DISTRIBUTION = "coretalk-bench"


def candidates() -> List[str]:
    """Where the binary may be, best first."""
    name = "coretalk.exe" if os.name == "nt" else "coretalk"
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    user = sysconfig.get_path("scripts", f"{os.name}_user")
    found = [os.path.join(folder, name) for folder in [*folders, user]]
    on_path = shutil.which(name)
    return [*found, on_path] if on_path else found


@lru_cache(maxsize=None)
def _checked(path: str) -> str:
    from . import __version__

    try:
        said = subprocess.run([path, "--version"], capture_output=True, check=False).stdout
    except OSError as error:
        raise BinaryNotFound(f"failed to run {path}: {error.strerror}") from None
    told = said.decode(errors="replace").split()
    if told[:2] != ["coretalk", __version__]:
        version = told[1] if len(told) > 1 else "unknown"
        raise BinaryNotFound(f"{path} is of version {version}, this package of {__version__}: install both alike")
    return path


def find() -> str:
    """The path of the binary; the environment variable `CORETALK_BINARY` names another one.

    Raises BinaryNotFound if there is none, or if its version is not that of this package.
    """
    named = os.environ.get("CORETALK_BINARY")
    if named:
        return _checked(named)
    for path in candidates():
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return _checked(path)
    raise BinaryNotFound(f"there is no coretalk binary next to this Python or on PATH: pip install {DISTRIBUTION}")


def words_of(options: Mapping[str, Option]) -> List[str]:
    """Options as the command line takes them: `precision="1%"` is `--precision 1%`, `strict=True` is `--strict`.

    Items of any iterable, such as a range, a generator or a numpy array, are joined with commas, and the CPUs of a pair in
    it with `-`; dicts become `NAME=VALUE` once for each entry, `NAME` alone where the value is None; None and False leave an
    option out.
    """
    words: List[str] = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        value = scalar(value)
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, Mapping):
            for key, part in value.items():
                words += [option, str(key) if part is None else f"{key}={_word(part)}"]
        else:
            words += [option, _word(value)]
    return words


def scalar(value: Any) -> Any:
    """A number or truth value of numpy as that of Python; anything else as it is."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _word(value: Any, between: str = ",") -> str:
    value = scalar(value)
    if isinstance(value, (bytes, os.PathLike)):
        return os.fsdecode(value)
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return str(value)
    return between.join(_word(item, "-") for item in value)


def _relay(source: IO[bytes], keep: List[str]) -> None:
    for line in iter(source.readline, b""):
        text = line.decode(errors="replace")
        keep.append(text)
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):
            # No stderr, or one that cannot take the text: the binary must not block on a pipe that nobody reads.
            pass


def execute(words: Sequence[str]) -> Tuple[int, str, str]:
    """Exit code, standard output and standard error of the binary. Progress goes to `sys.stderr` as it comes.

    On Ctrl-C the binary is told once, ends by itself, and what it printed is returned.
    """
    told: List[str] = []
    try:
        child = subprocess.Popen(
            [find(), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=os.name == "posix",
        )
    except (OSError, ValueError) as error:
        raise UsageError(f"failed to start coretalk with these arguments: {error}") from None
    assert child.stdout is not None and child.stderr is not None
    relay = threading.Thread(target=_relay, args=(child.stderr, told), daemon=True)
    relay.start()
    printed: List[bytes] = []
    source = child.stdout
    reader = threading.Thread(target=lambda: printed.append(source.read()), daemon=True)
    reader.start()
    try:
        reader.join()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        reader.join()
    code = child.wait()
    relay.join()
    return code, b"".join(printed).decode(), "".join(told)


def sentence(told: str) -> str:
    """The last sentence that the binary printed about itself."""
    lines = [line for line in told.splitlines() if line.startswith("coretalk: ")]
    return lines[-1][len("coretalk: ") :] if lines else told.strip()


def failure(code: int, told: str) -> CoretalkError:
    """The exception for an exit code."""
    error = BY_EXIT_CODE.get(code, CoretalkError)
    return error(sentence(told) or f"coretalk ended with exit code {code}")


def output(words: Sequence[str]) -> str:
    """Standard output of a command that reads only; an exception if it fails."""
    code, printed, told = execute(words)
    if code != 0:
        raise failure(code, told)
    return printed
