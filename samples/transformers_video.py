"""Frames of a video through transformers: python samples/transformers_video.py VIDEO"""

from __future__ import annotations

import argparse

from transformers.video_utils import load_video

from videoloader.compat import transformers as hook


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video")
    parser.add_argument("--frames", type=int, default=8)
    arguments = parser.parse_args()

    hook.register()
    frames, metadata = load_video(arguments.video, arguments.frames, backend=hook.NAME)
    print(
        f"{tuple(frames.shape)} of {metadata.total_num_frames} frames at {metadata.fps:g} a second"
    )
    print("times:", *(f"{time:.2f}" for time in metadata.timestamps))


if __name__ == "__main__":
    main()
