"""Encode the demo's clips into a folder: python samples/make_videos.py FOLDER."""

from __future__ import annotations

import argparse
from pathlib import Path

from videoloader.demo.videos import DEMO_VIDEOS, make_videos


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("folder", type=Path, help="made if it is not there; clips in it are kept")
    traits = {video.name: video.trait for video in DEMO_VIDEOS}
    for path in make_videos(parser.parse_args().folder):
        print(f"{path}  {path.stat().st_size / 1024:.0f} KiB  {traits[path.name]}")


if __name__ == "__main__":
    main()
