"""Tests of the wheel with oldest and newest versions of Python and of dependencies: `make matrix`.

    python tests/matrix.py [--save] [ROW...]

Each row of `ROWS` gets an environment of its own from uv, which also fetches the Python if it can,
with the wheel and versions within the bounds of `pyproject.toml`. Tests of pure layers, tensors,
frames, batches and `Loader` run there, on a copy of the tests beside which no package lies. An
environment takes up to 6 GB, as wheels of PyTorch bring CUDA along, and is removed after its row;
`UV_EXTRA_INDEX_URL` may name an index of builds for the CPU. `--save` writes the rows that ran into
docs/installing.md. Exits with 1 if tests of a row failed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "installing.md"
BUILD = ROOT / "build" / "matrix"
HEAD = "| row | Python | PyAV | PyTorch | NumPy | pyarrow | OpenCV | result | date |"
TESTS = (
    *(
        "tests/sampling",
        "tests/codecs",
        "tests/dali/tensors",
        "tests/dali/fn",
        "tests/dali/test_types.py",
    ),
    *("tests/test_video.py", "tests/training/test_loader.py", "tests/decoding/test_batch.py"),
    *("tests/indexing/test_containers.py", "tests/cli/test_command.py"),
)
PACKAGE = ("videoloader", "pyproject.toml", "setup.py", "README.md", "LICENSE")
# What tests read, beside themselves.
BESIDE = ("tests", "docs", "samples", "conftest.py", "pyproject.toml", "README.md")
TOOLS = ("pytest>=8.3", "pytest-timeout>=2.3", "pytest-xdist>=3.6", "hypothesis>=6.100")
# Of calls between libraries: of torch before 2.6 while a tensor is unpickled, of Click by older
# versions of typer.
WARNINGS = (
    *("-W", "ignore:You are using `torch.load`:FutureWarning"),
    *("-W", "ignore:'click.:DeprecationWarning"),
)

OLDEST, NEWEST = "lowest-direct", "highest"
# Name: Python, which versions uv prefers, requirements beside those of the package.
ROWS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    **{f"oldest-{python}": (python, OLDEST, ()) for python in ("3.11", "3.12", "3.13", "3.14")},
    **{f"newest-{python}": (python, NEWEST, ()) for python in ("3.11", "3.12", "3.13", "3.14")},
    "newest-3.14t": ("3.14t", NEWEST, ()),
    "numpy-1.26": ("3.12", NEWEST, ("numpy==1.26.*",)),
    **{f"pyav-{version}": ("3.12", NEWEST, (f"av=={version}.*",)) for version in range(15, 20)},
}


def uv(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """What uv wrote; it is the uv beside this Python, or on PATH."""
    beside = Path(sys.executable).with_name("uv")
    command = [beside if beside.exists() else "uv", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def run_row(name: str, wheel: Path) -> tuple[str, bool]:
    """The line of a row for the page, and whether its tests passed or could not run."""
    python, resolution, pins = ROWS[name]
    place = BUILD / name
    made = uv("venv", "--clear", "--python", python, place)
    if made.returncode:
        return _line(name, python, {}, "not run: no such Python"), True
    install = ("pip", "install", "--python", place, "--only-binary", ":all:")
    # Of the package alone: to uv the dependencies of a wheel are not direct ones.
    installed = uv(*install, "--resolution", resolution, "-r", ROOT / "pyproject.toml", *pins)
    if not installed.returncode:
        installed = uv(*install, wheel, *TOOLS)
    if installed.returncode:
        sys.stderr.write(installed.stderr)
        return _line(name, python, {}, "not run: no wheels for it"), True
    listed = json.loads(uv("pip", "list", "--python", place, "--format", "json").stdout)
    versions = {each["name"]: each["version"] for each in listed}
    told = "import platform; print(platform.python_version())"
    found = subprocess.run([place / "bin/python", "-c", told], capture_output=True, text=True)
    pytest = [place / "bin/pytest", "-q", "-p", "no:cacheprovider", "-n", "auto", *WARNINGS, *TESTS]
    # `pytest`, not `python -m pytest`: the working folder must not be searched for modules.
    done = subprocess.run(pytest, cwd=BUILD / "tree", stdout=subprocess.PIPE, text=True)
    summary = done.stdout.strip().rpartition("\n")[2]
    if done.returncode:
        sys.stderr.write(done.stdout)
    shutil.rmtree(place)
    result = summary.partition(" in ")[0]
    return _line(name, found.stdout.strip(), versions, result), not done.returncode


def _line(name: str, python: str, versions: dict[str, str], result: str) -> str:
    packages = ("av", "torch", "numpy", "pyarrow", "opencv-python-headless")
    cells = [name, python, *(versions.get(package, "") for package in packages), result]
    return f"| {' | '.join(cells)} | {datetime.datetime.now(datetime.UTC).date()} |"


def save(lines: list[str]) -> None:
    """Put lines into the table of the page; only a row that ran replaces an older line."""
    before, head, rest = PAGE.read_text(encoding="utf-8").partition(HEAD)
    rows, end, after = rest.partition("\n\n")
    older = [line for line in rows.splitlines() if line and "---" not in line]
    ran = [line for line in lines if "| not run" not in line]
    known = {line.split(" | ")[0].strip("| "): line for line in (*lines, *older, *ran)}
    table = [known[name] for name in ROWS if name in known]
    text = "\n".join([head, "|" + " --- |" * 9, *table])
    PAGE.write_text(before + text + end + after, encoding="utf-8")


def main() -> None:
    """Build the wheel once, then run the rows one after another."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--save", action="store_true", help=f"write into docs/{PAGE.name}")
    options = parser.parse_args()
    unknown = set(options.rows) - set(ROWS)
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")

    shutil.rmtree(BUILD, ignore_errors=True)
    for folder, names in (("tree", BESIDE), ("source", PACKAGE)):
        (BUILD / folder).mkdir(parents=True)
        for name in names:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, BUILD / folder / name)
    built = uv("build", "--wheel", "--out-dir", BUILD / "wheel", BUILD / "source")
    if built.returncode:
        sys.exit(built.stderr)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    wheel = BUILD / "wheel" / f"videoloader-{version}-py3-none-any.whl"

    os.environ.pop("PYTHONPATH", None)  # the package is that of the wheel
    all_passed = True
    for name in options.rows or ROWS:
        line, passed = run_row(name, wheel)
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        if options.save:
            save([line])
        all_passed &= passed
    sys.exit(not all_passed)


if __name__ == "__main__":
    main()
