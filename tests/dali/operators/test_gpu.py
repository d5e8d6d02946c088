"""Every operator on the GPU, against the same operator on the CPU; and pipelines that end there."""

from operator import attrgetter

import pytest
import torch

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.plugin.pytorch import GenericIterator, LastBatchPolicy
from videoloader.dali.tensors import TensorList

pytestmark = pytest.mark.gpu

CASES = [
    ("resize", {"size": (48, 64)}, 1),
    ("resize", {"resize_shorter": 90, "antialias": False}, 1),
    ("resize", {"resize_x": 40, "interp_type": vl.dali.types.INTERP_NN}, 0),
    ("resize", {"resize_y": 40, "interp_type": vl.dali.types.INTERP_CUBIC}, 1),
    ("crop", {"crop": (40, 50), "crop_pos_x": 0.2}, 0),
    ("flip", {"horizontal": 1, "vertical": 1}, 0),
    ("brightness_contrast", {"brightness": 1.3, "contrast": 0.7}, 1),
    ("cast", {"dtype": vl.dali.types.FLOAT16}, 0),
    (
        "crop_mirror_normalize",
        {"crop": (48, 64), "mirror": 1, "mean": [120.0], "std": [60.0]},
        1e-5,
    ),
    ("crop_mirror_normalize", {"dtype": vl.dali.types.FLOAT16, "std": [60.0]}, 2e-3),
    ("warp_affine", {"matrix": [0.9, 0.2, 3.0, -0.1, 1.1, 2.0], "fill_value": 7.0}, 1),
    ("rotate", {"angle": 33.0}, 1),
    ("water", {"interp_type": vl.dali.types.INTERP_LINEAR}, 1),
    ("sphere", {"interp_type": vl.dali.types.INTERP_LINEAR, "fill_value": 9.0}, 1),
    ("jitter", {"nDegree": 6, "seed": 3}, 0),
    *[
        (
            "experimental.warp_perspective",
            {"matrix": [0.9, 0.2, 3.0, -0.1, 1.1, 2.0, 1e-3, 2e-3, 1.0], "border_mode": border},
            1,
        )
        for border in ("constant", "replicate", "reflect", "reflect_101", "wrap")
    ],
]

SOUND = [
    ("preemphasis_filter", {}),
    ("spectrogram", {"window_length": 64, "window_step": 20}),
    ("power_spectrum", {"power": 1}),
    ("nonsilent_region", {"window_length": 16, "cutoff_db": -3.0}),
    ("mel_filter_bank", {"nfilter": 9}),
    ("to_decibels", {"multiplier": 20.0}),
    ("mfcc", {"lifter": 5.0}),
]


@pytest.mark.parametrize(("name", "arguments"), SOUND)
def test_sound_on_the_gpu_agrees_with_the_cpu(name, arguments):
    generator = torch.Generator().manual_seed(0)
    signals = TensorList([torch.rand(900 + n, generator=generator) for n in range(3)], "")
    operator = getattr(fn, name)
    here, there = operator(signals, **arguments), operator(signals.gpu(), **arguments)
    pairs = zip(here, there, strict=True) if isinstance(here, tuple) else [(here, there)]
    for one, other in pairs:
        assert other.device.type == "cuda"
        for wanted, got in zip(one, other.as_cpu(), strict=True):
            torch.testing.assert_close(
                got, wanted, rtol=1e-4, atol=1e-4 * float(wanted.abs().max())
            )


@pytest.mark.parametrize(("name", "arguments", "bound"), CASES)
def test_operators_agree_with_the_cpu(name, arguments, bound):
    frames = torch.randint(0, 256, (5, 60, 80, 3), dtype=torch.uint8)
    operator = attrgetter(name)(fn)
    here, there = operator(frames, **arguments), operator(frames.cuda(), **arguments)
    assert there.device.type == "cuda"
    assert (there.dtype, there.shape) == (here.dtype, here.shape)
    assert (there.cpu().double() - here.double()).abs().max() <= bound


@pytest.mark.parametrize("is_ragged", [False, True])
@pytest.mark.parametrize(
    ("name", "arguments", "bound"),
    [
        ("brightness_contrast", {"brightness": [0.5, 1.5, 1.0], "contrast": [[1, 0.5], 1, 2]}, 1),
        ("crop", {"crop": (20, 30), "crop_pos_x": [0.0, 0.4, 1.0]}, 0),
        ("crop_mirror_normalize", {"mirror": [0, 1, 0], "mean": [9.0, 8.0, 7.0]}, 1e-5),
        ("flip", {"horizontal": [1, 0, [0, 1]], "vertical": [0, 1, 1]}, 0),
        ("resize", {"resize_shorter": [30, 40, 50]}, 1),
    ],
)
def test_batches_agree_with_the_cpu(name, arguments, bound, is_ragged):
    frames = [
        torch.randint(0, 256, (2, 60, 80 + 8 * at * is_ragged, 3), dtype=torch.uint8)
        for at in range(3)
    ]
    batch = TensorList(frames if is_ragged else torch.stack(frames), "FHWC")
    here, there = (getattr(fn, name)(each, **arguments) for each in (batch, batch.gpu()))
    assert (there.shape(), there.layout(), there.dtype) == (here.shape(), here.layout(), here.dtype)
    for one, other in zip(here, there.as_cpu(), strict=True):
        assert (one.double() - other.double()).abs().max() <= bound


def pipeline(files, device):
    @vl.dali.pipeline_def(batch_size=4, num_threads=4, device_id=0, seed=5)
    def definition():
        clips, labels = fn.readers.video(
            device=device,
            filenames=files,
            labels=[],
            sequence_length=8,
            random_shuffle=True,
            pad_last_batch=True,
            name="Reader",
        )
        if device == "cpu":
            clips = clips.gpu()
        clips = fn.resize(clips, resize_x=64, resize_y=64)
        clips = fn.crop_mirror_normalize(
            clips, crop_h=48, crop_w=48, mean=[120.0], std=[60.0], mirror=fn.random.coin_flip()
        )
        return clips, labels

    return definition()


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_a_pipeline_ends_on_the_gpu(demo_folder, device):
    files = [str(demo_folder / name) for name in ("h264.mp4", "hevc.mp4", "av1.mp4")]
    with pipeline(files, device) as pipe:
        iterator = GenericIterator(
            [pipe],
            ["data", "label"],
            reader_name="Reader",
            last_batch_policy=LastBatchPolicy.PARTIAL,
            auto_reset=True,
        )
        for _ in range(2):
            batches = [batch for (batch,) in iterator]
            assert sum(len(batch["label"]) for batch in batches) == pipe.epoch_size("Reader")
            for batch in batches:
                assert batch["data"].device.type == "cuda"
                assert batch["data"].shape[1:] == (8, 3, 48, 48)
                assert batch["data"].isfinite().all()


def test_batches_on_the_gpu_hold_what_the_cpu_gives(demo_folder):
    files = [str(demo_folder / "h264.mp4")]

    def batches(to_gpu):
        @vl.dali.pipeline_def(batch_size=3, num_threads=2, seed=9, fuse=False)
        def definition():
            clips = fn.readers.video(filenames=files, sequence_length=6, random_shuffle=True)
            clips = clips.gpu() if to_gpu else clips
            return fn.crop_mirror_normalize(clips, crop=(64, 64), mirror=fn.random.coin_flip())

        with definition() as pipe:
            return [pipe.run()[0].as_cpu().as_tensor() for _ in range(6)]

    for here, there in zip(batches(to_gpu=False), batches(to_gpu=True), strict=True):
        assert torch.equal(here, there)


def test_frames_that_come_back_from_the_gpu_have_arrived():
    frames = torch.randint(0, 256, (2, 2160, 3840, 3), dtype=torch.uint8)
    flipped = fn.flip(frames)

    def source(iteration):  # no two samples are alike: memory that is used again shows
        return [frames + (4 * iteration + position) for position in range(4)]

    @vl.dali.pipeline_def(batch_size=4, num_threads=4, device_id=0)
    def definition():
        return fn.flip(fn.external_source(source, layout="FHWC").gpu()).cpu()

    with definition() as pipe:
        for iteration in range(20):
            for position, clip in enumerate(pipe.run()[0]):
                assert torch.equal(clip, flipped + (4 * iteration + position))
