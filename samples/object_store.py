"""Train from an object store: python samples/object_store.py [s3://BUCKET/PREFIX]

Without a URL, generated clips are served by an S3 server of this process (package moto; extra
`remote`). If that is not installed, they are read as files.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import videoloader as vl
from videoloader.demo.videos import make_classes


@contextmanager
def local_store(folder: Path) -> Iterator[str]:
    """The URL of a bucket on this machine that has the files of a folder."""
    if not (find_spec("moto") and find_spec("obstore")):
        print('no local S3 server: pip install "moto[server]" "videoloader[remote]"')
        yield folder.absolute().as_uri()
        return
    from moto.s3.models import s3_backends
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        url = "http://{}:{}".format(*server.get_host_and_port())
        store = s3_backends["123456789012"]["aws"]  # moto's account
        store.create_bucket("videos", "us-east-1")
        for path in folder.rglob("*.mp4"):
            store.put_object("videos", str(path.relative_to(folder)), path.read_bytes())
        # A real store needs its region and credentials only.
        os.environ |= {"AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
        os.environ |= {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
        yield "s3://videos/"
    finally:
        server.stop()


def train(url: str) -> None:
    """Index what is at a URL, then load clips from there."""
    clips = vl.RandomClip(8, stride=2)
    with (
        tempfile.TemporaryDirectory() as folder,
        vl.index_dataset(url, Path(folder) / "set.parquet", workers=0) as dataset,
        vl.Loader(dataset, clips, batch_size=4, size=64, shuffle=True) as loader,
    ):
        size = sum(dataset.videos["size"].to_pylist())
        print(f"{url}: {len(dataset.videos)} videos, {size:,} bytes")
        for batch in loader:
            print(f"{tuple(batch['frames'].shape)} of {batch['sample'].tolist()}")
        print(loader.stats())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", nargs="?", help="a local store is made if left out")
    url = parser.parse_args().url
    if url:
        train(url)
    else:
        with local_store(make_classes("demo/classes")) as url:
            train(url)


if __name__ == "__main__":
    main()
