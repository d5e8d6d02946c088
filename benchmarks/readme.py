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
    rows = sorted(run["measurements"], key=lambda row: row["median_ms"])
    ours = next(row["median_ms"] for row in rows if row["contender"] == "videoloader")
    lines = [
        f"Finding the {rows[0]['num_frames']:,} frames of a 10-minute 360p MP4, warm cache, every "
        f"contender in its own process, median of {rows[0]['repetitions']} "
        f"([measurement](benchmarks/results/{path.name}), {run['cores']} cores, "
        f"{run['date'][:10]}; `make bench` repeats it):",
        "",
        "| | ms | to ours | gives all times |",
        "|---|---|---|---|",
    ]
    for row in rows:
        name, known = row["contender"], "yes" if row["times_known"] else "no"
        if name == "videoloader":
            name = "**videoloader**"
        lines.append(
            f"| {name} | {row['median_ms']:.2f} | {row['median_ms'] / ours:.1f} | {known} |"
        )
    return "\n".join(lines)


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
