"""Draw the packets that a sparse clip needs: python docs/packets_figure.py."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import videoloader as vl
from videoloader.demo.videos import encode_video

FRAMES = 72
WANTED = range(4, FRAMES, 8)
_WIDTH, _HEIGHT, _LEFT, _FOOT = 880, 150, 8, 34
_COLORS = {  # what is left out is faint on white and on black
    "kept": ("#2563eb", "decoded and kept"),
    "fed": ("#7ea3f1", "decoded: wanted frames refer to it"),
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
    heights = 8 + (_HEIGHT - _FOOT - 16) * np.sqrt(sizes / sizes.max())
    step = (_WIDTH - 2 * _LEFT) / len(sizes)
    kinds = np.full(len(sizes), "out", dtype="<U4")
    kinds[fed], kinds[kept] = "fed", "kept"
    base = _HEIGHT - _FOOT
    shapes = [
        f'<rect x="{_LEFT + number * step:.1f}" y="{base - height:.1f}" width="{step - 2:.1f}" '
        f'height="{height:.1f}" rx="1" fill="{_COLORS[kind][0]}"/>'
        for number, (height, kind) in enumerate(zip(heights, kinds, strict=True))
    ]
    for place, (kind, (color, text)) in enumerate(_COLORS.items()):
        left = _LEFT + 290 * place
        count = int((kinds == kind).sum())
        shapes += [
            f'<rect x="{left}" y="{_HEIGHT - 18}" width="12" height="12" rx="1" fill="{color}"/>',
            f'<text x="{left + 18}" y="{_HEIGHT - 7}">{count} {text}</text>',
        ]
    body = "\n".join(shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{FRAMES} packets, {len(fed)} of them decoded for {len(WANTED)} frames">\n'
        "<style>text{font:13px system-ui,sans-serif;fill:#6b7280}</style>\n"
        f"{body}\n</svg>\n"
    )


if __name__ == "__main__":
    Path(__file__).with_name("packets.svg").write_text(drawing(), encoding="utf-8")
