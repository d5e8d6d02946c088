"""The order in which the gallery *Learn* shows its programs."""

from __future__ import annotations

from pathlib import Path

LESSONS = (
    "action_recognition",
    "two_rates",
    "masked_pretraining",
    "robot_cameras",
    "robot_policy",
    "vision_language",
    "captions",
    "sound_with_pictures",
    "colour",
    "curate",
    "scenes",
    "failures",
    "slow_loader",
    "resume",
    "cluster",
    "millions_of_videos",
)


def place(program: str) -> int:
    """The place of a program, by the name of its file."""
    return LESSONS.index(Path(program).stem)
