"""Writes coco_masks.npz: masks of polygons as DALI 2.4 draws them, one object an image.

Run it with a Python that has nvidia-dali: `python tests/dali/references/coco_masks.py`.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from nvidia.dali import Pipeline, fn

SIZE = (23, 31)  # height, width


def polygons():
    """Polygons with corners inside, some of them on a fraction of a pixel or at the border."""
    rng = np.random.default_rng(7)
    for number in range(40):
        corners = rng.uniform(0, 1, (int(rng.integers(3, 8)), 2)) * SIZE[::-1]
        yield np.round(corners, number % 4).ravel().tolist()


def main():
    shapes = list(polygons())
    with tempfile.TemporaryDirectory() as folder:
        for i in range(len(shapes)):
            (Path(folder) / f"{i}.jpg").write_bytes(b"a")
        content = {
            "images": [
                {"id": i, "file_name": f"{i}.jpg", "height": SIZE[0], "width": SIZE[1]}
                for i in range(len(shapes))
            ],
            "categories": [{"id": 1}],
            "annotations": [
                {"image_id": i, "category_id": 1, "bbox": [0, 0, 9, 9], "segmentation": [shape]}
                for i, shape in enumerate(shapes)
            ],
        }
        path = Path(folder) / "a.json"
        path.write_text(json.dumps(content))
        pipe = Pipeline(batch_size=len(shapes), num_threads=1, device_id=None)
        with pipe:
            outputs = fn.readers.coco(
                file_root=folder, annotations_file=str(path), pixelwise_masks=True
            )
            pipe.set_outputs(outputs[3])
        (masks,) = pipe.run()
        masks = np.stack([np.array(masks[i])[..., 0] for i in range(len(shapes))])
    place = Path(__file__).with_suffix(".npz")
    lengths = np.array([len(shape) for shape in shapes])
    np.savez_compressed(
        place, masks=np.packbits(masks), polygons=np.concatenate(shapes), lengths=lengths, size=SIZE
    )


if __name__ == "__main__":
    main()
