"""Short H.264 files whose colour tags are chosen, with a gradient and flat blocks in them."""

import av
import numpy as np

from videoloader.demo.videos import X264

# Under FFmpeg's numbers (AVCOL_SPC_*, AVCOL_RANGE_*); None writes no tag.
MATRICES = {None: 2, "bt709": 1, "smpte170m": 6, "bt2020nc": 9}
RANGES = {None: 0, "tv": 1, "pc": 2}


def picture(height, width, pixel_format):
    """A frame with colours of every kind: a gradient, flat blocks, black and white."""
    layout = av.VideoFormat(pixel_format)
    unit = 1 << (layout.components[0].bits - 8)
    frame = av.VideoFrame(width, height, pixel_format)
    blocks = np.random.default_rng(3).uniform(40, 210, (3, 4, 8))
    for number, plane in enumerate(frame.planes):
        rows, columns = plane.height, plane.width
        y, x = np.mgrid[:rows, :columns] / [[[rows]], [[columns]]]
        base = (50 + 130 * x + 30 * y, 110 + 40 * x, 115 + 30 * y)[number]
        flat = blocks[number] if number == 0 else 128 + (blocks[number] - 128) / 3
        flat = np.kron(flat, np.ones((-(-rows // 4), -(-columns // 8))))[:rows, :columns]
        values = np.where(y < 0.5, base, flat)
        gray = (16 + 219 * (x > 0.5), 128, 128)[number]
        values = np.where(y > 0.9, gray, values)
        samples = np.round(values * unit).astype(np.uint8 if unit == 1 else np.dtype("<u2"))
        octets = np.ascontiguousarray(samples).view(np.uint8)
        memory = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
        memory[:rows, : octets.shape[1]] = octets
    return frame


def tagged_video(path, *, size=(96, 64), pixel_format="yuv420p", matrix=None, color_range=None):
    """Encode two frames of `picture`; size is (height, width)."""
    height, width = size
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10, options={**X264, "qp": "4"})
        stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
        stream.codec_context.colorspace = MATRICES[matrix]
        stream.codec_context.color_range = RANGES[color_range]
        for number in range(2):
            frame = picture(height, width, pixel_format)
            frame.pts, frame.colorspace = number, MATRICES[matrix]
            frame.color_range = RANGES[color_range]
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def converted_by_pyav(path):
    """The first frame as PyAV gives it."""
    with av.open(str(path)) as container:
        return next(container.decode(video=0)).to_ndarray(format="rgb24")


def scaled_by_ffmpeg(path, size):
    """The first frame through FFmpeg's scale filter with its default flags."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        graph = av.filter.Graph()
        nodes = (
            graph.add_buffer(template=stream),
            graph.add("scale", f"{size[1]}:{size[0]}"),
            graph.add("format", "rgb24"),
            graph.add("buffersink"),
        )
        graph.link_nodes(*nodes).configure()
        graph.vpush(next(container.decode(stream)))
        return graph.vpull().to_ndarray()


def mean_difference(here, there):
    return np.abs(np.asarray(here, np.float64) - there).mean()
