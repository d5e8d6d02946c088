"""`audio=True`: the sound of a clip is the part of FFmpeg's whole decode that its frames span."""

import math
import signal
from fractions import Fraction
from itertools import pairwise

import av
import numpy as np
import pytest
import torch
from audio_files import decode_all, make_signal, write_sound
from misbehaving import Misbehaving

import videoloader as vl
from videoloader.decoding.cpu.engine import CpuEngine
from videoloader.decoding.sound_spans import sound_spans
from videoloader.demo.videos import encode_video

pytestmark = pytest.mark.usefixtures("forked_workers")

RATE = 48000
NTSC = Fraction(30000, 1001)
COUNT = 50
WHITE = (3, 9, 14, 22, 31, 40, 47)  # frames with a click

# The sound's codec, the coder of the pictures, their rate, and how far off a click may be heard: by
# a sample, or as far as the codec spreads it.
FILES = {
    "aac.mp4": ("aac", "libx264", NTSC, 48),
    "opus.mp4": ("libopus", "libx264", 25, 48),
    "pcm.mov": ("pcm_s16le", "libx264", NTSC, 1),
    "flac.mp4": ("flac", "mpeg4", NTSC, 1),
    "pcm.mkv": ("pcm_s16le", "libx264", 25, 1),
    "opus.mkv": ("libopus", "libx264", 25, 48),
    "aac.mkv": ("aac", "mpeg4", 25, 48),
    "mp3.mkv": ("libmp3lame", "mpeg4", 25, 48),
    "aac.ts": ("aac", "libx264", 25, 48),
    "mp2.ts": ("mp2", "mpeg2video", 25, 48),
}


def write_clicks(path, codec, coder, fps):
    """White frames, each with a click in both channels at its first moment, on soft noise."""
    pictures = [np.full((48, 64, 3), 255 * (n in WHITE), np.uint8) for n in range(COUNT)]
    signal = 0.01 * make_signal(float(COUNT / Fraction(fps)), RATE)
    for number in WHITE:
        at = math.ceil(number / Fraction(fps) * RATE)
        signal[:, at : at + 16] = [[0.9], [-0.9]]
    return write_sound(path, signal, RATE, codec, pictures=pictures, coder=coder, fps=fps)


@pytest.fixture(scope="module", params=FILES)
def path(request, tmp_path_factory):
    return write_clicks(
        tmp_path_factory.mktemp("clicks") / request.param, *FILES[request.param][:3]
    )


@pytest.fixture(scope="module")
def sound(path):
    """FFmpeg's whole decode: float32 (n, channels), and the time of its first sample."""
    samples, begin = decode_all(path)
    return samples.astype(np.float32).T / (2**15 if samples.dtype == np.int16 else 1), begin


def part_of(sound, begin_seconds, end_seconds, rate=RATE):
    """The samples whose times are in a range, zeros where there are none; counted one by one."""
    samples, begin = sound
    low, high = (math.ceil((at - begin) * rate - 1e-3) for at in (begin_seconds, end_seconds))
    padded = np.pad(samples, ((max(-low, 0), max(high - len(samples), 0)), (0, 0)))
    return padded[max(low, 0) : max(low, 0) + high - low]


def ends_of(index):
    """When each frame ends."""
    last = float(index.pts[-1] * index.time_base) + 1 / float(index.average_fps)
    return [*(index.pts[1:] * float(index.time_base)), last]


def test_a_click_is_heard_when_its_frame_is_seen(path):
    off = FILES[path.name][3]
    rng = np.random.default_rng(0)
    with vl.Video(path) as video:
        for _ in range(12):
            start = int(rng.integers(0, COUNT - 12))
            clip = video.get_frames(start=start, count=12, audio=True)
            assert clip.audio.dtype == torch.float32
            assert clip.audio.shape[1] == 2
            bright = clip.frames.float().mean(dim=(1, 2, 3)).numpy() > 128
            assert [*np.flatnonzero(bright) + start] == [
                n for n in WHITE if start <= n < start + 12
            ]
            left = np.convolve(clip.audio[:, 0].numpy(), np.ones(16), "valid")
            for time in clip.times[bright] - clip.times[0]:
                near = max(round(time * RATE) - 400, 0)
                heard = near + int(left[near : near + 800].argmax())
                assert -1 <= heard - time * RATE + 1 <= off + 1


@pytest.mark.parametrize(
    ("frames", "first", "last"),
    [
        (range(5, 15), 5, 14),
        (range(2, 40, 9), 2, 38),
        (range(30, 20, -3), 21, 30),
        ([12, 40, 12, 7], 7, 40),
        (range(COUNT), 0, COUNT - 1),
        ([COUNT - 1], COUNT - 1, COUNT - 1),
    ],
)
def test_the_sound_spans_the_frames(path, sound, frames, first, last):
    clip = vl.decode_batch([(str(path), frames)], audio=True, workers=0).clips[0]
    index = vl.index_video(path)
    times = index.pts * float(index.time_base)
    wanted = part_of(sound, times[first], ends_of(index)[last])
    assert clip.audio_sample_rate == RATE
    assert np.array_equal(clip.audio, wanted)


def test_adjacent_clips_have_all_samples_once(path):
    cuts = [0, 7, 8, 20, 33, COUNT]
    requests = [(str(path), range(*pair)) for pair in [*pairwise(cuts), (0, COUNT)]]
    for options in (
        {},
        {"audio_sample_rate": 16000, "audio_channels": 1},
        {"audio_sample_rate": 44100},
    ):
        *parts, whole = vl.decode_batch(requests, audio=True, workers=0, **options).clips
        assert torch.equal(torch.cat([clip.audio for clip in parts]), whole.audio)


def test_the_last_sample_is_not_late_after_an_hour():
    """Frames of 30000/1001 a second: a rounded frame rate would be off by seconds."""

    class Hour:
        num_frames, average_fps, order_in_time = 107_892, NTSC, None
        time_base = Fraction(1, 30000)
        pts = np.arange(num_frames, dtype=np.int64) * 1001
        boundaries = np.arange(num_frames + 1) * 1001 / 30000

    (span,) = sound_spans(Hour(), [107_890])
    assert span.begin == pytest.approx(107_890 * 1001 / 30000, abs=1e-9)
    assert span.end == pytest.approx(107_891 * 1001 / 30000, abs=1e-9)


class Numbered:
    """A video of uneven frames whose sound has a sample a second."""

    num_frames, average_fps, order_in_time = 5, Fraction(1, 3), None
    boundaries = np.array([0.0, 2, 3, 7, 8, 11])
    time_base, pts = Fraction(1), np.array([0, 2, 3, 7, 8])


def heard(spans):
    """The samples of spans one by one; None where it is silent."""
    samples = []
    for begin, end, play in spans:
        numbers = [*range(round(begin), round(end))]
        samples += (
            [None] * len(numbers)
            if play == "silence"
            else numbers[:: -1 if play == "backward" else 1]
        )
    return samples


def stands(number, mode, start, stop):
    """The frame at a place outside the video, and whether it runs backwards; step by step."""
    if mode == "wrap":
        return start + (number - start) % (stop - start), False
    if mode == "reflect_1001":
        order = [*range(start, stop), *range(stop - 1, start - 1, -1)]
    else:
        order = [*range(start, stop), *range(stop - 2, start, -1)]
    at = (number - start) % len(order)
    return order[at], at >= stop - start


@pytest.mark.parametrize("mode", ["reflect_1001", "reflect_101", "wrap", "edge", "constant"])
@pytest.mark.parametrize(("start", "stop"), [(0, 5), (1, 4), (2, 3)])
@pytest.mark.parametrize("frames", [[-3, 9], [0, 1, 2, 13], [4], [8, 6], [-20, -18], [1]])
def test_sound_outside_the_video_is_padded_as_the_frames_are(mode, start, stop, frames):
    spans = sound_spans(Numbered(), frames, mode, start=start, stop=stop)
    bounds = Numbered.boundaries.astype(int)
    wanted = []
    for number in range(min(frames), max(frames) + 1):
        if start <= number < stop:
            wanted += range(bounds[number], bounds[number + 1])
        elif mode in ("edge", "constant"):
            inside = 0 <= number < 5
            wanted += [None] * (int(bounds[number + 1] - bounds[number]) if inside else 3)
        else:
            frame, is_back = stands(number, mode, start, stop)
            samples = [*range(bounds[frame], bounds[frame + 1])]
            wanted += samples[::-1] if is_back else samples
    assert heard(spans) == wanted


def test_damaged_or_equal_timestamps_span_from_the_earliest_to_the_latest():
    class Uneven:
        num_frames, average_fps, order_in_time = 4, 10.0, None
        pts = np.array([100, 110, 150, 155])
        time_base = Fraction(1, 100)
        boundaries = np.array([1.0, 1.1, 1.5, 1.55, 1.55])  # nobody says how long the last one is

    class Sorted(Uneven):
        pts, order_in_time = np.array([150, 110, 155, 100]), np.array([3, 1, 0, 2])

    class Equal(Uneven):
        pts = np.array([100, 110, 110, 155])
        boundaries = np.array([1.0, 1.1, 1.1, 1.55, 1.65])

    for index, frames, begin, end in [
        (Uneven(), [1], 1.1, 1.5),
        (Uneven(), [2, 0], 1.0, 1.55),
        (Uneven(), [3], 1.55, 1.65),
        (Sorted(), [0], 1.5, 1.55),
        (Sorted(), [1, 3], 1.0, 1.5),
        (Equal(), [1], 1.1, 1.55),
    ]:
        (span,) = sound_spans(index, frames)
        assert (span.begin, span.end) == pytest.approx((begin, end))
    assert sound_spans(Uneven(), []) == ()

    class Still(Uneven):
        num_frames, average_fps, pts, boundaries = 1, 0, np.array([100]), np.array([1.0, 1.0])

    assert sound_spans(Still(), [0]) == ()


def test_a_reflected_clip_without_end_is_an_error():
    with pytest.raises(vl.errors.ArgumentError, match="too long for the sound"):
        sound_spans(Numbered(), [0, 10**12], "wrap")
    spans = sound_spans(Numbered(), [0, 10**6], "edge")
    assert [span.play for span in spans] == ["forward", "silence"]


def test_a_clip_whose_sound_fills_the_memory_fails_alone(folder):
    far = vl.ClipRequest(folder / "stereo.mp4", [0, 10**5], pad_mode="edge")
    requests = [far, (folder / "stereo.mp4", range(4))]
    batch = vl.decode_batch(requests, audio=True, workers=0, on_error="mask")
    assert batch.audio_lengths.tolist() == [0, 4 * RATE // 25]
    assert "span 4000 s" in str(batch.failures[0].error)
    fewer = vl.decode_batch([far], audio=True, audio_sample_rate=1000, workers=0)
    assert fewer.audio_lengths.tolist() == [(10**5 + 1) * 40]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Videos with mono, stereo and no sound, one whose sound begins late, one with a hole in it."""
    folder = tmp_path_factory.mktemp("sounds")
    for name, options in {
        "late.mp4": {"late": 0.5},
        "gap.ts": {"gap": (20, 40), "coder": "libx264"},
        "gap.mkv": {"gap": (20, 40)},
        "stereo.mp4": {},
    }.items():
        codec = "mp2" if name.endswith("ts") else "aac"
        write_sound(folder / name, make_signal(2, RATE), RATE, codec, with_video=True, **options)
    write_sound(folder / "mono.mov", make_signal(1, 16000, 1), 16000, "pcm_s16le", with_video=True)
    short = [np.zeros((48, 64, 3), np.uint8)] * 50
    write_sound(folder / "short.mkv", make_signal(1, RATE), RATE, "flac", pictures=short)
    encode_video(folder / "silent.mp4", size=(64, 48), frames=50)
    return folder


def test_a_sound_that_begins_late_or_ends_early_is_filled_with_silence(folder):
    late, short = vl.decode_batch(
        [(folder / "late.mp4", range(5, 20)), (folder / "short.mkv", range(20, 30))], audio=True
    ).clips
    for clip, name, first, last in ((late, "late.mp4", 5, 20), (short, "short.mkv", 20, 30)):
        samples, begin = decode_all(folder / name)
        samples = samples.T.astype(np.float32) / (2**15 if samples.dtype == np.int16 else 1)
        assert np.array_equal(clip.audio, part_of((samples, begin), first / 25, last / 25))
    assert not late.audio[: round(0.27 * RATE)].any()
    assert late.audio[round(0.31 * RATE) :].any()
    assert not short.audio[5 * RATE // 25 :].any()


@pytest.mark.parametrize("name", ["gap.ts", "gap.mkv"])
def test_a_hole_in_the_sound_is_silent_and_shifts_nothing(folder, name):
    with vl.Video(folder / name) as video, vl.Audio(folder / name) as audio:
        whole = video.get_frames(audio=True)
        begin = whole.times[0]
        tail = audio.get_samples(begin + 1.6, begin + 1.9).T
        assert np.array_equal(whole.audio[round(1.6 * RATE) :][: len(tail)], tail)
        silent = ~whole.audio.any(dim=1).numpy()
    inside = slice(round(0.6 * RATE), round(0.8 * RATE))
    assert silent[inside].all()
    assert not silent[round(1.2 * RATE) : round(1.9 * RATE)].all()


def test_a_batch_pads_sounds_and_says_how_long_they_are(folder):
    names = ["stereo.mp4", "silent.mp4", "stereo.mp4"]
    frames = [range(10), range(10), range(4)]
    requests = [(folder / name, numbers) for name, numbers in zip(names, frames, strict=True)]
    batch = vl.decode_batch(requests, audio=True)
    assert batch.audio.shape == (3, 10 * RATE // 25, 2)
    assert batch.audio_lengths.tolist() == [10 * RATE // 25, 0, 4 * RATE // 25]
    assert batch.audio_sample_rates.tolist() == [RATE, 0, RATE]
    assert [clip.has_audio for clip in batch.clips] == [True, False, True]
    assert not batch.audio[1].any()
    assert not batch.audio[2, 4 * RATE // 25 :].any()
    assert torch.equal(batch.audio[2, : 4 * RATE // 25], batch.clips[2].audio)
    assert torch.equal(batch.at([2, 0]).audio, batch.audio[[2, 0]])
    silent = vl.decode_batch(requests[1:2], audio=True, audio_channels=2)
    assert silent.audio.shape == (1, 0, 2)
    assert vl.decode_batch(requests).audio is None
    assert vl.decode_batch(requests).clips[0].audio is None


def test_sounds_of_several_forms_are_a_list_until_they_are_converted(folder):
    requests = [(folder / "stereo.mp4", range(10)), (folder / "mono.mov", range(10))]
    batch = vl.decode_batch(requests, audio=True)
    assert [tuple(each.shape) for each in batch.audio] == [(19200, 2), (6400, 1)]
    assert batch.audio_sample_rates.tolist() == [RATE, 16000]
    batch = vl.decode_batch(requests, audio=True, audio_sample_rate=8000, audio_channels=1)
    assert batch.audio.shape == (2, 3200, 1)
    with vl.Audio(folder / "stereo.mp4", sample_rate=8000, num_channels=1) as audio:
        assert torch.equal(batch.audio[0].T, audio[:3200])


def test_a_request_for_several_clips_has_the_sound_of_each(folder):
    path = folder / "stereo.mp4"
    frames = [*range(30, 36), *range(4, 10)]
    request = vl.ClipRequest(path, frames, clips=2)
    one, first, second = vl.decode_batch(
        [request, (path, frames[:6]), (path, frames[6:])], audio=True
    ).clips
    assert one.audio_lengths == (len(first.audio), len(second.audio))
    assert torch.equal(one.audio, torch.cat([first.audio, second.audio]))
    assert first.audio_lengths == ()
    for wrong in (5, 0):
        with pytest.raises(vl.errors.ArgumentError, match=f"12 frames do not make {wrong} clips"):
            vl.decode_batch([vl.ClipRequest(path, frames, clips=wrong)], audio=True)


def test_worker_processes_give_the_same_sound(folder):
    requests = [
        (folder / name, frames)
        for name in ("stereo.mp4", "mono.mov", "silent.mp4")
        for frames in (range(10, 20), range(15, 25), range(2))
    ]
    requests.append(((folder / "stereo.mp4").read_bytes(), range(10, 20)))
    here = vl.decode_batch(requests, audio=True, workers=0)
    there = vl.decode_batch(requests, audio=True, workers=2)
    for one, other in zip(here.clips, there.clips, strict=True):
        assert torch.equal(one.audio, other.audio)
    assert torch.equal(here.clips[0].audio, here.clips[-1].audio)


def test_audio_options_without_meaning_are_errors(folder):
    for options in (
        {"audio_sample_rate": 16000},
        {"audio": True, "audio_sample_rate": 0},
        {"audio": True, "audio_channels": 1.5},
    ):
        with pytest.raises(vl.errors.ArgumentError, match="audio_"):
            vl.decode_batch([(folder / "stereo.mp4", [0])], **options)


@pytest.fixture(scope="module")
def damaged(folder):
    """A video whose pictures are whole, and whose sound has a damaged packet at 1 s."""
    path = folder / "damaged.mp4"
    data = bytearray((folder / "stereo.mp4").read_bytes())
    with av.open(str(folder / "stereo.mp4")) as container:
        packets = [packet for packet in container.demux(audio=0) if packet.size]
    for packet in packets:
        if 1 <= packet.pts * packet.time_base < 1.1:
            data[packet.pos : packet.pos + packet.size] = b"\xff" * packet.size
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("workers", [0, 1])
def test_damaged_sound_fails_its_clip_as_damaged_pictures_do(folder, damaged, workers):
    requests = [(damaged, range(20, 30)), (folder / "stereo.mp4", range(20, 30))]
    with vl.BatchDecoder(workers=workers) as decoder:
        with pytest.raises(vl.errors.DecodeError, match=r"damaged\.mp4: a packet at 1\.0"):
            decoder.decode(requests, audio=True)
        skipped = decoder.decode(requests, audio=True, on_error="skip")
        replaced = decoder.decode(requests, audio=True, on_error="replace")
        masked = decoder.decode(requests, audio=True, on_error="mask")
        good = decoder.decode([*requests[:1]]).clips[0]
        before = decoder.decode([(damaged, range(5, 20))], audio=True)
        two = [requests[0], (damaged, range(5, 20))]
        beside = decoder.decode(two, audio=True, on_error="mask")
    assert skipped.requests.tolist() == [1]
    assert torch.equal(skipped.audio[0], replaced.audio[0])
    assert torch.equal(skipped.audio[0], replaced.audio[1])
    assert masked.audio_lengths.tolist() == [0, 10 * RATE // 25]
    assert torch.equal(masked.clips[0].frames, good.frames)
    assert masked.clips[0].mask.all()
    (failure,) = masked.failures
    assert (failure.request, failure.frame) == (0, None)
    assert before.audio_lengths.tolist() == [15 * RATE // 25]
    assert beside.audio_lengths.tolist() == [0, 15 * RATE // 25]
    assert torch.equal(beside.audio[1], before.audio[0])


def test_a_crash_of_the_sound_decoder_costs_its_clip(folder, monkeypatch):
    good = str(folder / "stereo.mp4")
    bad = Misbehaving(good, "die", signal.SIGSEGV)
    source = CpuEngine.sound_source

    def misbehave(self, given, opened):
        return bad if given == str(folder / "mono.mov") else source(self, given, opened)

    monkeypatch.setattr(CpuEngine, "sound_source", misbehave)
    requests = [(str(folder / "mono.mov"), [1]), (good, [1])]
    with vl.BatchDecoder(workers=1) as decoder:
        batch = decoder.decode(requests, audio=True, on_error="mask")
    assert batch.audio_lengths.tolist() == [0, RATE // 25]
    assert "SIGSEGV" in str(batch.failures[0].error)


@pytest.mark.gpu
def test_batches_on_a_gpu_have_the_same_sound(path):
    requests = [(str(path), range(3, 20)), (str(path), range(30, 40))]
    here = vl.decode_batch(requests, audio=True, audio_sample_rate=16000)
    there = vl.decode_batch(requests, "cuda", audio=True, audio_sample_rate=16000)
    assert there.frames[0].is_cuda
    assert there.audio.device.type == "cpu"
    assert torch.equal(here.audio, there.audio)
    with vl.Video(path, device="cuda") as video:
        clip = video.get_frames(start=3, count=17, audio=True, audio_sample_rate=16000)
    assert torch.equal(clip.audio, here.clips[0].audio)
