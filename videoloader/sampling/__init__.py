"""Which frames are wanted, and the fewest packets that reach them. Pure numpy."""

from videoloader.sampling.clips import (
    ClipSampler,
    DenseClips,
    RandomClip,
    SegmentClip,
    UniformClip,
    sample_frames,
)
from videoloader.sampling.closure import needed_pictures
from videoloader.sampling.keyframes import SNAPS, Snap, snap_to_keyframes
from videoloader.sampling.padding import FILLED, PAD_MODES, PadMode, check_pad_mode, pad_frames
from videoloader.sampling.plan import DecodePlan, Run, plan_decode
from videoloader.sampling.random import generator
from videoloader.sampling.selection import clip_span, select_frames
from videoloader.sampling.times import frames_at_times

__all__ = [
    "FILLED",
    "PAD_MODES",
    "SNAPS",
    "ClipSampler",
    "DecodePlan",
    "DenseClips",
    "PadMode",
    "RandomClip",
    "Run",
    "SegmentClip",
    "Snap",
    "UniformClip",
    "check_pad_mode",
    "clip_span",
    "frames_at_times",
    "generator",
    "needed_pictures",
    "pad_frames",
    "plan_decode",
    "sample_frames",
    "select_frames",
    "snap_to_keyframes",
]
