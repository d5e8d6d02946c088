"""Files in git that are made from the declarations of operators: `make written` writes them.

They are the stubs of `videoloader.dali.fn` and `ops`, and docs/dali/dali-operators.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STUBS = ROOT / "videoloader" / "dali"


def written() -> dict[str, str]:
    """The text of each file, by its path in the repository."""
    from making import dali_table, stubs

    texts = {f"videoloader/dali/{name}": text for name, text in stubs.stubs().items()}
    return {**texts, "docs/dali/dali-operators.md": dali_table.page()}


def present() -> set[str]:
    """Paths of the files that there are."""
    return {path.relative_to(ROOT).as_posix() for path in STUBS.rglob("*.pyi")} | {
        "docs/dali/dali-operators.md"
    }


def main() -> None:
    """Write all, and remove stubs of modules that are gone."""
    texts = written()
    for name in present() - set(texts):
        (ROOT / name).unlink()
    for name, text in texts.items():
        (ROOT / name).parent.mkdir(exist_ok=True, parents=True)
        (ROOT / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "docs"))
    main()
