"""Tables as lists of rows, or as pandas or polars frames if these are installed."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from .errors import ParameterError

Row = Dict[str, Any]


def to_frame(rows: List[Row], to: Optional[str]) -> Any:
    """`rows` as they are (None), or as a frame of "pandas" or "polars"."""
    if to is None:
        return rows
    if to == "pandas":
        import pandas

        return pandas.DataFrame(rows)
    if to == "polars":
        import polars

        return polars.DataFrame(rows, infer_schema_length=None)
    raise ParameterError(f'to={to!r}: "pandas", "polars" or None')
