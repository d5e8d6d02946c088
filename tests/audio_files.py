"""Audio files that tests make, and FFmpeg's decode of a whole file to compare with."""

from fractions import Fraction

import av
import numpy as np

__all__ = ["decode_all", "make_signal", "write_sound"]


def make_signal(seconds=1.5, rate=44100, channels=2):
    """float32 (channels, n): a rising tone with noise, another one in each channel."""
    times = np.arange(round(seconds * rate)) / rate
    rng = np.random.default_rng(channels)
    rows = [
        0.4 * np.sin(2 * np.pi * (200 + 90 * number + 300 * times) * times)
        + 0.1 * rng.standard_normal(len(times))
        for number in range(channels)
    ]
    return np.stack(rows).clip(-1, 1).astype(np.float32)


def write_sound(
    path,
    signal,
    rate,
    codec,
    *,
    options=None,
    form=None,
    layout=None,
    with_video=False,
    late=0.0,
    gap=None,
    pictures=None,
    coder="mpeg4",
    fps=25,
):
    """Encode a signal into a file whose suffix names the container.

    Args:
        path: of the file.
        signal: float32 (channels, n).
        rate: samples a second.
        codec: FFmpeg's name of the encoder.
        options: of the encoder.
        form: element type that the encoder takes; its first one by default.
        layout: of the channels.
        with_video: whether there are pictures too, as long as the sound.
        late: seconds that the sound begins after the pictures.
        gap: (first, last) of the packets that are left out.
        pictures: uint8 (H, W, 3), in place of those of `with_video`.
        coder: encoder of the pictures.
        fps: pictures a second.
    """
    layout = layout or {1: "mono", 2: "stereo", 6: "5.1"}.get(len(signal))
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate, layout=layout, options=options or {})
        form = form or stream.codec_context.codec.audio_formats[0].name
        stream.codec_context.format = form
        packets = []
        if with_video:
            count = round((signal.shape[1] / rate + late) * fps)
            pictures = [np.full((48, 64, 3), number * 5 % 256, np.uint8) for number in range(count)]
        if pictures is not None:
            shown = container.add_stream(coder, rate=fps, options={"threads": "1"})
            shown.height, shown.width = pictures[0].shape[:2]
            shown.pix_fmt = "yuv420p"
            for number, pixels in enumerate(pictures):
                picture = av.VideoFrame.from_ndarray(pixels)
                picture.pts, picture.time_base = number, 1 / Fraction(fps)
                packets += shown.encode(picture)
            packets += shown.encode()
        packed = np.ascontiguousarray(signal.T).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(packed, "flt", layout)
        frame.sample_rate, frame.pts = rate, round(late * rate)
        frame.time_base = Fraction(1, rate)
        stream.codec_context.open()
        size = stream.codec_context.frame_size or 1024
        resampler = av.AudioResampler(form, layout, rate, frame_size=size)
        frames = [*resampler.resample(frame), *resampler.resample(None)]
        sound = [packet for each in frames for packet in stream.encode(each)]
        sound += stream.encode()
        if gap:
            del sound[slice(*gap)]
        container.start_encoding()
        moment = {id(each): float((each.dts or 0) * each.time_base) for each in packets + sound}
        for packet in sorted(packets + sound, key=lambda each: moment[id(each)]):
            container.mux(packet)
    return path


def decode_all(path):
    """(samples (channels, n) in the codec's element type, seconds at which the first is played)."""
    parts, begin = [], None
    with av.open(str(path)) as container:
        for frame in container.decode(audio=0):
            if begin is None and frame.pts is not None:
                begin = float(frame.pts * frame.time_base)
            values = frame.to_ndarray()
            planar = frame.format.is_planar
            parts.append(values if planar else values.reshape(-1, frame.layout.nb_channels).T)
    return np.concatenate(parts, axis=1), begin
