"""Draw the packets that a sparse clip needs: python docs/packets_figure.py."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import videoloader as vl
from videoloader.demo.videos import encode_video

FRAMES = 72
WANTED = range(4, FRAMES, 8)
_WIDTH, _BARS, _LINE = 560, 104, 24  # a legend line each below the bars: readable 350 pixels wide
_COLORS = {  # what is left out is faint on white and on black
    "kept": ("#2563eb", "decoded and kept"),
    "fed": ("#7ea3f1", "decoded: wanted frames refer to them"),
    "out": ('#9ca3af" fill-opacity=".45', "left out: no wanted frame needs it"),
}


def drawing() -> str:
    """The figure as SVG: a bar for each packet of a video, in decode order."""
    with tempfile.TemporaryDirectory() as folder:
        path = encode_video(Path(folder) / "clip.mp4", size=(640, 360), frames=FRAMES)
        index = vl.index_video(path, headers=True)
    plan = vl.sampling.plan_decode(index, WANTED)
    fed = np.unique(np.concatenate([run.packets for run in plan]))
    kept = index.frame_packets[list(WANTED)]
    sizes = index.packets["size"].astype(float)
    heights = 8 + (_BARS - 8) * np.sqrt(sizes / sizes.max())
    step = _WIDTH / len(sizes)
    kinds = np.full(len(sizes), "out", dtype="<U4")
    kinds[fed], kinds[kept] = "fed", "kept"
    shapes = [
        f'<rect x="{number * step:.1f}" y="{_BARS - height:.1f}" width="{step - 1.5:.1f}" '
        f'height="{height:.1f}" rx="1" fill="{_COLORS[kind][0]}"/>'
        for number, (height, kind) in enumerate(zip(heights, kinds, strict=True))
    ]
    for place, (kind, (color, text)) in enumerate(_COLORS.items()):
        base = _BARS + _LINE * (place + 1)
        count = int((kinds == kind).sum())
        shapes += [
            f'<rect x="0" y="{base - 13}" width="14" height="14" rx="1" fill="{color}"/>',
            f'<text x="22" y="{base}">{count} {text}</text>',
        ]
    body = "\n".join(shapes)
    height = _BARS + 3 * _LINE + 20
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{FRAMES} packets, {len(fed)} of them decoded for {len(WANTED)} frames">\n'
        "<style>text{font:16px system-ui,sans-serif;fill:#757b86}</style>\n"
        f"{body}\n</svg>\n"
    )


if __name__ == "__main__":
    Path(__file__).with_name("packets.svg").write_text(drawing(), encoding="utf-8")
