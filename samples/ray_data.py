"""Index and load on a Ray cluster: python samples/ray_data.py [FOLDER] [--address auto]

Needs the extra `ray`. Without --address it starts a cluster on this machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

import videoloader as vl
from videoloader.demo.videos import make_classes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="clips are made if left out")
    parser.add_argument("--address", help="of a cluster: auto, host:port or ray://host:10001")
    arguments = parser.parse_args()
    if find_spec("ray") is None:
        print('Ray is not installed, so nothing was done: pip install "videoloader[ray]"')
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    from videoloader.datasets.ray import read_clips

    local = {} if arguments.address else {"num_cpus": 2, "include_dashboard": False}
    ray.init(arguments.address, log_to_driver=False, logging_level="error", **local)
    folder = (arguments.folder or make_classes("demo/classes")).absolute()
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:  # a shared one for real nodes
        # A job: each node indexes some of the videos.
        out = Path(place) / "set.parquet"
        with vl.index_dataset(folder, out, ray=True) as dataset:
            print(f"{len(dataset.videos)} videos indexed")

        # Clips of two epochs as Ray Data, which decodes them on all nodes.
        data = read_clips(
            out,
            vl.RandomClip(8, stride=2),
            size=64,
            labels=lambda key: key.partition("/")[0],
            shuffle=True,
            seed=0,
            num_epochs=2,
        )
        for batch in data.iter_torch_batches(batch_size=4):
            epochs, shape = batch["epoch"].tolist(), tuple(batch["frames"].shape)
            print(f"{shape}, labels {batch['labels'].tolist()}, epochs {epochs}")
    ray.shutdown()


if __name__ == "__main__":
    main()
