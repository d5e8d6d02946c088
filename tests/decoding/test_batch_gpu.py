"""Batches on a GPU: the frames that the CPU gives, in the colours that the CPU gives."""

import numpy as np
import pytest
import torch
from corpus_files import corpus_files, has_reference

import videoloader as vl
from videoloader.demo.videos import read_frame_number

pytestmark = pytest.mark.gpu

CLIPS = {
    "h264.mp4": [0, 7, 7, 80, 3],
    "h264_open_gop.mp4": [50, 24, 23, 0, 1],
    "hevc.mp4": [1, 2, 3, 4, 5],
    "hevc_10bit.mkv": [59, 2, 30, 0, 0],
    "vp9.webm": [30, 20, 10, 0, 40],
    "av1.mp4": [10, 11, 12, 70, 71],
    "odd_size.mp4": [5, 4, 3, 2, 1],
    "rotated.mp4": [9, 8, 7, 6, 5],
}
REAL = corpus_files(
    lambda file: has_reference(file) and not file.is_damaged and file.reference["frames"]
)


@pytest.fixture(scope="module")
def gpu():
    with vl.BatchDecoder("cuda", workers=2) as decoder:
        yield decoder


@pytest.fixture(scope="module")
def cpu():
    with vl.BatchDecoder(workers=2) as decoder:
        yield decoder


def requests(folder):
    return [(folder / name, frames) for name, frames in CLIPS.items()]


def test_frames_are_those_that_were_asked_for(gpu, demo_folder):
    batch = gpu.decode(requests(demo_folder), rotate=False)
    for clip, frames in zip(batch.clips, CLIPS.values(), strict=True):
        assert clip.frames.is_cuda
        assert [read_frame_number(frame.cpu().numpy()) for frame in clip.frames] == frames


@pytest.mark.parametrize("layout", ["FHWC", "FCHW", "CFHW"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "bfloat16", "float32"])
def test_every_form_agrees_with_the_cpu(gpu, cpu, demo_folder, dtype, layout):
    options = {"size": (90, 160), "dtype": dtype, "layout": layout}
    if dtype not in ("uint8", "uint16"):
        options |= {"mean": (120, 110, 100), "std": (50, 60, 70)}
    unit = {"uint8": 1, "uint16": 257}.get(dtype, 1 / 50)
    here = cpu.decode(requests(demo_folder), **options).frames
    there = gpu.decode(requests(demo_folder), **options).frames
    assert (there.shape, there.dtype, there.is_cuda) == (here.shape, here.dtype, True)
    difference = (there.cpu().double() - here.double()).abs() / unit
    assert difference.flatten(1).mean(1).max() < 1


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "triangular"])
def test_views_agree_with_the_cpu(gpu, cpu, demo_folder, interpolation):
    views = [
        vl.ClipRequest(demo_folder / name, frames[:2], crop=(11, 20, 120, 101), flip=flip, size=64)
        for name, frames in CLIPS.items()
        for flip in (False, True)
    ]
    here = cpu.decode(views, interpolation=interpolation).frames
    there = gpu.decode(views, interpolation=interpolation).frames
    difference = (there.cpu().int() - here.int()).abs().double()
    assert difference.flatten(1).mean(1).max() < 1


@pytest.mark.parametrize("file", REAL)
def test_real_files_have_the_colours_that_the_cpu_gives_them(gpu, cpu, file):
    index = vl.index_video(file.path, stream=file.stream)
    count = min(index.num_frames, 8)
    clip = [
        vl.ClipRequest(file.path, np.linspace(0, index.num_frames - 1, count).astype(int), index)
    ]
    try:
        here = cpu.decode(clip, on_error="raise").clips[0].frames
    except vl.VideoError as error:
        with pytest.raises(type(error)):
            gpu.decode(clip)
        return
    there = gpu.decode(clip).clips[0].frames.cpu()
    assert there.shape == here.shape
    assert (there.int() - here.int()).abs().double().flatten(1).mean(1).max() < 1


def test_what_the_gpu_cannot_decode_comes_from_the_cpu_and_is_counted(gpu, demo_folder):
    before = sum(gpu.stats().get("routed", {}).values())
    gpu.decode([(demo_folder / "av1.mp4", [3]), (demo_folder / "odd_size.mp4", [3])])
    assert sum(gpu.stats()["routed"].values()) >= before + 1


def test_a_bad_file_costs_its_clip_only(gpu, demo_folder, tmp_path):
    source = demo_folder / "h264.mp4"
    cut = tmp_path / "cut.mkv"
    cut.write_bytes((demo_folder / "hevc_10bit.mkv").read_bytes()[:20_000])
    text = tmp_path / "text.mp4"
    text.write_text("no video")
    clips = [(source, [1, 2]), (text, [0]), (cut, [0, 50]), (source, [3, 4])]
    batch = gpu.decode(clips, on_error="skip")
    assert batch.requests.tolist() == [0, 3]
    numbers = [[read_frame_number(f.cpu().numpy()) for f in clip.frames] for clip in batch.clips]
    assert numbers == [[1, 2], [3, 4]]
    assert {failure.request for failure in batch.failures} == {1, 2}


def test_padding_is_filled_with_the_normalised_colour(gpu, demo_folder):
    request = vl.ClipRequest(
        demo_folder / "hevc.mp4", [-1, 2], pad_mode="constant", fill_value=(10, 20, 30)
    )
    clip = gpu.decode([request], dtype="float16", mean=10, std=2).clips[0]
    assert clip.frames[0].reshape(-1, 3).unique(dim=0).tolist() == [[0.0, 5.0, 10.0]]
    assert clip.mask.tolist() == [False, True]


def test_a_video_on_a_gpu_is_decoded_there(demo_folder):
    with vl.Video(demo_folder / "h264.mp4", device="cuda") as video:
        assert read_frame_number(video[33].cpu().numpy()) == 33
        clip = video.get_frames([4, 2, 4], size=(90, 160), layout="FCHW", dtype="float16")
    assert clip.frames.is_cuda
    assert clip.frames.shape == (3, 3, 90, 160)
    assert torch.equal(clip.frames[0], clip.frames[2])


@pytest.mark.parametrize(("start", "size"), [(23, None), (0, (90, 160)), (59, (90, 160))])
def test_a_video_iterates_from_anywhere_at_any_size(demo_folder, start, size):
    with vl.Video(demo_folder / "h264_open_gop.mp4", device="cuda") as video:
        frames = torch.stack(list(video.iterate(start, size=size)))
        assert torch.equal(frames, video.get_frames(start=start, size=size).frames)


@pytest.mark.parametrize("name", ["h264.mp4", "h264_open_gop.mp4", "hevc.mp4", "vp9.webm"])
def test_calls_and_readers_in_turn_go_on_and_give_the_same_frames(demo_folder, name):
    with vl.Video(demo_folder / name, device="cuda") as video:
        whole = video[:48]
        one, other = video.iterate(0), video.iterate(16)
        for number in range(32):
            assert torch.equal(next(one), whole[number])
            assert torch.equal(next(other), whole[number + 16])
            if number % 8 == 0:
                assert torch.equal(video[number : number + 8], whole[number : number + 8])


def test_hybrid_gives_the_same_frames(gpu, demo_folder):
    clips = [(demo_folder / "h264.mp4", [n]) for n in range(0, 90, 3)]
    clips += [(demo_folder / "h264_open_gop.mp4", list(range(n, 72, 8))) for n in range(8)]
    batch = gpu.decode(clips, hybrid=True)
    for clip, (_, frames) in zip(batch.clips, clips, strict=True):
        assert [read_frame_number(frame.cpu().numpy()) for frame in clip.frames] == frames


@pytest.mark.parametrize("dtype", ["uint16", "bfloat16"])
@pytest.mark.parametrize("on_error", ["skip", "replace", "mask"])
def test_clips_beside_failed_ones_are_put_together_anew(gpu, demo_folder, dtype, on_error):
    good = [(demo_folder / name, [3, 4]) for name in ("h264.mp4", "hevc.mp4")]
    missing = (demo_folder / "missing.mp4", [0, 1])
    options = {"size": 64, "dtype": dtype}
    alone = gpu.decode(good, **options)
    batch = gpu.decode([good[0], missing, good[1]], on_error=on_error, **options)
    assert batch.frames.is_cuda
    assert batch.frames.dtype == alone.frames.dtype
    for place, number in ((0, 0), (-1, 1)):
        found, wanted = batch.frames[place].cpu(), alone.frames[number].cpu()
        assert torch.equal(found.view(torch.uint8), wanted.view(torch.uint8))
