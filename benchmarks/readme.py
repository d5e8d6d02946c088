"""Write the README's tables from the newest measurements: python benchmarks/readme.py"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def newest(name: str) -> tuple[Path, dict[str, Any]]:
    path = max(RESULTS.glob(f"{name}-*.json"))
    return path, json.loads(path.read_text())


def indexing() -> str:
    path, run = newest("indexing")
    cases = {name: case["measurements"] for name, case in run["cases"].items()}
    repetitions = cases["MP4"][0]["repetitions"]
    lines = [
        "Milliseconds to find every frame of a 360p H.264 video of 10 minutes (18,000 frames), or "
        "2 hours (216,000), warm cache, every contender in its own process, median of "
        f"{repetitions} ([measurement](benchmarks/results/{path.name}), {run['cores']} cores, "
        f"{run['date'][:10]}; `make bench` repeats it). Approximate modes know no times.",
        "",
        f"| | {' | '.join(cases)} |",
        f"|---|{'---|' * len(cases)}",
    ]
    names = [row["contender"] for row in sorted(cases["MP4"], key=lambda row: row["median_ms"])]
    for name in names:
        found = {
            case: next((row for row in rows if row["contender"] == name), None)
            for case, rows in cases.items()
        }
        cells = [_cell(row) for row in found.values()]
        shown = f"**{name}**" if name == "videoloader" else name
        lines.append(f"| {shown} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    return f"{row['median_ms']:.2f}" + ("" if row["agrees"] else " (wrong)")


def filled(readme: str) -> str:
    """The README with its tables as they should be."""
    for name, table in {"indexing": indexing()}.items():
        pattern = rf"(<!-- figures: {name} -->\n).*?(?=\n## )"
        (before,) = re.findall(pattern, readme, re.DOTALL)
        readme = re.sub(pattern, f"{before}\n{table}\n", readme, flags=re.DOTALL)
    return readme


def main() -> None:
    path = ROOT / "README.md"
    path.write_text(filled(path.read_text()))


if __name__ == "__main__":
    main()
