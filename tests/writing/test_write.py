"""Written videos decode to what was written, here and in FFmpeg."""

import os
from contextlib import closing
from fractions import Fraction

import av
import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.writing import formats

RATE = 48000
LOSSY = {"h264": "mp4", "hevc": "mov", "av1": "mkv", "vp9": "webm"}
FAST = {
    "h264": {"preset": "ultrafast"},
    "hevc": {"preset": "ultrafast"},
    "av1": {"preset": "12"},
    "vp9": {"cpu-used": "8"},
    "ffv1": {},
}


def moving(count=8, height=64, width=96):
    """Smooth colours that move, uint8 (F, H, W, 3)."""
    frame, row, column = np.meshgrid(*map(np.arange, (count, height, width)), indexing="ij")
    waves = [row / 17 + frame / 5, column / 23 - frame / 7, (row + column) / 31 + frame / 9]
    return np.stack([127.5 + 100 * np.sin(wave) for wave in waves], axis=-1).astype(np.uint8)


def noise(count=4, height=34, width=50, dtype=np.uint8):
    high = np.iinfo(dtype).max + 1
    return np.random.default_rng(0).integers(0, high, (count, height, width, 3), dtype=dtype)


def by_ffmpeg(path):
    """All frames as FFmpeg decodes and converts them."""
    with av.open(str(path)) as container:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])


def planes_of(path, number=0):
    """The planes of a frame as FFmpeg decodes them."""
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
        return vl.decoding.pictures.surface.Surface(frames[number]).planes


def psnr(found, wanted):
    error = (found.astype(np.float64) - wanted) ** 2
    return 10 * np.log10(255**2 / error.mean())


@pytest.mark.parametrize(
    ("codec", "suffix"), [("ffv1", "mkv"), ("h264", "mp4"), ("hevc", "mp4"), ("vp9", "webm")]
)
def test_lossless_frames_come_back_bit_for_bit(tmp_path, codec, suffix):
    frames = noise(height=61, width=83)
    path = tmp_path / f"exact.{suffix}"
    vl.write_video(
        frames, path, codec=codec, quality=None if codec == "ffv1" else "lossless", fps=25
    )
    with vl.Video(path) as video:
        assert np.array_equal(video[:].numpy(), frames)
        assert video.index.codec == codec
    assert np.array_equal(by_ffmpeg(path), frames)


def test_sixteen_bits_come_back_bit_for_bit(tmp_path):
    frames = noise(dtype=np.uint16)
    vl.write_video(frames, tmp_path / "deep.mkv", codec="ffv1")
    with vl.Video(tmp_path / "deep.mkv") as video:
        assert np.array_equal(video.get_frames(dtype="uint16").frames.numpy(), frames)


@pytest.mark.parametrize("codec", LOSSY)
def test_default_quality_keeps_smooth_pictures(tmp_path, codec):
    frames = moving()
    path = tmp_path / f"lossy.{LOSSY[codec]}"
    vl.write_video(frames, path, codec=codec, fps=25, options=FAST[codec])
    with vl.Video(path) as video:
        assert psnr(video[:].numpy(), frames) > 38
        assert len(video) == len(frames)
    assert psnr(by_ffmpeg(path), frames) > 36


def test_ten_bits_are_coded_as_such(tmp_path):
    frames = moving(count=3).astype(np.uint16) * 257
    vl.write_video(frames, tmp_path / "ten.mp4", codec="hevc", options=FAST["hevc"])
    with vl.Video(tmp_path / "ten.mp4") as video:
        assert video.index.bit_depth == 10
        found = video.get_frames(dtype="uint16").frames.numpy()
        assert psnr(found / 257, frames / 257) > 38
        assert abs(found.mean() - frames.mean()) < 40


@pytest.mark.parametrize("matrix", ["bt601", "bt709", "bt2020"])
@pytest.mark.parametrize("color_range", ["limited", "full"])
def test_colours_are_tagged_as_they_are_coded(tmp_path, matrix, color_range):
    colors = np.array([[200, 30, 60], [20, 180, 40], [30, 50, 220], [250, 250, 250]], np.uint8)
    frames = np.repeat(np.repeat(colors[:, None, None], 32, 1), 48, 2)
    path = tmp_path / "colors.mp4"
    options = {"preset": "ultrafast", "crf": "4"}
    vl.write_video(frames, path, gop=1, matrix=matrix, color_range=color_range, options=options)
    names = {"bt601": "smpte170m", "bt709": "bt709", "bt2020": "bt2020nc"}
    with vl.Video(path) as video:
        assert video.index.color.matrix == names[matrix]
        assert video.index.color.range == {"limited": "tv", "full": "pc"}[color_range]
        assert np.abs(video[:].numpy().astype(int) - frames).max() <= 3
    wrong = vl.Video(path, matrix="bt2020" if matrix == "bt601" else "bt601")
    with wrong as video:
        assert np.abs(video[:].numpy().astype(int) - frames).max() > 8


def test_halved_chroma_lies_on_the_left_pixel_and_between_rows(tmp_path):
    """A ramp keeps its values where it is sampled; BT.601 of ITU-R BT.601-7, section 2.5."""
    blue = np.arange(0, 240, 4, dtype=np.float64)
    frames = np.zeros((1, 8, len(blue), 3), np.uint8)
    frames[..., 2] = blue + np.array([0, 8] * 4)[:, None]
    path = tmp_path / "ramp.mkv"
    vl.write_video(frames, path, codec="ffv1", pixel_format="yuv420p")
    chroma = planes_of(path)[1]
    at = blue[::2] + 4  # the mean of two rows
    wanted = 128 + 224 * 0.5 * at / 255
    assert np.abs(chroma[:, 1:] - wanted[1:]).max() <= 0.51


@pytest.mark.parametrize(("suffix", "late"), [("mp4", 0), ("mkv", 0.0005)])
def test_times_are_exact(tmp_path, suffix, late):
    path = tmp_path / f"times.{suffix}"
    vl.write_video(moving(5), path, fps=30000 / 1001, options=FAST["h264"])
    with vl.Video(path) as video:
        wanted = np.arange(5) * 1001 / 30000
        assert np.abs(video.index.boundaries[:-1] - wanted).max() <= late + 1e-12
        rate = video.index.stated_rate or video.index.average_fps
        assert float(rate) == pytest.approx(30000 / 1001, abs=1e-9)
    times = [0.25, 0.3, 0.75, 0.7501, 2.0]
    vl.write_video(moving(5), path, times=times, options=FAST["h264"])
    with vl.Video(path) as video:
        assert np.abs(video.index.boundaries[:-1] - times).max() <= late + 1e-12
        assert video.index.boundaries[-1] == pytest.approx(2.0 + 1.2499, abs=0.002)


def test_keyframes_are_no_further_apart_than_asked(tmp_path):
    for codec, suffix in (("h264", "mp4"), ("hevc", "mp4"), ("vp9", "webm")):
        path = tmp_path / f"gop.{suffix}"
        options = FAST[codec] | ({"bf": "3"} if codec != "vp9" else {})
        vl.write_video(moving(12), path, codec=codec, gop=4, options=options)
        index = vl.index_video(path)
        assert index.keyframes.tolist() == [0, 4, 8]
        assert not index.leading.any()  # groups are closed


def test_layouts_iterables_clips_and_videos_give_the_same_file(tmp_path):
    frames = moving(4)
    tensor = torch.from_numpy(frames)
    vl.write_video(frames, tmp_path / "source.mkv", codec="ffv1", fps=12.5)
    wanted = (tmp_path / "source.mkv").read_bytes()
    with vl.Video(tmp_path / "source.mkv") as video:
        given = {
            "tensor": (tensor, {"fps": 12.5}),
            "FCHW": (tensor.permute(0, 3, 1, 2), {"fps": 12.5, "layout": "FCHW"}),
            "CFHW": (frames.transpose(3, 0, 1, 2), {"fps": 12.5, "layout": "CFHW"}),
            "iterable": ((frame for frame in frames), {"fps": Fraction(25, 2)}),
            "planar": (
                (frame.permute(2, 0, 1) for frame in tensor),
                {"fps": 12.5, "layout": "FCHW"},
            ),
            "video": (video, {"fps": 12.5}),
            "clip": (video.get_frames(), {"fps": 12.5}),
        }
        for name, (value, options) in given.items():
            path = tmp_path / f"{name}.mkv"
            vl.write_video(value, path, codec="ffv1", **options)
            assert path.read_bytes() == wanted, name


def test_clips_and_videos_keep_their_times(tmp_path):
    times = [0.0, 0.1, 0.5, 0.6, 0.9]
    vl.write_video(moving(5), tmp_path / "uneven.mp4", times=times, options=FAST["h264"])
    with vl.Video(tmp_path / "uneven.mp4") as video:
        vl.write_video(video, tmp_path / "video.mp4", options=FAST["h264"])
        vl.write_video(video.get_frames([1, 2, 4]), tmp_path / "clip.mp4", options=FAST["h264"])
    assert vl.index_video(tmp_path / "video.mp4").boundaries[:-1].tolist() == times
    found = vl.index_video(tmp_path / "clip.mp4").boundaries[:-1]
    assert found.round(6).tolist() == [0.0, 0.4, 0.8]


def test_odd_sizes_are_coded_or_refused(tmp_path):
    frames = moving(3, 61, 83)
    with pytest.raises(
        vl.errors.ArgumentError, match="83x61; crop or resize them, pass pixel_format="
    ):
        vl.write_video(frames, tmp_path / "odd.mp4")
    assert not os.listdir(tmp_path)
    vl.write_video(frames, tmp_path / "odd.webm", codec="vp9", options=FAST["vp9"])
    vl.write_video(frames, tmp_path / "odd.mp4", pixel_format="yuv444p", options=FAST["h264"])
    for name in ("odd.webm", "odd.mp4"):
        with vl.Video(tmp_path / name) as video:
            assert psnr(video[:].numpy(), frames) > 36


def chirp(seconds=0.5, channels=2):
    time = np.arange(round(seconds * RATE)) / RATE
    rows = [0.5 * np.sin(2 * np.pi * (300 + 100 * n + 2000 * time) * time) for n in range(channels)]
    return np.stack(rows).astype(np.float32)


@pytest.mark.parametrize(("suffix", "error"), [("mkv", 2**-23), ("mp4", 0.02), ("webm", 0.01)])
def test_sound_begins_with_the_first_frame(tmp_path, suffix, error):
    sound = chirp()
    path = tmp_path / f"sound.{suffix}"
    codec = "vp9" if suffix == "webm" else "h264"
    audio = torch.from_numpy(sound), RATE
    vl.write_video(moving(12), path, codec=codec, fps=25, audio=audio, options=FAST[codec])
    with closing(vl.Audio(path)) as opened:
        found = opened.get_samples(0.0, 0.5, pad=True).numpy()
    errors = [np.abs(found - np.roll(sound, lag, axis=1)).mean() for lag in range(-3, 4)]
    assert np.argmin(errors) == 3
    assert errors[3] < error
    assert len(vl.index_video(path)) == 12


def test_an_audio_object_is_written(tmp_path):
    vl.write_video(moving(5), tmp_path / "a.mkv", fps=10, audio=(chirp(), RATE))
    with closing(vl.Audio(tmp_path / "a.mkv")) as sound:
        vl.write_video(moving(5), tmp_path / "b.mkv", fps=10, audio=sound)
        with closing(vl.Audio(tmp_path / "b.mkv")) as copy:
            assert np.array_equal(copy.get_samples().numpy(), sound.get_samples().numpy())


def test_the_sound_of_a_clip_is_written_with_its_own_times(tmp_path):
    vl.write_video(moving(12), tmp_path / "a.mkv", fps=25, audio=(chirp(), RATE))
    with vl.Video(tmp_path / "a.mkv") as video:
        clip = video.get_frames(start=3, stop=9, audio=True)
        silent = video.get_frames(start=3, stop=9)
        filled = video.get_frames([0, 99], pad_mode="constant", audio=True)
    out = tmp_path / "b.mkv"
    vl.write_video(clip, out)
    with closing(vl.Audio(out)) as sound:
        assert np.array_equal(sound.get_samples().numpy(), clip.audio.T.numpy())
    for wrong, options in ((clip, {"fps": 25}), (clip, {"times": range(6)}), (filled, {})):
        with pytest.raises(
            vl.errors.ArgumentError, match=r"b\.mkv: the clip has sound, .*audio=False"
        ):
            vl.write_video(wrong, out, **options)
    for frames, options in ((silent, {}), (clip, {"fps": 25, "audio": False})):
        vl.write_video(frames, out, **options)
        with pytest.raises(vl.VideoError, match=r"no audio|no sound"):
            vl.Audio(out)


@pytest.mark.parametrize(
    ("frames", "options", "message"),
    [
        (np.zeros((0, 8, 8, 3), np.uint8), {}, "no frames"),
        (np.zeros((2, 8, 8, 3), np.float32), {}, "uint8 or uint16, got float32"),
        (torch.zeros((2, 8, 8, 3), dtype=torch.bfloat16), {}, "uint8 or uint16, got float32"),
        (
            moving(2),
            {"codec": "ffv1", "pixel_format": "gbrp10le"},
            "RGB is not written|not take ffv1",
        ),
        (np.zeros((2, 8, 8, 4), np.uint8), {}, "3 channels in layout FHWC.*pass the layout"),
        (np.zeros((8, 8, 3), np.uint8), {}, "4 dimensions, FHWC"),
        (5, {}, "an iterable of frames, got int"),
        (moving(2), {"times": [0.5, 0.5]}, "time of frame 1 is not after"),
        (moving(2), {"times": [0.5]}, "1 times for more frames"),
        (moving(2), {"times": [0, 1, 2]}, "3 times for 2 frames"),
        (moving(2), {"times": [-1, 1]}, "first at 0 or later"),
        (moving(2), {"fps": 0}, "above 0"),
        (moving(2), {"fps": 3, "times": [0, 1]}, "not both"),
        (moving(2), {"codec": "h263"}, "codec must be one of h264"),
        (moving(2), {"codec": "h265"}, "got 'h265'; did you mean hevc"),
        (moving(2), {"codec": "h264_nvenc"}, "h264, hevc, .* are encoded on the CPU"),
        (moving(2), {"quality": 70}, "0 is best.* from 0 to 51"),
        (moving(2), {"codec": "av1", "quality": "lossless"}, "cannot be written without loss"),
        (moving(2), {"codec": "ffv1", "quality": 3}, "ffv1 is lossless"),
        (moving(2), {"gop": 0}, "gop must be"),
        (moving(2), {"layout": "HWC"}, "layout must be one of"),
        (moving(2), {"audio": (np.zeros((800, 2)), 8000)}, "transpose the sound of a Clip"),
        (moving(2), {"audio": np.zeros(5)}, "audio is .samples, rate."),
        (moving(2), {"pixel_format": "yuv440p"}, "libx264 takes no yuv440p; it takes yuv420p"),
        (iter([moving(1)[0], moving(1)[0, :8]]), {}, "frame 1 is uint8 .8, 96, 3., the first"),
        (moving(2), {"pixel_format": "foo"}, "libx264 takes no foo; it takes yuv420p"),
        (moving(2), {"pixel_format": "nv12"}, "RGB cannot be written as nv12"),
        (moving(2), {"times": [0, 1e300]}, "times are seconds"),
        (moving(2), {"gop": 2.5}, "gop must be a whole number"),
        (moving(2), {"options": {"crv": "9"}}, "libx264 has no option crv"),
    ],
)
def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path, frames, options, message):
    with pytest.raises(vl.VideoError, match=message):
        vl.write_video(frames, tmp_path / "no.mp4", **options)
    assert not os.listdir(tmp_path)


def test_a_folder_that_is_missing_is_created(tmp_path):
    made = tmp_path / "none" / "clip.mp4"
    vl.write_video(moving(4), made)
    vl.cut(made, tmp_path / "one" / "two" / "part.mp4", 1, 3)
    assert len(vl.index_video(tmp_path / "one" / "two" / "part.mp4")) == 2
    with pytest.raises(vl.errors.SourceError, match=r"no\.mp4: cannot be written"):
        vl.write_video(moving(2), made / "no.mp4")


def test_a_container_that_does_not_take_the_codec_is_said(tmp_path):
    with pytest.raises(vl.errors.UnsupportedError, match=r"\.mov does not take vp9; it takes h264"):
        vl.write_video(moving(2), tmp_path / "no.mov", codec="vp9")
    assert not os.listdir(tmp_path)


def test_the_container_chooses_the_codec_where_none_is_named(tmp_path):
    for suffix, codec in ((".mp4", "h264"), (".webm", "vp9")):
        path = tmp_path / f"made{suffix}"
        vl.write_video(moving(2), path)
        assert vl.index_video(path).codec == codec


def test_another_suffix_is_refused(tmp_path):
    with pytest.raises(vl.errors.ArgumentError, match=r"one of \.mp4, \.m4v"):
        vl.write_video(moving(2), tmp_path / "no.gif")


def test_an_encoder_that_is_missing_is_said_with_those_that_are_there(tmp_path, monkeypatch):
    found = formats._codec
    monkeypatch.setattr(formats, "_codec", lambda name: None if "265" in name else found(name))
    with pytest.raises(
        vl.errors.UnsupportedError, match=r"no encoder of hevc \(libx265\); it writes: h2"
    ):
        vl.write_video(moving(2), tmp_path / "no.mp4", codec="hevc")
    assert not os.listdir(tmp_path)


def test_a_file_is_replaced_only_when_the_new_one_is_complete(tmp_path):
    path = tmp_path / "clip.mp4"
    path.write_bytes(b"before")

    def broken():
        yield moving(1)[0]
        assert path.read_bytes() == b"before"
        raise ValueError("no more")

    with pytest.raises(ValueError, match=r"^no more$"):
        vl.write_video(broken(), path)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["clip.mp4"]
