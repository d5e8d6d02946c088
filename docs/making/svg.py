"""Drawings for pages as SVG, in colours of the page's theme (`_static/site.css`)."""

from __future__ import annotations

import base64
from html import escape

WIDTH = 880


class Drawing:
    """Shapes on a canvas of 880 units by `height`; `kind` names a colour, see the style sheet."""

    def __init__(self, height: float, title: str) -> None:
        self._height, self._title = height, title
        self._shapes: list[str] = []

    def box(
        self, x: float, y: float, width: float, height: float, kind: str, title: str = ""
    ) -> None:
        """A filled rectangle; `title` is shown where the mouse rests."""
        told = f"<title>{escape(title)}</title>" if title else ""
        self._shapes.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" '
            f'height="{height:.1f}" rx="1.5">{told}</rect>'
        )

    def frame(self, x: float, y: float, width: float, height: float) -> None:
        """The outline of a rectangle."""
        self._shapes.append(
            f'<rect class="outline" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}"/>'
        )

    def text(self, x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> None:
        """A line of text whose foot is at `y`."""
        self._shapes.append(
            f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
            f"{escape(text)}</text>"
        )

    def line(self, x: float, y: float, x2: float, y2: float, kind: str = "thin") -> None:
        """A straight line."""
        self._shapes.append(
            f'<line class="{kind}" x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        )

    def image(self, x: float, y: float, width: float, height: float, png: bytes) -> None:
        """A picture, which is part of the drawing."""
        data = base64.b64encode(png).decode()
        self._shapes.append(
            f'<image x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'href="data:image/png;base64,{data}"/>'
        )

    def legend(self, y: float, entries: dict[str, str], *, x: float = 0, step: float = 0) -> None:
        """What the colours mean, side by side."""
        for kind, text in entries.items():
            self.box(x, y - 10, 12, 12, kind)
            self.text(x + 18, y, text)
            x += step or 38 + 6.9 * len(text)

    def svg(self) -> str:
        """The drawing, to stand in a page."""
        shapes = "\n".join(self._shapes)
        return (
            f'<div class="diagram"><svg xmlns="http://www.w3.org/2000/svg" role="img" '
            f'viewBox="0 0 {WIDTH} {self._height:.0f}" aria-label="{escape(self._title)}">\n'
            f"{shapes}\n</svg></div>\n"
        )
