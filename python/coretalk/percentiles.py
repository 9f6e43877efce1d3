"""Percentile tables of HdrHistogram (.hgrm), of any tool."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import List, Tuple

from .errors import InputError


@dataclass(frozen=True)
class Percentiles:
    """A distribution: rows of a value and the share of counts at or below it, and the number of counts."""

    name: str
    rows: List[Tuple[float, float]] = field(repr=False)
    count: int

    def at(self, share: float) -> float:
        """The value of the first row at or above a share, such as 0.99."""
        return next((value for value, upto in self.rows if upto >= share), self.rows[-1][0])


def read(path: str) -> Percentiles:
    """Reads a table as HdrHistogram prints it, in columns or as CSV."""
    rows: List[Tuple[float, float]] = []
    count = 0
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except (OSError, ValueError) as error:
        raise InputError(f"failed to read {path}: {getattr(error, 'strerror', None) or error}") from None
    for line in lines:
        fields = line.replace(",", " ").replace('"', "").split()
        if not fields or fields[0].startswith("#") or fields[0] == "Value":
            continue
        try:
            rows.append((float(fields[0]), float(fields[1])))
            count = max(count, int(fields[2]))
        except (ValueError, IndexError):
            raise InputError(f"{path} is not a percentile table of HdrHistogram: {line.strip()!r}") from None
    if not rows:
        raise InputError(f"{path} holds no percentiles")
    return Percentiles(os.path.splitext(os.path.basename(path))[0], rows, count)
