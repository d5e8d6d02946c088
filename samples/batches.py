"""Random clips of a folder as normalised batches: python samples/batches.py [FOLDER]"""

from __future__ import annotations

import argparse
import time

import numpy as np

import videoloader as vl
from videoloader.demo.videos import make_classes
from videoloader.indexing.dataset import find_videos

BATCH, FRAMES, STRIDE = 8, 16, 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="of videos; clips are made if left out")
    parser.add_argument("--device", default="cpu", help="cpu (worker processes) or cuda (NVDEC)")
    arguments = parser.parse_args()
    paths = find_videos(arguments.folder or make_classes("demo/classes"))
    indexes = {path: vl.index_video(path) for path in paths}
    sampler = vl.RandomClip(count=FRAMES, stride=STRIDE)
    with vl.BatchDecoder(arguments.device) as decoder:
        for step in range(3):
            rng = np.random.default_rng(step)
            requests = [
                vl.ClipRequest(
                    path,
                    vl.sampling.sample_frames(sampler, indexes[path], rng=rng),
                    index=indexes[path],
                    pad_mode="edge",
                    flip=bool(rng.integers(2)),
                )
                for path in (paths[place] for place in rng.integers(0, len(paths), BATCH))
            ]
            start = time.perf_counter()
            batch = decoder.decode(
                requests,
                size=(224, 224),
                dtype="float16",
                layout="FCHW",
                mean=(123.7, 116.3, 103.5),
                std=(58.4, 57.1, 57.4),
                on_error="replace",
            )
            seconds = time.perf_counter() - start
            shape = tuple(batch.clips[0].frames.shape)
            print(f"step {step}: {len(batch)} clips {shape}, {BATCH / seconds:.1f} clips/s")
            for failure in batch.failures:
                print(f"  replaced: {failure.error}")


if __name__ == "__main__":
    main()
