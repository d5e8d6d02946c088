"""Surfaces of samples, and what their pixels are by the formulas of docs/decoding/colour.md.

The oracle computes in float64, by displayed positions and dense weight matrices. The kernel goes
through the coded picture.
"""

import numpy as np

from videoloader.decoding.nvdec.descriptor import SITINGS

# format: (bytes of a sample, luma columns and rows for a chroma sample, components interleaved)
FORMATS = {
    "nv12": (1, 2, 2, True),
    "p016": (2, 2, 2, True),
    "nv16": (1, 2, 1, True),
    "p216": (2, 2, 1, True),
    "yuv444": (1, 1, 1, False),
    "yuv444p16": (2, 1, 1, False),
}
# Kr and Kb (ITU-T H.273, table 4).
WEIGHTS = {
    "bt709": (0.2126, 0.0722),
    "smpte170m": (0.299, 0.114),
    "bt470bg": (0.299, 0.114),
    "bt2020nc": (0.2627, 0.0593),
    "bt2020c": (0.2627, 0.0593),
    "fcc": (0.3, 0.11),
    "smpte240m": (0.212, 0.087),
}


def random_surface(rng, picture, *, smooth=False):
    """Bytes of a surface, and its planes: luma, blue, red, each whole with what is not shown."""
    size, across, down, interleaved = FORMATS[picture.format]
    kind = np.uint8 if size == 1 else np.dtype("<u2")
    columns = picture.pitch // size
    chroma_rows = -(-picture.rows // down)
    rows = picture.rows + chroma_rows * (1 if interleaved else 2)
    samples = rng.integers(0, 1 << picture.bit_depth, (rows, columns))
    if smooth:
        y, x = np.mgrid[:rows, :columns]
        samples = (60 + 60 * x / columns + 60 * y / rows) * (1 << (picture.bit_depth - 8))
    samples = samples.astype(np.int64) << (8 * size - picture.bit_depth)
    memory = np.zeros((rows, picture.pitch), dtype=np.uint8)
    memory[:, : columns * size] = samples.astype(kind).view(np.uint8)
    samples = samples >> (8 * size - picture.bit_depth)
    luma, chroma = samples[: picture.rows], samples[picture.rows :]
    if interleaved:
        pairs = columns // across if across == 2 else columns // 2
        blue, red = chroma[:, : 2 * pairs : 2], chroma[:, 1 : 2 * pairs : 2]
    else:
        blue, red = chroma[:chroma_rows], chroma[chroma_rows:]
    return memory, (luma, blue, red)


def expected(planes, picture, view, interpolation, tone_map="none", *, repeats=False, output="rgb"):
    """(H, W, 3) of a slot, or (H, W, 1) of gray: 0-255, not rounded, not normalised.

    With `repeats`, at the picture's own size, chroma is repeated for the pixels that share it.
    """
    turn = picture.orientation
    _, across, down, _ = FORMATS[picture.format]
    siting = SITINGS[picture.siting]
    height, width = picture.displayed
    crop = view.crop or (0, 0, height, width)
    axes = [  # of the coded picture: start, length, samples a chroma sample, siting
        (picture.top, picture.height, down, siting[1] if down == 2 else 0),
        (picture.left, picture.width, across, siting[0] if across == 2 else 0),
    ]
    if turn.transpose:
        axes.reverse()
    mirrors = (turn.flip_y, turn.flip_x)
    channels = []
    if repeats:
        blue, red = (plane.repeat(down, axis=0).repeat(across, axis=1) for plane in planes[1:])
        rows, columns = planes[0].shape
        planes = planes[0], blue[:rows, :columns], red[:rows, :columns]
        axes = [(start, length, 1, 0) for start, length, _, _ in axes]
    for number, plane in enumerate(planes):
        values = plane.astype(np.float64)
        if turn.transpose:
            values = values.T
        for axis in (0, 1):
            weights = axis_weights(
                *axes[axis],
                mirrored=mirrors[axis],
                chroma=number > 0,
                samples=values.shape[0],
                crop=(crop[axis], crop[axis + 2]),
                size=view.size[axis],
                interpolation=interpolation,
            )
            values = (weights @ values).T
        if view.window:
            top, left, rows, columns = view.window
            values = values[top : top + rows, left : left + columns]
        channels.append(values[:, ::-1] if view.flip else values)
    if output == "gray":
        return to_gray(channels[0], picture.range == "pc", picture.bit_depth)[..., None]
    rgb = to_rgb(channels, picture.matrix, picture.range == "pc", picture.bit_depth)
    if tone_map != "none" and picture.transfer in ("smpte2084", "arib-std-b67"):
        rgb = 255 * sdr(rgb / 255, picture.transfer, tone_map)
    return rgb


def axis_weights(
    start, length, step, siting, *, mirrored, chroma, samples, crop, size, interpolation
):
    """(size, samples): how much each sample of an axis adds to each displayed place."""
    indices = np.arange(samples)
    if not chroma:
        step, siting = 1, 0
    # Where each sample lies, in displayed pixels: the centre of pixel i is at i.
    at = indices * step + siting - start
    first, last = indices * step, indices * step + step - 1  # luma that a sample belongs to
    shown = (last >= start) & (first < start + length)
    if mirrored:
        at = length - 1 - at
    # Samples from which some pixel of the crop is interpolated.
    used = shown & (at + step > crop[0]) & (at - step < crop[0] + crop[1] - 1)
    scale = crop[1] / size
    place = np.arange(size)
    if interpolation == "nearest":
        centers = crop[0] + (2 * place + 1) * crop[1] // (2 * size)
    else:
        centers = crop[0] + (place + 0.5) * scale - 0.5
    reach = max(step, scale) if interpolation == "triangular" else step
    # The axis goes on beyond what may be used: with samples like the first and the last of that.
    far = int(np.ceil((np.abs(centers).max() + np.abs(at).max() + reach) / step)) + 2
    places = np.arange(-far, samples + far)
    whole = at[0] + places * (-step if mirrored else step)
    weights = np.maximum(1 - np.abs(whole[None] - centers[:, None]) / reach, 0)
    if interpolation == "nearest" and not chroma:
        weights = (whole[None] == centers[:, None]).astype(float)
    first, end = far + indices[used].min(), far + indices[used].max() + 1
    continued = np.zeros((size, samples))
    continued[:, first - far : end - far] = weights[:, first:end]
    continued[:, first - far] += weights[:, :first].sum(axis=1)
    continued[:, end - far - 1] += weights[:, end:].sum(axis=1)
    return continued / continued.sum(axis=1, keepdims=True)


def to_gray(luma, full, depth):
    """Y' of ITU-T H.273, section 8.3, on the scale of 255."""
    black, white = (0, (1 << depth) - 1) if full else (16 << depth - 8, 235 << depth - 8)
    return 255 * np.clip((luma - black) / (white - black), 0, 1)


def to_rgb(channels, matrix, full, depth):
    """ITU-T H.273, section 8.3."""
    luma, blue, red = channels
    unit = 1 << (depth - 8)
    if full:
        top = (1 << depth) - 1
        y, b, r = luma / top, (blue - 128 * unit) / top, (red - 128 * unit) / top
    else:
        y = (luma - 16 * unit) / (219 * unit)
        b, r = (blue - 128 * unit) / (224 * unit), (red - 128 * unit) / (224 * unit)
    if matrix == "gbr":
        g, b, r = [c / top if full else (c - 16 * unit) / (219 * unit) for c in (luma, blue, red)]
        return 255 * np.clip(np.stack([r, g, b], axis=-1), 0, 1)
    if matrix == "ycgco":
        return 255 * np.clip(np.stack([y - b + r, y + b, y - b - r], axis=-1), 0, 1)
    kr, kb = WEIGHTS[matrix]
    green = y - 2 * (kb * (1 - kb) * b + kr * (1 - kr) * r) / (1 - kr - kb)
    rgb = np.stack([y + 2 * (1 - kr) * r, green, y + 2 * (1 - kb) * b], axis=-1)
    return 255 * np.clip(rgb, 0, 1)


def sdr(signal, transfer, tone_map):
    """BT.2100's light in cd/m2, compressed, with BT.709's primaries and BT.1886's gamma."""
    if transfer == "smpte2084":
        m1, m2 = 2610 / 16384, 2523 / 4096 * 128
        c1, c2, c3 = 3424 / 4096, 2413 / 4096 * 32, 2392 / 4096 * 32
        root = signal ** (1 / m2)
        light = 10000 * (np.maximum(root - c1, 0) / (c2 - c3 * root)) ** (1 / m1)
    else:
        a = 0.17883277
        b, c = 1 - 4 * a, 0.5 - a * np.log(4 * a)
        scene = np.where(signal <= 0.5, signal**2 / 3, (np.exp((signal - c) / a) + b) / 12)
        light = 1000 * (scene @ [0.2627, 0.678, 0.0593])[..., None] ** 0.2 * scene
    light = light / 203
    peak = 1000 / 203
    most = light.max(axis=-1, keepdims=True)
    bounded = np.minimum(most, peak)
    if tone_map == "reinhard":
        small = bounded * (1 + bounded / peak**2) / (1 + bounded)
    else:
        small = filmic(bounded) / filmic(peak)
    light = light * np.divide(small, most, out=np.zeros_like(most), where=most > 0)
    wide, narrow = (
        rgb_to_xyz(*primaries)
        for primaries in (
            ((0.708, 0.292), (0.17, 0.797), (0.131, 0.046)),
            ((0.64, 0.33), (0.3, 0.6), (0.15, 0.06)),
        )
    )
    light = light @ (np.linalg.inv(narrow) @ wide).T
    return np.clip(light, 0, 1) ** (1 / 2.4)


def filmic(x):
    """Hable's curve, with its usual constants A to F."""
    a, b, c, d, e, f = 0.15, 0.5, 0.1, 0.2, 0.02, 0.3
    return (x * (a * x + c * b) + d * e) / (x * (a * x + b) + d * f) - e / f


def rgb_to_xyz(*primaries):
    """From chromaticities of primaries and D65."""
    columns = np.array([[x / y, 1, (1 - x - y) / y] for x, y in primaries]).T
    white = np.array([0.3127 / 0.329, 1, (1 - 0.3127 - 0.329) / 0.329])
    return columns * np.linalg.solve(columns, white)
