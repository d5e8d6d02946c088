"""Tests of other libraries, run on what stands in for them here and on their own readers.

    make peers                                     all of them, also into benchmarks/results
    python benchmarks/peers.py [--save] [NAME...]

`python benchmarks/tables.py` writes the table in docs/drop-ins.md. The tests are those in source
distributions that read video. Those of torchcodec, decord2, PyTorchVideo, Megatron Energon and
MMAction2 have no tests; those of LeRobot, transformers, datasets, WebDataset and SGLang have none
that read video and can run. Media that a distribution lacks are encoded here, with the properties
that its tests state. Tests that need the network are left out. Libraries are installed into the
environment of this Python.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import peer_media
from figures import ROOT
from machine import RESULTS, environment, link_ffmpeg, machine, today

BUILD = ROOT / "build" / "peers"
SECONDS = 300  # for one test
PACKAGES = ("videoloader", "av", "torch", "torchcodec", "numpy", "opencv-python-headless", "pytest")
_STUBS = """
import sys, types
for name in ("minimax_m3", "minimax_m3.common", "minimax_m3.common.mm_preprocess"):
    module = sys.modules[f"vllm.models.{name}"] = types.ModuleType(name)
    module.__path__ = []
module.MiniMaxM3VideoBackend = type("MiniMaxM3VideoBackend", (), {})  # needs torchvision
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The tests of a library, and how they get our reader.

    Args:
        name: of the source distribution, with the version.
        stands_in: the drop-ins that are tested.
        hook: Python code that puts them in the place of what they stand for.
        tests: arguments of pytest.
        media: makes the files that the distribution lacks, in a folder.
        at: that folder; relative to the unpacked distribution.
        before: Python code that both runs begin with.
        install: how pip installs the library, beside the name.
        variables: the environment of pip and of the tests.
    """

    name: str
    stands_in: str
    hook: str
    tests: tuple[str, ...]
    media: Callable[[Path], None]
    at: str
    before: str = ""
    install: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


PEERS = (
    Peer(
        name="imageio==2.38.1",
        stands_in="ImageIO",
        hook="from videoloader.compat import imageio; imageio.register('pyav')",
        tests=("tests/test_pyav.py", "-m", "not needs_internet"),
        media=peer_media.of_imageio,
        at=".test_images",
    ),
    Peer(
        name="scenedetect==0.7.2",
        stands_in="OpenCV",
        hook="from videoloader.compat import opencv; opencv.install()",
        tests=(
            *("tests/test_video_stream.py", "tests/test_backend_opencv.py"),
            *("-k", "not VideoStreamAv and not MoviePy"),
        ),
        media=peer_media.of_scenedetect,
        at="tests",
    ),
    Peer(
        name="vllm==0.33.0",
        stands_in="OpenCV, torchcodec",
        hook="from videoloader.compat import opencv, torchcodec; "
        "opencv.install(); torchcodec.install()",
        tests=(
            *("tests/multimodal/test_video.py", "tests/multimodal/media/test_video.py"),
            *("--noconftest", "-W", "ignore", "-k"),
            "(broken or edit_list or demux or recovery or torchcodec or frames_sampling or "
            "glm5next or clef or opencv_video) and not pynvvideocodec",
        ),
        media=peer_media.of_vllm,
        at="assets/vllm_public_assets",
        before=_STUBS,
        install=("--no-build-isolation",),
        variables=(
            ("VLLM_TARGET_DEVICE", "empty"),  # nothing is compiled
            ("VLLM_VERSION_OVERRIDE", "0.33.0"),
            ("VLLM_ASSETS_CACHE", "assets"),
            ("HF_HUB_OFFLINE", "1"),
        ),
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(map(_package, PEERS))}")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    arguments = parser.parse_args()
    link_ffmpeg()
    rows = []
    for peer in PEERS:
        if not arguments.names or _package(peer) in arguments.names:
            tree = unpack(peer)
            here, there = (run(peer, tree, hook) for hook in (peer.hook, ""))
            rows.append(
                {"peer": peer.name, "stands_in": peer.stands_in, "here": here, "there": there}
            )
            sys.stdout.write(f"{peer.name}: {summary(here)} here, {summary(there)} there\n")
    if arguments.save:
        path = RESULTS / f"peers-{today():%Y-%m-%d}.json"
        document = {"machine": machine(PACKAGES), "rows": rows}
        path.write_text(json.dumps(document, indent=1) + "\n")


def unpack(peer: Peer) -> Path:
    """Fetch and install a source distribution; returns its folder, with media."""
    shutil.rmtree(BUILD / _package(peer), ignore_errors=True)
    place = BUILD / _package(peer)
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    variables = os.environ | dict(peer.variables)
    source = ("--no-deps", "--no-binary", _package(peer), "--dest", str(place), *peer.install)
    subprocess.run([*pip, "download", *source, peer.name], env=variables, check=True)
    (archive,) = place.glob("*.tar.gz")
    subprocess.run([*pip, "install", *peer.install, str(archive)], env=variables, check=True)
    with tarfile.open(archive) as file:
        file.extractall(place, filter="data")
    (tree,) = (path.parent for path in place.glob("*/PKG-INFO"))
    (tree / peer.at).mkdir(parents=True, exist_ok=True)
    peer.media(tree / peer.at)
    return tree


def run(peer: Peer, tree: Path, hook: str) -> dict[str, Any]:
    """Run the tests of a peer once: how many passed, were left out or skipped, and which failed."""
    program = f"{peer.before}\n{hook}\nimport sys, pytest\nsys.exit(pytest.main(sys.argv[1:]))"
    report = tree / "report.xml"
    report.unlink(missing_ok=True)
    options = ("-c", "pyproject.toml", "--timeout", str(SECONDS), "--junit-xml", str(report))
    done = subprocess.run(
        [sys.executable, "-c", program, *peer.tests, *options],
        cwd=tree,
        env=environment() | dict(peer.variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    (tree / f"{'here' if hook else 'there'}.log").write_text(done.stdout)
    if not report.exists():
        sys.exit(done.stdout)
    cases = [
        (case.attrib["name"], {part.tag for part in case})
        for case in ElementTree.parse(report).iter("testcase")
    ]
    failed = [name for name, parts in cases if parts & {"failure", "error"}]
    skipped = [name for name, parts in cases if "skipped" in parts]
    deselected = re.search(r"(\d+) deselected", done.stdout)
    is_marked = "not needs_internet" in peer.tests
    return {
        "passed": len(cases) - len(failed) - len(skipped),
        "failed": failed,
        "skipped": skipped,
        "left_out": int(deselected[1]) if deselected and is_marked else 0,
    }


def summary(found: dict[str, Any]) -> str:
    failed = ", ".join(found["failed"]) or "none"
    return f"{found['passed']} passed, failed: {failed}, {len(found['skipped'])} skipped"


def _package(peer: Peer) -> str:
    return peer.name.partition("==")[0]


if __name__ == "__main__":
    main()
