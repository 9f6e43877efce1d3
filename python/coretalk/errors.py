"""One exception class for each exit code of the binary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .run import Run


class CoretalkError(Exception):
    """The binary ended with an exit code other than 0.

    The text is the sentence that the binary printed. `run` is what was measured all the same, where a document was
    printed: a run that was interrupted, or one whose cells `--strict` does not trust.
    """

    exit_code: int = -1

    def __init__(self, message: str, run: Optional["Run"] = None) -> None:
        super().__init__(message)
        self.run = run


class Found(CoretalkError):
    """A comparison found what `fail_on` asks for, cells cannot be trusted with `strict`, or a compared command failed."""

    exit_code = 1


class UsageError(CoretalkError):
    """Syntax, an unknown name, run or CPU, or options that exclude each other."""

    exit_code = 2


class ParameterError(UsageError, ValueError):
    """An argument of this package names what a run or the package does not have; the text lists what there is."""


class EnvironmentRefused(CoretalkError):
    """The machine or the system does not allow it: a forbidden CPU, too few CPUs, no pinning, an unusable clock."""

    exit_code = 3


class InputError(CoretalkError):
    """An input file is missing, unreadable or invalid."""

    exit_code = 4


class Interrupted(CoretalkError):
    """Interrupted; what was measured so far is in `run`, and in the store unless saving was turned off."""

    exit_code = 5


class StoreError(CoretalkError):
    """A run file or a result could not be written."""

    exit_code = 6


class CannotTell(CoretalkError):
    """A comparison with `fail_on` could not decide."""

    exit_code = 7


class InternalError(CoretalkError):
    """A defect of the binary."""

    exit_code = 70


class BinaryNotFound(CoretalkError):
    """There is no coretalk binary, or its version differs from that of this package."""


BY_EXIT_CODE = {
    error.exit_code: error
    for error in (
        Found,
        UsageError,
        EnvironmentRefused,
        InputError,
        Interrupted,
        StoreError,
        CannotTell,
        InternalError,
    )
}
