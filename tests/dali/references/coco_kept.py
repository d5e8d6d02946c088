"""Writes coco_kept.json: folders of annotations that DALI 2.4 kept, and what it reads of them.

Run it with a Python that has nvidia-dali: `python tests/dali/references/coco_kept.py`.
"""

import json
import tempfile
from pathlib import Path

import numpy as np

SQUARE = [1, 2, 4, 2, 4, 5, 1, 5]
ANNOTATIONS = {
    "images": [
        {"id": number, "file_name": f"{name}.jpg", "height": 6, "width": 8}
        for number, name in ((7, "b"), (3, "a"), (5, "c"), (9, "d"))
    ],
    "categories": [{"id": 4}, {"id": 2}, {"id": 30}],
    "annotations": [
        {
            "image_id": image,
            "category_id": kind,
            "bbox": box,
            "segmentation": shape,
            "iscrowd": crowd,
        }
        for image, kind, box, shape, crowd in (
            (3, 30, [1, 2, 3, 4], [SQUARE], 0),
            (7, 2, [2, 1, 3, 2], {"counts": [13, 2, 33], "size": [6, 8]}, 1),
            (3, 4, [0.5, 0.25, 2.5, 1.75], [[0, 0, 2, 0, 2, 2], SQUARE], 0),
            (9, 4, [0, 0, 0.05, 5], [], 0),
            (7, 4, [1, 2, 3, 3], {"counts": "=2Q1", "size": [6, 8]}, 1),
        )
    ],
}
CASES = {
    "pixels": {},
    "shares": {"ltrb": True, "ratio": True, "image_ids": True},
    "polygons": {"polygon_masks": True, "ratio": True, "image_ids": True},
    "coordinates": {"masks": True},
    "masks": {"pixelwise_masks": True, "image_ids": True},
    "some": {"skip_empty": True, "ltrb": True},
    "chosen": {"images": ["d.jpg", "b.jpg", "b.jpg"], "polygon_masks": True},
}
OUTPUTS = ("image_ids", "polygon_masks", "masks", "pixelwise_masks")
"""Arguments that say what is read, which are given again where kept annotations are read."""


def outputs(folder, **arguments):
    """What DALI gives for each sample, without the bytes of the image."""
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        pipe.set_outputs(*fn.readers.coco(file_root=str(folder), name="reader", **arguments))
    pipe.build()
    size = pipe.reader_meta("reader")["epoch_size"]
    batches = [pipe.run() for _ in range(size)]
    return [[np.array(each.at(0)).tolist() for each in batch[1:]] for batch in batches]


def main():
    made = {}
    with tempfile.TemporaryDirectory() as root:
        for name in "abcd":
            Path(root, f"{name}.jpg").write_text(name)
        path = Path(root, "a.json")
        path.write_text(json.dumps(ANNOTATIONS))
        for name, options in CASES.items():
            kept = Path(root, name)
            kept.mkdir()
            keep = {"save_preprocessed_annotations": True}
            keep["save_preprocessed_annotations_dir"] = str(kept)
            outputs(root, annotations_file=str(path), **keep, **options)
            wanted = {key: value for key, value in options.items() if key in OUTPUTS}
            made[name] = {
                "files": {file.name: file.read_bytes().hex() for file in sorted(kept.iterdir())},
                "outputs": outputs(root, preprocessed_annotations=str(kept), **wanted),
            }
    Path(__file__).with_suffix(".json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
