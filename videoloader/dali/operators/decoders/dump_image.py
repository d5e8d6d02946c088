"""`fn.dump_image`: pictures of a batch as files, to look at while a pipeline is made."""

from __future__ import annotations

from pathlib import Path

import torch

from videoloader.dali.operators.arguments import TEXT, Argument
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError


def _infer(context: Context, images: Spec, *, suffix: str, input_layout: str) -> Spec:
    for shape in images.shapes:
        if images.dtype != torch.uint8 or len(shape) != 3 or shape[2] not in (1, 3):
            raise ArgumentError(
                "fn.dump_image takes images (H, W, C), uint8, of 1 or 3 channels; got "
                f"{images.dtype} {tuple(shape)}"
            )
    return images


@declare(
    "dump_image",
    inputs=(Input("images"),),
    arguments=(
        Argument("suffix", TEXT, "", "part of the names of the files"),
        Argument("input_layout", TEXT, "HWC", "of the images", choices=("HWC",)),
    ),
    infer=_infer,
    has_effects=True,
    whole_batch=True,
)
def dump_image(context: Context, images: Batch, *, suffix: str, input_layout: str) -> Batch:
    """Write images to `{sample}-{suffix}-0.ppm` in the working directory, and give them on.

    The files are PPM, or PGM if there is one channel, as text. Those of the next batch have the
    same names, and replace them.
    """
    for position, image in enumerate(images):
        height, width, channels = image.shape
        rows = image.reshape(height, -1).tolist()
        lines = [f"{' '.join(map(str, row))} \n" for row in rows]
        head = f"{'P3' if channels == 3 else 'P2'}\n{width} {height}\n255\n"
        Path(f"{position}-{suffix}-0.ppm").write_text(head + "".join(lines), encoding="ascii")
    return images
