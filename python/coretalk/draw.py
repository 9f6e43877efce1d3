"""Pictures with matplotlib, if it is installed. The binary draws its own: `Run.report`."""

from __future__ import annotations

from typing import Any, Iterable, List, Optional

from .percentiles import Percentiles
from .run import Run


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


def heatmap(run: Run, protocol: Optional[str] = None, ax: Any = None, order: str = "measured", **parameters: Any) -> Any:
    """A matrix as a heat map, coloured over its own range; cells show numbers up to 24 CPUs."""
    matrix = run._only_matrix(protocol, parameters)
    square, cpus = run._square(matrix, order)
    ax = _axes(ax)
    image = ax.imshow(square, cmap="viridis")
    ax.set_xticks(range(len(cpus)), labels=[str(cpu) for cpu in cpus])
    ax.set_yticks(range(len(cpus)), labels=[str(cpu) for cpu in cpus])
    ax.set_xlabel("CPU")
    ax.set_ylabel("CPU")
    ax.set_title(f"{matrix['kernel']}: {matrix['quantity'].replace('_', ' ')}, {matrix['unit']}")
    ax.figure.colorbar(image, ax=ax, label=matrix["unit"])
    if len(cpus) <= 24:
        low, high = image.get_clim()
        for a, row in enumerate(square):
            for b, value in enumerate(row):
                if value == value:
                    color = "white" if value < (low + high) / 2 else "black"
                    ax.text(b, a, f"{value:.3g}", ha="center", va="center", color=color, fontsize="x-small")
    return ax


def percentiles(curves: Iterable[Percentiles], ax: Any = None) -> Any:
    """Latency by percentile, on an axis that gives each nine the same room. Returns the axes."""
    ax = _axes(ax)
    deepest = 1
    for curve in curves:
        rows = [(value, share) for value, share in curve.rows if share < 1.0]
        ax.plot([1.0 / (1.0 - share) for _, share in rows], [value for value, _ in rows], label=curve.name, drawstyle="steps-post")
        deepest = max([deepest, *(len(str(int(1.0 / (1.0 - share)))) for _, share in rows)])
    ax.set_xscale("log")
    ticks: List[float] = [1.0, 2.0, *(10.0**power for power in range(1, deepest))]
    labels = ["0", "50", *(f"{100.0 * (1.0 - 1.0 / tick):.10g}" for tick in ticks[2:])]
    ax.set_xticks(ticks, labels=labels)
    ax.set_xlabel("percentile")
    ax.set_ylabel("value, as in the files")
    ax.legend()
    return ax
