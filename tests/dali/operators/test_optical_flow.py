"""Optical flow of pictures that move by a known vector."""

import cv2
import numpy as np
import pytest
import torch

from videoloader.dali import fn, ops, pipeline_def, types
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, UnsupportedError

MOVES = [(3, 2), (-4, 1), (0, -5)]


def scene(seed=0):
    noise = np.random.default_rng(seed).integers(0, 256, (300, 320), np.uint8)
    return cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 2), None, 0, 255, cv2.NORM_MINMAX)


def moving(move, count=3, size=(64, 80), channels=3):
    """A clip (F, H, W, C) whose content moves by (x, y) pixels from frame to frame."""
    picture, (height, width) = scene(), size
    frames = [
        picture[100 - at * move[1] :, 100 - at * move[0] :][:height, :width] for at in range(count)
    ]
    return torch.from_numpy(np.stack(frames)[..., None].repeat(channels, -1))


def inner(flow, border=4):
    return flow[:, border:-border, border:-border]


@pytest.mark.parametrize("preset", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("move", MOVES)
def test_the_flow_of_a_translation_is_its_vector_in_pixels(move, preset):
    for grid in (1, 2, 4):
        flow = fn.optical_flow(moving(move), layout="FHWC", output_grid=grid, preset=preset)
        assert flow.dtype == torch.float32
        assert tuple(flow.shape) == (2, 64 // grid, 80 // grid, 2)
        difference = inner(flow, 12 // grid) - torch.tensor(move, dtype=torch.float32)
        assert difference.abs().median() < 0.1
        assert difference.abs().mean() < 0.3


def test_every_frame_is_compared_with_the_next():
    first, second = moving((3, 2), count=2), moving((-4, 1), count=2)
    clip = torch.cat([first, second])
    flow = fn.optical_flow(clip, layout="FHWC", output_grid=4)
    assert torch.equal(flow[0], fn.optical_flow(first, layout="FHWC")[0])
    assert torch.equal(flow[2], fn.optical_flow(second, layout="FHWC")[0])


def test_a_cell_has_the_mean_of_its_pixels_and_covers_the_border():
    clip = moving((3, 2), count=2, size=(30, 41))
    pixels = fn.optical_flow(clip, layout="FHWC", output_grid=1)[0]
    cells = fn.optical_flow(clip, layout="FHWC", output_grid=4)[0]
    assert tuple(cells.shape) == (8, 11, 2)
    for row, column in ((0, 0), (3, 5), (6, 9)):
        block = pixels[row * 4 : row * 4 + 4, column * 4 : column * 4 + 4]
        assert torch.allclose(cells[row, column], block.mean((0, 1)), atol=1e-5)
    assert torch.allclose(cells[7, 3, 0], pixels[[28, 29, 29, 29], 12:16, 0].mean(), atol=1e-5)


def test_hints_lead_to_moves_that_the_search_alone_does_not_find():
    noise = np.random.default_rng(3).integers(0, 256, (220, 260), np.uint8)
    far = (0, 40)
    frames = [noise[100 - at * far[1] :, 60:][:64, :80] for at in range(2)]
    clip = torch.from_numpy(np.stack(frames)[..., None].copy())
    settings = {"layout": "FHWC", "image_type": types.GRAY, "hint_grid": 8, "output_grid": 1}
    hints = torch.tensor(far, dtype=torch.float32).expand(1, 8, 10, 2)

    def missed(flow):
        return (flow[0, :20] - torch.tensor(far)).norm(dim=-1).median()

    found = fn.optical_flow(clip, hints, enable_external_hints=True, **settings)
    assert missed(found) < 1
    assert missed(fn.optical_flow(clip, **settings)) > 10


def test_temporal_hints_change_all_but_the_first_flow():
    clip = moving((7, 6), count=4)
    alone = fn.optical_flow(clip, layout="FHWC")
    hinted = fn.optical_flow(clip, layout="FHWC", enable_temporal_hints=True)
    assert torch.equal(alone[0], hinted[0])
    assert not torch.equal(alone[1:], hinted[1:])
    vector = torch.tensor((7.0, 6.0))
    assert (inner(hinted, 3) - vector).abs().median() < 0.1


def test_channels_are_weighed_in_their_order():
    clip = moving((3, 2))
    clip[..., 1:] = 128  # only the first channel moves
    gray = clip.float() @ torch.tensor([0.299, 0.587, 0.114])
    as_gray = gray.add(0.5).to(torch.uint8)[..., None]
    settings = {"layout": "FHWC", "output_grid": 1}
    as_rgb = fn.optical_flow(clip, **settings)
    expected = fn.optical_flow(as_gray, image_type=types.GRAY, **settings)
    assert (as_rgb - expected).abs().mean() < 0.05
    as_bgr = fn.optical_flow(clip.flip(-1), image_type=types.BGR, **settings)
    assert torch.equal(as_rgb, as_bgr)


def test_clips_of_different_shapes_go_through_a_pipeline():
    clips = [moving((3, 2), 2), moving((-4, 1), 4, (32, 48))]

    @pipeline_def(batch_size=2, num_threads=2, device_id=None)
    def pipeline():
        data = fn.external_source(
            source=lambda: [clip.numpy() for clip in clips], batch=True, layout="FHWC"
        )
        return fn.optical_flow(data, output_grid=2), ops.OpticalFlow(output_grid=2)(data)

    running = pipeline()
    running.build()
    by_function, by_class = running.run()
    assert by_function.layout() == "FHWC"
    for found, again, clip in zip(by_function, by_class, clips, strict=True):
        expected = fn.optical_flow(clip, layout="FHWC", output_grid=2)
        assert np.array_equal(np.array(found), expected)
        assert np.array_equal(np.array(again), expected)


def test_the_gpu_is_refused_with_what_to_do_instead():
    with pytest.raises(UnsupportedError, match=r'device="cpu".*DIS.*frames\.cpu\(\)'):
        fn.optical_flow(moving((1, 1)), layout="FHWC", device="gpu")

    @pipeline_def(batch_size=1, num_threads=1, device_id=0)
    def pipeline():
        data = fn.external_source(source=lambda: [moving((1, 1))], batch=True, layout="FHWC")
        return fn.optical_flow(data.gpu())

    with pytest.raises(UnsupportedError, match="NVIDIA's optical flow"):
        pipeline()


@pytest.mark.parametrize(
    ("clip", "given", "told"),
    [
        (moving((1, 1), count=1), {}, "2 frames or more"),
        (moving((1, 1), size=(8, 80)), {}, "12x12"),
        (moving((1, 1), channels=1), {}, "3 channels, got 1"),
        (moving((1, 1)).float(), {}, "uint8"),
        (moving((1, 1)), {"output_grid": 3}, "output_grid"),
        (moving((1, 1)), {"preset": 0.3}, "preset"),
        (
            moving((1, 1)),
            {"image_type": types.YCbCr},
            "one of ImageType.RGB, ImageType.BGR, ImageType.GRAY",
        ),
        (moving((1, 1)), {"enable_external_hints": True}, "enabled, but not given"),
    ],
)
def test_what_has_no_flow_is_an_error(clip, given, told):
    with pytest.raises(ArgumentError, match=told):
        fn.optical_flow(clip, layout="FHWC", **given)


def test_hints_must_cover_the_frames():
    clips = TensorList([moving((1, 1), count=2)], "FHWC")
    for hints, enabled, told in (
        (torch.zeros(1, 16, 20, 2), False, "given, but not enabled"),
        (torch.zeros(1, 16, 19, 2), True, r"\(1, 16, 20, 2\), got \(1, 16, 19, 2\)"),
    ):
        with pytest.raises(ArgumentError, match=told):
            fn.optical_flow(clips, TensorList([hints], "FHWC"), enable_external_hints=enabled)
