"""Chooses frames, clips and batches, and plans the fewest packets to decode. Pure numpy.

Start at `clips.py` (clip samplers) and `plan.py` (`plan_decode`, frames to packets). `padding.py`,
`selection.py` and `times.py` map what a user asks for to frame numbers. `orders/` has the order of
samples in an epoch, `batches/` batches of clips of several shapes. `random.py` has the random
numbers of all of them.

For `videoloader.dali`: `clips.py`, `orders/reader_epochs.py`, `orders/reader_order.py`,
`orders/sample_order.py`, `orders/weighted.py`, `sampler.py`, `seeding.py`, `several_clips.py`.

>>> mode: PadMode = "constant"
>>> pad_frames([8, 9, 10], 10, mode)[0].tolist(), FILLED
([8, 9, -1], -1)
>>> snap: Snap = "keyframe"
>>> mode in PAD_MODES, snap in SNAPS
(True, True)
"""

from videoloader.sampling.batches.batch_plan import BatchList, BatchPlan
from videoloader.sampling.batches.buckets import Buckets, aspect_buckets
from videoloader.sampling.batches.packs import Packing
from videoloader.sampling.batches.video_sizes import VideoSizes
from videoloader.sampling.clips import DenseClips, EvenClips, RandomClip, SegmentClip, UniformClip
from videoloader.sampling.orders.batch_order import BatchOrder
from videoloader.sampling.orders.sample_order import EpochSamples
from videoloader.sampling.padding import FILLED, PAD_MODES, PadMode, check_pad_mode, pad_frames
from videoloader.sampling.plan import DecodePlan, Run, needed_pictures, plan_decode, plan_runs
from videoloader.sampling.random import Draw, generator
from videoloader.sampling.sampler import ClipSampler, sample_frames
from videoloader.sampling.selection import (
    SNAPS,
    Snap,
    check_snap,
    clip_span,
    select_at_rate,
    select_frames,
    snap_to_keyframes,
)
from videoloader.sampling.times import frames_at_times

__all__ = [
    "FILLED",
    "PAD_MODES",
    "SNAPS",
    "BatchList",
    "BatchOrder",
    "BatchPlan",
    "Buckets",
    "ClipSampler",
    "DecodePlan",
    "DenseClips",
    "Draw",
    "EpochSamples",
    "EvenClips",
    "Packing",
    "PadMode",
    "RandomClip",
    "Run",
    "SegmentClip",
    "Snap",
    "UniformClip",
    "VideoSizes",
    "aspect_buckets",
    "check_pad_mode",
    "check_snap",
    "clip_span",
    "frames_at_times",
    "generator",
    "needed_pictures",
    "pad_frames",
    "plan_decode",
    "plan_runs",
    "sample_frames",
    "select_at_rate",
    "select_frames",
    "snap_to_keyframes",
]
