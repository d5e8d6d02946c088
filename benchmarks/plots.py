"""The plots of the README and of docs/benchmarks.md: cases down, one dot for each library.

`tables.py` draws them. Colours are readable on white and on black, and there is no background.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OURS = "videoloader"
_INK, _FAINT = "#757b86", "#9ca3af"
_COLORS = {OURS: "#2563eb", "NVDEC alone": _INK, "floor, needed packets": _INK}
_OTHERS = ("#c2410c", "#15803d", "#a855f7", "#0891b2", "#be185d", "#a16207", "#78716c")
_SHAPES = ("o", "s", "D", "^", "v", "P", "X")
_DRAWN_WITH = "DejaVu Sans"  # comes with matplotlib; readers see a font of their own
_ROW, _WIDTH = 0.5, 5.4  # inches; on a phone the letters keep two thirds of their size


@dataclass(frozen=True, slots=True)
class Plot:
    """Numbers of some libraries, case by case.

    Attributes:
        title: what a reader is told who cannot see it.
        unit: below the axis; says which side is better.
        rows: for each case the number of each library that did it right.
        line: where a line is drawn, if at all, and what it stands for.
    """

    title: str
    unit: str
    rows: Mapping[str, Mapping[str, float]]
    line: tuple[float, str] | None = None

    def svg(self) -> str:
        """The plot; equal for equal numbers."""
        import matplotlib as mpl

        mpl.use("svg")
        from matplotlib import pyplot as plt

        style: Any = {
            "svg.fonttype": "none",
            "svg.hashsalt": self.title,
            "font.family": _DRAWN_WITH,
            "font.size": 10,
            **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), _INK),
        }
        names = list(dict.fromkeys(name for found in self.rows.values() for name in found))
        names.sort(key=lambda name: name == OURS)  # on top
        with mpl.rc_context(style):
            size = _WIDTH, 1.3 + _ROW * len(self.rows)
            figure, axes = plt.subplots(figsize=size, layout="constrained")
            self._draw(figure, axes, names)
            made = io.StringIO()
            metadata: Any = {"Date": None, "Creator": None, "Title": self.title}
            figure.savefig(made, format="svg", transparent=True, metadata=metadata)
            plt.close(figure)
        return made.getvalue().replace(f"'{_DRAWN_WITH}'", "system-ui, sans-serif")

    def _draw(self, figure: Any, axes: Any, names: list[str]) -> None:
        places = {case: -place for place, case in enumerate(self.rows)}
        for case, found in self.rows.items():
            if found:
                axes.hlines(places[case], min(found.values()), max(found.values()), _FAINT, lw=1)
        others = [name for name in names if name not in _COLORS]
        for name in names:
            number = others.index(name) if name in others else 0
            color = _COLORS.get(name, _OTHERS[number % len(_OTHERS)])
            shape = "o" if name in _COLORS else _SHAPES[(number + 1) % len(_SHAPES)]
            points = [
                (found[name], places[case]) for case, found in self.rows.items() if name in found
            ]
            size = 60 if name == OURS else 30
            axes.scatter(*zip(*points, strict=True), size, color, shape, label=name, zorder=3)
        if self.line is not None:
            axes.axvline(self.line[0], color=_FAINT, lw=1, ls="--", label=self.line[1])
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.4g}")
        axes.xaxis.set_minor_formatter(_labelled_minor(axes))
        axes.set_xlabel(self.unit)
        axes.set_yticks([])
        for case, place in places.items():  # above its dots, which then have the whole width
            axes.text(0, place + 0.28, case, transform=axes.get_yaxis_transform())
        axes.set_ylim(-len(places) + 0.6, 0.8)
        axes.tick_params(length=0, which="both")
        axes.grid(axis="x", color=_FAINT, alpha=0.3, lw=0.6)
        for side in ("top", "left", "right", "bottom"):
            axes.spines[side].set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda place: labels[place] != OURS)
        figure.legend(
            [handles[place] for place in order],
            [labels[place] for place in order],
            loc="outside upper left",
            ncols=min(len(labels), 3),
            frameon=False,
            handletextpad=0.3,
            columnspacing=1.2,
        )


def _labelled_minor(axes: Any) -> Any:
    """Numbers between powers of ten, where the axis has few of these."""

    def label(value: float, _: int) -> str:
        low, high = axes.get_xlim()
        first = int(f"{value:e}"[0])
        return f"{value:,.4g}" if high / low < 30 and first in (2, 5) else ""

    return label
