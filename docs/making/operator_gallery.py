"""The page with a picture before and after each operator of `fn` that changes pictures."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali import fn, types
from videoloader.dali.fn.names import HIDDEN
from videoloader.dali.operators.operator import OPERATORS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = Path(__file__).parents[1] / "reference" / "made"
WIDTH, HEIGHT = 192, 128

# The calls that are shown, by section. `picture` is uint8 (128, 192, 3); `gray` its red channel.
CALLS = {
    "Size and place": (
        "fn.resize(picture, size=(64, 192))",
        "fn.crop(picture, crop=(96, 96), crop_pos_x=0.8)",
        "fn.crop_mirror_normalize(picture, crop=(96, 144), mirror=1, mean=[128], std=[64])",
        "fn.resize_crop_mirror(picture, resize_shorter=160, crop=(96, 96), mirror=1)",
        "fn.random_resized_crop(picture, size=(96, 96), seed=2)",
        "fn.slice(picture, rel_start=[0.2, 0.3], rel_end=[0.9, 0.8], axis_names='HW')",
        "fn.flip(picture)",
        "fn.rotate(picture, angle=20, fill_value=90)",
        "fn.transpose(picture, perm=[1, 0, 2])",
        "fn.pad(picture, axes=[0, 1], shape=[160, 224], fill_value=90)",
        "fn.paste(picture, ratio=1.2, fill_value=(90, 90, 90), paste_x=0.2, paste_y=0.8)",
        "fn.multi_paste(picture, picture, output_size=(128, 192), shapes=[[80, 96], [80, 96]], "
        "out_anchors=[[0, 0], [40, 90]])",
        "fn.warp_affine(picture, [0.8, 0.3, 0, -0.2, 1.1, 20], fill_value=90)",
        "fn.experimental.warp_perspective(picture, matrix=[1, 0.2, -20, 0, 1, 0, 0, 0.003, 1], "
        "fill_value=[90])",
        "fn.experimental.remap(picture, wave_x, wave_y)",
        "fn.water(picture, ampl_x=5, ampl_y=5)",
        "fn.sphere(picture)",
        "fn.jitter(picture, nDegree=7, seed=1)",
    ),
    "Colour": (
        "fn.brightness(picture, brightness=1.4)",
        "fn.contrast(picture, contrast=1.8)",
        "fn.brightness_contrast(picture, brightness=0.8, contrast=1.8)",
        "fn.saturation(picture, saturation=0.3)",
        "fn.hue(picture, hue=120)",
        "fn.hsv(picture, hue=-60, saturation=1.3, value=0.9)",
        "fn.color_twist(picture, hue=30, saturation=1.5, contrast=1.2, brightness=0.9)",
        "fn.color_space_conversion(picture, image_type=types.RGB, output_type=types.GRAY)",
        "fn.equalize(picture)",
        "fn.clahe(picture, tiles_x=4, tiles_y=4, clip_limit=3.0)",
        "fn.normalize(picture, scale=50.0, shift=128.0, dtype=types.UINT8)",
        "fn.lookup_table(picture, keys=list(range(256)), values=list(range(255, -1, -1)), "
        "dtype=types.UINT8)",
        "fn.debayer(gray, blue_position=[0, 0])",
    ),
    "Filters": (
        "fn.gaussian_blur(picture, window_size=15)",
        "fn.median_blur(picture, window_size=[9, 9])",
        "fn.laplacian(picture, window_size=5, scale=0.3)",
        "fn.filter(picture, emboss)",
        "fn.dilate(picture, mask_size=[7, 7])",
        "fn.erode(picture, mask_size=[7, 7])",
        "fn.jpeg_compression_distortion(picture, quality=5)",
    ),
    "Noise and holes": (
        "fn.noise.gaussian(picture, stddev=30.0, seed=1)",
        "fn.noise.salt_and_pepper(picture, prob=0.1, seed=1)",
        "fn.noise.shot(picture, factor=20.0, seed=1)",
        "fn.erase(picture, anchor=[30, 40], shape=[60, 70], axis_names='HW', fill_value=90)",
        "fn.grid_mask(picture, tile=32, ratio=0.4)",
    ),
}

# Why the other operators have no picture.
LEFT_OUT = {
    "read or decode files": (
        *("decoders.", "readers.", "inputs.", "io.", "experimental.readers."),
        *("external_source", "peek_image_shape", "dump_image"),
    ),
    "work on sound": (
        *("audio_resample", "mel_filter_bank", "mfcc", "nonsilent_region", "power_spectrum"),
        *("preemphasis_filter", "spectrogram", "to_decibels"),
    ),
    "work on boxes, masks and points": (
        *("bb_flip", "bbox_paste", "bbox_rotate", "box_encoder", "coord_flip", "coord_transform"),
        *("random_bbox_crop", "segmentation.", "ssd_random_crop"),
    ),
    "give numbers or matrices": (
        *("batch_permutation", "constant", "full", "full_like", "get_property", "one_hot", "ones"),
        *("ones_like", "random.", "random_crop_generator", "reductions.", "roi_random_crop"),
        *("shapes", "transforms.", "zeros", "zeros_like"),
    ),
    "rearrange samples, frames or axes, or change types, and leave pictures as they are": (
        *("cast", "cast_like", "cat", "copy", "element_extract", "expand_dims", "per_frame"),
        *("permute_batch", "reinterpret", "reshape", "sequence_rearrange", "squeeze", "stack"),
    ),
    "need a function of yours": (
        *("dl_tensor_python_function", "numba_function", "python_function"),
        "torch_python_function",
    ),
    "compute motion between frames": ("optical_flow",),
    "are those above under another name or for any tensor": (
        *("fast_resize_crop_mirror", "tensor_resize"),
    ),
}


def name_of(call: str) -> str:
    """The operator that a call is of."""
    return call.partition("(")[0].removeprefix("fn.")


def drawn_picture() -> NDArray[np.uint8]:
    """Hills, a sun and a word: what is up, left, red and sharp can be seen."""
    rows = np.linspace(0, 1, HEIGHT)[:, None, None]
    sky = (1 - rows) * np.array([70, 130, 220]) + rows * np.array([250, 220, 170])
    picture = np.repeat(sky, WIDTH, axis=1).astype(np.uint8)
    cv2.circle(picture, (146, 36), 20, (255, 210, 60), -1, cv2.LINE_AA)
    across = np.arange(WIDTH)
    for height, wave, color in ((84, 31, (90, 150, 110)), (100, 23, (50, 110, 70))):
        tops = (height + 9 * np.sin(across / wave) + 4 * np.sin(across / 7)).astype(int)
        for column, top in enumerate(tops):
            picture[top:, column] = color
    cv2.rectangle(picture, (40, 66), (72, 98), (190, 70, 50), -1)
    cv2.fillPoly(picture, [np.array([(34, 68), (56, 46), (78, 68)])], (120, 40, 40), cv2.LINE_AA)
    cv2.rectangle(picture, (51, 80), (61, 98), (240, 230, 200), -1)
    font = cv2.FONT_HERSHEY_SIMPLEX
    cv2.putText(picture, "video", (92, 116), font, 0.9, (255, 255, 255), 2, cv2.LINE_AA)
    return picture


def results() -> dict[str, NDArray[np.uint8]]:
    """What each call gives, as uint8 (H, W, 3); values of other types are brought into 0 to 255."""
    picture = torch.from_numpy(drawn_picture())
    rows, columns = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    names = {
        "fn": fn,
        "types": types,
        "picture": picture,
        "gray": picture[..., 0],
        "emboss": torch.tensor([[-2.0, -1, 0], [-1, 1, 1], [0, 1, 2]]),
        "wave_x": torch.from_numpy(columns + 8 * np.sin(rows / 12)),
        "wave_y": torch.from_numpy(rows + 8 * np.sin(columns / 12)),
    }
    found = {}
    for call in (call for calls in CALLS.values() for call in calls):
        result = eval(call, names)
        pixels = result.to(torch.float32)
        if result.dtype != torch.uint8:
            pixels = pixels * 50 + 128  # normalised
        if pixels.shape[0] == 3:
            pixels = pixels.permute(1, 2, 0)
        found[call] = pixels.clamp(0, 255).to(torch.uint8).expand(-1, -1, 3).numpy()
    return found


def page() -> str:
    """The page, in Markdown."""
    lines = [
        "---",
        "html_theme.sidebar_secondary.remove: true",
        "---",
        "",
        "# Gallery of operators",
        "",
        "Each card shows a call and its result for the RGB image `picture` of "
        f"{WIDTH}x{HEIGHT} pixels, a tensor (H, W, C). The results were made when this page was "
        "built. The same calls take clips, batches and nodes of a pipeline. "
        "[Operators](../dali/operators.md) has all arguments.",
        "",
        "![The picture](made/picture.png)",
        "",
    ]
    for section, calls in CALLS.items():
        lines += [f"## {section}", "", "::::{grid} 1 2 2 3", ":gutter: 3", ""]
        for call in calls:
            name = name_of(call)
            anchor = f"fn{name}".replace(".", "")
            lines += [
                ":::{grid-item-card}",
                f":img-top: made/{name}.png",
                ":class-card: operator",
                "",
                f"[fn.{name}](../dali/operators.md#{anchor}): {summary(name)}",
                "",
                "```python",
                *wrapped(call),
                "```",
                ":::",
                "",
            ]
        lines += ["::::", ""]
    lines += ["## Without a picture", "", "Operators that"]
    for reason, names in LEFT_OUT.items():
        shown = ", ".join(
            f"`fn.{each}*`" if each.endswith(".") else f"`fn.{each}`" for each in names
        )
        lines.append(f"- {reason}: {shown}")
    return "\n".join([*lines, ""])


def summary(name: str) -> str:
    """The first sentence of an operator's documentation."""
    return inspect.cleandoc(OPERATORS[name].doc).partition("\n\n")[0].replace("\n", " ")


def wrapped(call: str) -> list[str]:
    """A call, an argument a line where it is long."""
    if len(call) < 34:
        return [call]
    name, _, rest = call.removesuffix(")").partition("(")
    parts, depth = [""], 0
    for letter in rest:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [f"{name}(", *(f"    {part.strip()}," for part in parts), ")"]


def unexplained() -> set[str]:
    """Operators that are neither shown nor left out with a reason."""
    shown = {name_of(call) for calls in CALLS.values() for call in calls}
    reasons = tuple(name for names in LEFT_OUT.values() for name in names)
    known = {name for name in OPERATORS if name in reasons or name.startswith(groups(reasons))}
    return set(OPERATORS) - set(HIDDEN) - shown - known


def groups(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those that stand for all operators of a module."""
    return tuple(name for name in names if name.endswith("."))


def write(_: Sphinx) -> None:
    """Write the page and its pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = results()
    for call, pixels in found.items():
        cv2.imwrite(str(FOLDER / f"{name_of(call)}.png"), on_canvas(pixels))
    cv2.imwrite(str(FOLDER / "picture.png"), drawn_picture()[..., ::-1])
    FOLDER.with_name("gallery.md").write_text(page(), encoding="utf-8")


def on_canvas(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A picture in the middle of a transparent one, so that all are shown at one scale; BGRA."""
    canvas = np.zeros((192, 240, 4), np.uint8)
    height, width = pixels.shape[:2]
    top, left = (192 - height) // 2, (240 - width) // 2
    canvas[top : top + height, left : left + width] = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGRA)
    return canvas


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
