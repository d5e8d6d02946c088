"""The newest measurements, and tables in Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def newest(name: str) -> tuple[Path, dict[str, Any]]:
    """The newest file of a benchmark, and what is in it."""
    path = max(RESULTS.glob(f"{name}-*.json"))
    return path, json.loads(path.read_text())


def as_table(heads: list[str], rows: list[list[str]]) -> str:
    """Rows of cells as a table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("|  |", "| |")
