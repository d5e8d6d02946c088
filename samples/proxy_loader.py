"""Workers choose clips, a pipeline decodes them: python samples/proxy_loader.py [FOLDER]"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

from videoloader import EpochSampler, RandomClip, index_video
from videoloader.dali import fn, pipeline_def
from videoloader.dali.plugin.pytorch import proxy
from videoloader.demo.videos import make_classes
from videoloader.indexing.dataset import find_videos
from videoloader.sampling import Draw, generator, sample_frames


@pipeline_def(num_threads=2, seed=1)
def clips(device: str) -> Any:
    path, frames = fn.external_source(name="path"), fn.external_source(name="frames")
    clip = fn.decoders.video(path, frames=frames, device=device)
    clip = fn.resize(clip, size=(112, 112))
    return fn.crop_mirror_normalize(clip, mean=[128.0], std=[64.0], mirror=fn.random.coin_flip())


class Clips(Dataset[dict[str, Any]]):
    """Random clips with their times: workers read tables of videos and decode nothing."""

    def __init__(self, files: list[Path], decode: proxy.Proxy) -> None:
        self.files = files
        self.decode = decode

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, draw: Draw) -> dict[str, Any]:
        path = self.files[draw.sample]
        index = index_video(path)
        rng = generator(0, sample=draw.sample, epoch=draw.epoch)
        frames = sample_frames(RandomClip(count=8, stride=2), index, rng=rng)
        frames = frames.clip(0, index.num_frames - 1)
        seconds = torch.from_numpy(index.pts[frames] * float(index.time_base))
        return {"clip": self.decode(path=path, frames=frames), "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="clips are made if left out")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    folder = arguments.folder or make_classes("demo/classes")

    device = "mixed" if torch.cuda.is_available() else "cpu"
    files = [Path(str(file)) for file in find_videos(folder)]
    with proxy.Server(clips(device, batch_size=4)) as server:
        dataset = Clips(files, server.proxy)
        order = EpochSampler(dataset, seed=0)
        loader = proxy.DataLoader(
            server, dataset, batch_size=4, sampler=order, num_workers=arguments.workers
        )
        for epoch in range(2):
            order.set_epoch(epoch)
            for batch in loader:
                clip, seconds = batch["clip"], batch["seconds"]
                print(f"epoch {epoch}: {tuple(clip.shape)} from {seconds[:, 0].tolist()} s")


if __name__ == "__main__":
    main()
