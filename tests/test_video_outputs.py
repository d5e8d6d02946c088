"""Grey frames, planes as coded, keyframes only, motion vectors and picture types; by PyAV's."""

from itertools import product

import av
import numpy as np
import pytest
import torch
from fake_gpu import fake_gpu  # noqa: F401  (a fixture)
from gpu_decoder import consumer, decoder  # noqa: F401  (fixtures)
from torch.nn.functional import interpolate

import videoloader as vl
from videoloader.decoding.framing import Framing
from videoloader.demo.videos import X264, encode_video
from videoloader.training.samples import divided

COUNT = 30


def encoded(path, codec, pixel_format, size=(64, 48), count=6, **tags):
    """A few frames whose luma is a gradient of all values of their bit depth, moving."""
    width, height = size
    bits = av.VideoFormat(pixel_format).components[0].bits
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
        if codec == "libx265":
            stream.options = {"x265-params": "log-level=none:lossless=1"}
        for number in range(count):
            frame = av.VideoFrame(width, height, pixel_format)
            for place, plane in enumerate(frame.planes):
                kind = np.dtype("u1" if bits == 8 else "<u2")
                rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
                rows = rows[: plane.height].view(kind)[:, : plane.width]
                y, x = np.mgrid[: plane.height, : plane.width]
                values = (y * 997 + x * 131 + number * 57 + place * 311) % (1 << bits)
                rows[...] = values
            frame.pts = number
            for name, value in tags.items():
                setattr(frame, name, value)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def decoded(path):
    with av.open(str(path)) as container:
        return list(container.decode(video=0))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """H.264 with B-frames, a keyframe every 12 frames."""
    path = tmp_path_factory.mktemp("outputs") / "clip.mp4"
    options = {**X264, "g": "12", "bf": "2", "sc_threshold": "0"}
    return encode_video(path, frames=COUNT, size=(128, 96), fps=30, options=options)


@pytest.mark.parametrize("pixel_format", ["gray", "gray10le", "gray12le", "gray16le"])
def test_depth_video_gives_its_very_samples(tmp_path, pixel_format):
    path = encoded(tmp_path / "depth.mkv", "ffv1", pixel_format)
    wanted = np.stack([frame.to_ndarray() for frame in decoded(path)])
    with vl.Video(path) as video:
        clip = video.get_frames([4, 0, 0], output="gray", dtype="uint16")
    assert clip.frames.shape == (3, 48, 64, 1)
    assert clip.frames.dtype == torch.uint16
    assert np.array_equal(clip.frames.numpy()[..., 0], wanted[[4, 0, 0]])


def luma_of(frame):
    """The first plane of a frame of more than 8 bits; PyAV 15 gives no array of such a format."""
    rows = np.frombuffer(frame.planes[0], "<u2").reshape(frame.height, -1)
    return rows[:, : frame.width]


@pytest.mark.parametrize("codec", ["ffv1", "libx265"])
def test_luma_of_deep_colour_video_is_given_as_coded(tmp_path, codec):
    path = encoded(tmp_path / "deep.mkv", codec, "yuv420p10le")
    wanted = [luma_of(frame) for frame in decoded(path)]
    with vl.Video(path) as video:
        clip = video.get_frames(output="gray", dtype="uint16", layout="FCHW")
    assert clip.frames.shape == (6, 1, 48, 64)
    assert np.array_equal(clip.frames.numpy()[:, 0], np.stack(wanted))


# swscale takes formats of grey for full range, whatever the tag, so those have none here.
@pytest.mark.parametrize(
    ("pixel_format", "tag"),
    [*product(["yuv420p", "yuv444p10le"], [0, 1, 2]), ("gray", 0), ("gray12le", 0)],
)
def test_gray_of_8_bits_has_full_range_as_swscale_gives_it(tmp_path, pixel_format, tag):
    path = encoded(tmp_path / "a.mkv", "ffv1", pixel_format, color_range=tag)
    frame = decoded(path)[2]
    wanted = frame.to_ndarray(format="gray").astype(float)
    with vl.Video(path) as video:
        gray = video.get_frames([2], output="gray").frames[0, ..., 0].numpy()
        floats = video.get_frames([2], output="gray", dtype="float32").frames[0, ..., 0].numpy()
    assert np.abs(gray - wanted).max() <= 1
    assert np.abs(gray - wanted).mean() < 0.5
    assert np.abs(floats - wanted).max() < 1.5


@pytest.mark.parametrize("interpolation", ["triangular", "bicubic", "bilinear", "nearest"])
@pytest.mark.parametrize("matrix", [1, 5, 9])  # BT.709, BT.601, BT.2020
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv444p10le"])
def test_colours_do_not_show_in_resized_gray(tmp_path, pixel_format, matrix, interpolation):
    """All luma is the same, chroma is not: FFmpeg would mix it in to change the matrix."""
    path = tmp_path / "a.mkv"
    peak = 4 if "10" in pixel_format else 1
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10, options={"qp": "0"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, pixel_format
        stream.codec_context.colorspace = matrix
        frame = av.VideoFrame(64, 48, pixel_format)
        for plane, values in zip(frame.planes, ([126], range(64), [200]), strict=True):
            kind = np.dtype("<u2" if peak > 1 else "u1")
            rows = np.frombuffer(plane, kind).reshape(plane.height, -1)
            rows[:, : plane.width] = peak * np.resize(values, plane.width)
        frame.pts, frame.colorspace = 0, matrix
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    assert int(decoded(path)[0].colorspace) == matrix
    with vl.Video(path) as video:
        small = video.get_frames([0], output="gray", size=(20, 30), interpolation=interpolation)
    assert np.abs(small.frames.numpy().astype(float) - (126 - 16) * 255 / 219).max() <= 1


def test_a_range_that_is_named_holds_for_gray(tmp_path):
    path = encoded(tmp_path / "a.mkv", "ffv1", "gray")
    with vl.Video(path) as video, vl.Video(path, color_range="limited") as limited:
        full, stretched = (
            each.get_frames([0], output="gray").frames.numpy().astype(float)
            for each in (video, limited)
        )
    assert np.abs(stretched - ((full - 16) * 255 / 219).clip(0, 255)).max() <= 0.5


def test_gray_is_cropped_resized_turned_and_normalised(path, demo_folder):
    with vl.Video(path) as video:
        whole = video.get_frames([5], output="gray", dtype="float32").frames[0, ..., 0].numpy()
        part = video.get_frames([5], output="gray", dtype="float32", crop=(3, 5, 40, 50), flip=True)
        assert np.array_equal(part.frames[0, ..., 0].numpy(), whole[3:43, 5:55][:, ::-1])
        small = video.get_frames([5], output="gray", size=(48, 64), interpolation="triangular")
        pixels = torch.from_numpy(whole)[None, None]
        wanted = interpolate(pixels, (48, 64), mode="bilinear", antialias=True)[0, 0].numpy()
        assert np.abs(small.frames[0, ..., 0].numpy() - wanted)[2:-2, 2:-2].mean() < 0.5
        normal = video.get_frames([5], output="gray", dtype="float32", mean=50, std=[20])
        assert np.allclose(normal.frames[0, ..., 0].numpy(), (whole - 50) / 20, atol=1e-4)
    turned = next(path for path in demo_folder.iterdir() if "rot" in path.name)
    wanted = np.rot90(decoded(turned)[0].to_ndarray(format="gray"), -1).astype(float)
    with vl.Video(turned) as video:
        gray = video.get_frames([0], output="gray").frames[0, ..., 0].numpy()
        assert np.abs(gray - wanted).max() <= 1
        filled = video.get_frames([-1], output="gray", pad_mode="constant", fill_value=7)
        assert filled.frames.unique().tolist() == [7]


def test_pictures_without_luma_are_refused_by_name(tmp_path):
    path = encoded(tmp_path / "a.mkv", "ffv1", "bgra")
    with vl.Video(path) as video, pytest.raises(vl.errors.UnsupportedError, match=r"a\.mkv.*luma"):
        video.get_frames([0], output="gray")


@pytest.mark.parametrize(
    ("pixel_format", "dtype"),
    [("yuv420p", "uint8"), ("yuv422p", "uint16"), ("yuv444p", "uint8"), ("yuv420p10le", "uint16")],
)
@pytest.mark.parametrize("size", [(64, 48), (63, 47), (640, 361)])
def test_planes_are_those_of_a_full_decode(tmp_path, pixel_format, dtype, size):
    path = encoded(tmp_path / "a.mkv", "ffv1", pixel_format, size=size)
    with vl.Video(path) as video:
        surfaces = dict(video.decode(range(6)))
        clip = video.get_frames([3, 1, 3], output="yuv", dtype=dtype)
        assert clip.frames.dtype == getattr(torch, dtype)
        for number, *planes in zip([3, 1, 3], *clip.planes, strict=True):
            for plane, wanted in zip(planes, surfaces[number].planes, strict=True):
                assert np.array_equal(plane.numpy(), wanted)
    raw = b"".join(plane.tobytes() for plane in surfaces[1].planes)
    if dtype == "uint8":
        assert clip.frames[1].numpy().tobytes() == raw


def test_planes_come_from_batches_and_workers_too(path):
    with vl.Video(path) as video:
        wanted = video.get_frames([7, 2], output="yuv")
    requests = [(path, [7, 2]), vl.ClipRequest(path, [-1, 2], pad_mode="constant", fill_value=9)]
    for workers in (0, 1):
        with vl.BatchDecoder(workers=workers) as batches:
            batch = batches.decode(requests, output="yuv")
        assert torch.equal(batch.clips[0].frames, wanted.frames)
        assert batch.clips[1].planes[1].shape == (2, 48, 64)
        assert batch.clips[1].frames[0].unique().tolist() == [9]
        assert torch.equal(batch.clips[1].planes[2][1], wanted.planes[2][1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 20}, "leave size"),
        ({"crop": (0, 0, 8, 8)}, "leave size"),
        ({"flip": True}, "leave size"),
        ({"dtype": "float32"}, "uint8 or uint16"),
    ],
)
def test_planes_are_not_changed(path, options, message):
    with vl.Video(path) as video, pytest.raises(vl.errors.ArgumentError, match=message):
        video.get_frames([0], output="yuv", **options)


def test_planes_of_deep_samples_need_a_wide_type(tmp_path):
    path = encoded(tmp_path / "a.mkv", "ffv1", "yuv420p10le")
    with vl.Video(path) as video, pytest.raises(vl.errors.ArgumentError, match=r"10 bits.*uint16"):
        video.get_frames([0], output="yuv")


def test_interleaved_components_have_no_planes(tmp_path):
    path = encoded(tmp_path / "a.mkv", "ffv1", "bgra")
    with vl.Video(path) as video, pytest.raises(vl.errors.UnsupportedError, match=r"Video\.decode"):
        video.get_frames([0], output="yuv")


@pytest.mark.parametrize("layout", ["FHWC", "CFHW"])
def test_a_gpu_gives_gray_as_the_cpu_does(decoder, path, layout):
    with vl.Video(path) as video:
        options = {"output": "gray", "layout": layout}
        there = decoder.decode([(path, [9, 4])], **options).frames[0]
        assert torch.equal(there.cpu(), video.get_frames([9, 4], **options).frames)
        for more in ({"size": (40, 100)}, {"dtype": "float32", "mean": 90, "std": 60, "size": 32}):
            there = decoder.decode([(path, [9, 4])], **options, **more).frames[0]
            wanted = video.get_frames([9, 4], **options, **more).frames
            assert (there.cpu().float() - wanted.float()).abs().max() <= 1 / more.get("std", 1)
    assert not decoder.stats()["routed"]


def test_a_gpu_leaves_coded_samples_to_the_cpu(decoder, path):
    with vl.Video(path) as video:
        for output, dtype in (("gray", "uint16"), ("yuv", "uint8")):
            for layout in ("FHWC", "CFHW"):
                options = {"output": output, "dtype": dtype, "layout": layout}
                there = decoder.decode([(path, [9, 4])], **options).frames[0]
                assert torch.equal(there.cpu(), video.get_frames([9, 4], **options).frames)
            reason = f'output="{output}" of coded samples is made on the CPU'
            assert decoder.stats()["routed"][reason] > 0


def test_frames_snap_to_the_keyframe_before(path):
    with vl.Video(path) as video:
        keys = [number for number, frame in enumerate(decoded(path)) if frame.key_frame]
        assert keys == [0, 12, 24]
        clip = video.get_frames([0, 11, 12, 29, 13], snap="keyframe")
        assert clip.indices.tolist() == [0, 0, 12, 24, 12]
        assert torch.equal(clip.frames[3], video[24])
        times = video.get_frames_at_times([0.3, 0.5], snap="keyframe")
        assert times.indices.tolist() == [0, 12]
        padded = video.get_frames([-1, 40], snap="keyframe", pad_mode="constant")
        assert padded.indices.tolist() == [-1, -1]
        with pytest.raises(vl.errors.ArgumentError, match="keyframe"):
            video.get_frames([0], snap="nearest")


def test_snapped_frames_cost_one_packet_each(path, monkeypatch):
    from videoloader.decoding.cpu import frame_decoder

    fed = []
    original = frame_decoder.make_packet
    monkeypatch.setattr(frame_decoder, "make_packet", lambda p, n: fed.append(n) or original(p, n))
    with vl.Video(path, threads=1) as video:
        video.get_frames([5, 20, 28], snap="keyframe")
    assert len(fed) == 3


def test_picture_types_are_those_of_a_full_decode(path):
    wanted = [av.video.frame.PictureType(frame.pict_type).name for frame in decoded(path)]
    assert {"I", "P", "B"} <= set(wanted)
    with vl.Video(path) as video:
        assert video.picture_types.tolist() == wanted
        assert video.picture_types is video.picture_types


def test_motion_vectors_are_those_of_a_full_decode(path):
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.codec_context.options = {"flags2": "+export_mvs"}
        data = [frame.side_data.get("MOTION_VECTORS") for frame in container.decode(stream)]
    with vl.Video(path) as video:
        vectors = video.motion_vectors([13, 0, 13, 5])
        for number, found in zip([13, 0, 13, 5], vectors, strict=True):
            if data[number] is None:
                assert not len(found)
                continue
            wanted = data[number].to_ndarray()
            assert len(found) == len(wanted) > 0
            for name in found.dtype.names:
                assert np.array_equal(found[name], wanted[name]), name
        assert not len(vectors[1])
        with pytest.raises(vl.errors.FrameRangeError):
            video.motion_vectors([COUNT])


def test_codecs_without_motion_vectors_are_refused_by_name(tmp_path):
    path = encoded(tmp_path / "a.mkv", "ffv1", "yuv420p")
    with vl.Video(path) as video, pytest.raises(vl.errors.UnsupportedError, match="ffv1"):
        video.motion_vectors([0])


@pytest.mark.parametrize("on_error", ["skip", "replace", "mask"])
def test_planes_of_the_clips_that_are_left_are_theirs(path, tmp_path, on_error):
    (tmp_path / "bad.mkv").write_bytes(b"no video" * 99)
    requests = [(path, [7, 2]), (tmp_path / "bad.mkv", [0, 1]), (path, [1, 4])]
    with vl.BatchDecoder(workers=0) as batches:
        batch = batches.decode(requests, output="yuv", on_error=on_error)
    with vl.Video(path) as video:
        wanted = [video.get_frames(frames, output="yuv").planes for frames in ([7, 2], [1, 4])]
    last = len(batch) - 1
    for some in (batch, batch.at([0, last]), batch.at(slice(None))):
        for clip, planes in zip((some.clips[0], some.clips[-1]), wanted, strict=True):
            assert len(clip.planes) == 3
            assert all(map(torch.equal, clip.planes, planes))
    assert [plane.shape for plane in batch.clips[1].planes] == [plane.shape for plane in wanted[0]]


def test_some_clips_of_a_batch_keep_their_failures_and_a_slice_its_memory(path, tmp_path):
    (tmp_path / "bad.mkv").write_bytes(b"no video" * 99)
    requests = [(path, [7]), (tmp_path / "bad.mkv", [0]), (path, [1])]
    with vl.BatchDecoder(workers=0) as batches:
        batch = batches.decode(requests, on_error="mask", size=(48, 64))
    assert batch.at([0, 2]).failures == []
    assert batch.at([2, 1]).requests.tolist() == [2, 1]
    assert [failure.request for failure in batch.at(slice(1, 3)).failures] == [1]
    assert batch.at(slice(2)).frames.data_ptr() == batch.frames.data_ptr()


def test_planes_of_several_clips_of_a_sample(path):
    with vl.BatchDecoder(workers=0) as batches:
        batch = batches.decode([(path, [0, 1, 2, 3]), (path, [4, 5, 6, 7])], output="yuv")
    samples = divided(batch, "FHWC", [(2, 2)] * 2, Framing())
    assert samples.frames.shape[:3] == (2, 2, 2)
    for sample, clip in zip(samples.clips, batch.clips, strict=True):
        for several, plane in zip(sample.planes, clip.planes, strict=True):
            assert torch.equal(several.flatten(0, 1), plane)
