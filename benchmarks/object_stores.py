"""Videos in an object store behind a server with latency: what indexing and clips ask of it.

    python benchmarks/object_stores.py
    python benchmarks/object_stores.py --files 100 --clips 64       in a quarter of a minute

The server speaks as much of S3 as is needed, runs in a process of its own, and answers each request
after `--latency` milliseconds. Its objects are copies of two clips of ten seconds at 640x360, with
the tables in front of one and at the end of the other.

Measured: `videoloader index s3://bucket/prefix` (requests, bytes, seconds), the listing of 10,000
keys, and clips of 16 frames with a stride of 2, drawn at random: requests and bytes of a clip
beside those of the packets of other such clips, and what share of the bytes were fetched before, in
the same epoch and in earlier ones; and the same with blocks kept in a folder, without a bound and
with one of a fifth of the files.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from machine import RESULTS, machine, today

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset.videos import Videos

PACKAGES = ("videoloader", "obstore", "av")
LONGEST = 1 << 22  # bytes of a file
KEYS = 1000  # in a page of a listing
Requests = list[tuple[str, int, int]]  # path, first byte, and bytes of each


class Server:
    """Objects of a bucket; each is one of a few files."""

    def __init__(self, files: list[bytes], count: int, latency: float) -> None:
        self._files = files
        self._keys = [f"clips/{number:07}.mp4" for number in range(count)]
        self._latency = latency
        self.requests: Requests = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                text = (await reader.readuntil(b"\r\n\r\n")).decode()
                await asyncio.sleep(self._latency)
                writer.write(self._answer(text))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, text: str) -> bytes:
        place = urlsplit(text.split(" ", 2)[1])
        query = parse_qs(place.query)
        if "list-type" in query:
            body = self._page(query["prefix"][0], int(query.get("continuation-token", "0")[0]))
            self.requests.append(("", 0, len(body)))
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        found = re.search(r"range: bytes=(\d+)-(\d+)", text, re.IGNORECASE)
        assert found is not None
        data = self._files[int(place.path[-11:-4]) % len(self._files)]
        first, stop = int(found[1]), min(int(found[2]) + 1, len(data))
        self.requests.append((place.path, first, stop - first))
        head = (
            f"HTTP/1.1 206 Partial Content\r\nContent-Length: {stop - first}\r\n"
            f"Content-Range: bytes {first}-{stop - 1}/{len(data)}\r\nETag: {self._etag(place.path)}"
            "\r\nLast-Modified: Tue, 14 Nov 2023 22:13:20 GMT\r\n\r\n"
        )
        return head.encode() + data[first:stop]

    def _page(self, prefix: str, first: int) -> bytes:
        keys = [key for key in self._keys[first : first + KEYS] if key.startswith(prefix)]
        rows = "".join(
            f"<Contents><Key>{key}</Key><Size>{len(self._files[int(key[-11:-4]) % 2])}</Size>"
            "<LastModified>2023-11-14T22:13:20.000Z</LastModified>"
            f"<ETag>{self._etag(key)}</ETag></Contents>"
            for key in keys
        )
        after = first + KEYS
        if after < len(self._keys):
            rows += f"<NextContinuationToken>{after}</NextContinuationToken>"
        more = str(after < len(self._keys)).lower()
        return (
            f"<ListBucketResult><IsTruncated>{more}</IsTruncated>{rows}</ListBucketResult>".encode()
        )

    def _etag(self, path: str) -> str:
        return f'"{int(path[-11:-4]) % len(self._files)}"'


def run_server(connection: Connection, files: list[bytes], count: int, latency: float) -> None:
    """Serve until the other end closes; a message asks for the requests since the last one."""

    async def run() -> None:
        server = Server(files, count, latency)
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=1024)
        connection.send(listening.sockets[0].getsockname()[1])

        def asked() -> None:
            try:
                connection.recv()
            except EOFError:
                os._exit(0)
            connection.send(server.requests)
            server.requests = []

        asyncio.get_running_loop().add_reader(connection.fileno(), asked)
        await asyncio.Event().wait()

    asyncio.run(run())


class Store:
    """A server in a process of its own, and the environment of its clients."""

    def __init__(self, files: list[bytes], count: int, latency: float) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=run_server, args=(theirs, files, count, latency))
        self._process.start()
        theirs.close()
        url = f"http://127.0.0.1:{self._ours.recv()}"
        os.environ |= {
            "AWS_ENDPOINT_URL": url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_SKIP_SIGNATURE": "true",
        }

    def requests(self) -> Requests:
        """Those since the last call."""
        self._ours.send(None)
        found: Requests = self._ours.recv()
        return found

    def close(self) -> None:
        self._ours.close()
        self._process.join()


def make_clips(folder: Path) -> list[Path]:
    options: dict[str, Any] = {
        "frames": 300,
        "size": (640, 360),
        "options": {"x264-params": "threads=1:keyint=48:bframes=3", "preset": "veryfast"},
        "picture": "mandelbrot=maxiter=100",
    }
    return [
        encode_video(folder / "end.mp4", **options),
        encode_video(folder / "front.mp4", container_options={"movflags": "+faststart"}, **options),
    ]


def indexing(store: Store, out: Path, workers: int, tables: float) -> dict[str, Any]:
    """Index the whole prefix; `tables` is their average size in bytes."""
    out.unlink(missing_ok=True)
    store.requests()
    begin = time.perf_counter()
    with vl.index_dataset("s3://videos/clips", out, workers) as dataset:
        seconds, count = time.perf_counter() - begin, len(dataset)
        assert not dataset.errors.num_rows
    requests = [each for each in store.requests() if each[0]]
    return {
        "files": count,
        "seconds": seconds,
        "requests_a_file": len(requests) / count,
        "bytes_a_file": sum(size for *_, size in requests) / count,
        "tables_a_file": tables,
    }


def listing(count: int, latency: float, files: list[bytes]) -> dict[str, Any]:
    from videoloader.indexing.dataset import find_items

    store = Store(files, count, latency)
    begin = time.perf_counter()
    found = len(find_items("s3://videos/clips/"))
    seconds, requests = time.perf_counter() - begin, len(store.requests())
    store.close()
    return {"keys": found, "seconds": seconds, "requests": requests}


def clips(
    store: Store, path: Path, epochs: int, count: int, time_limit: float = 60
) -> dict[str, Any]:
    """Load clips for some epochs. Another `time_limit` starts workers that read the environment."""
    found: dict[str, Any] = {"epochs": []}
    with vl.open_dataset(path, root="s3://videos/clips") as whole:
        dataset = whole.sample(min(count, len(whole)), seed=1)
        loader = vl.Loader(
            dataset,
            vl.RandomClip(16, stride=2),
            batch_size=16,
            shuffle=True,
            workers=2,
            size=(112, 112),
            time_limit=time_limit,
        )
        seen: dict[str, np.ndarray[Any, Any]] = {}
        store.requests()
        needed = packets_of(dataset)
        for epoch in range(epochs):
            begin, samples = time.perf_counter(), 0
            for batch in loader:
                samples += len(batch["frames"])
            seconds, requests = time.perf_counter() - begin, store.requests()
            size = sum(size for *_, size in requests)
            within, earlier = fetched_before(seen, requests)
            found["epochs"].append(
                {
                    "epoch": epoch,
                    "clips_a_second": samples / seconds,
                    "requests_a_clip": len(requests) / samples,
                    "bytes_a_clip": size / samples,
                    "fetched_before_in_this_epoch": within / size,
                    "fetched_in_earlier_epochs": earlier / size,
                }
            )
        loader.close()
    return found | {"bytes_of_packets_a_clip": needed}


def packets_of(dataset: Videos) -> float:
    """Bytes of the packets that decode an average clip, of 1000 with random starts."""
    rng, sizes = np.random.default_rng(0), []
    for number in range(1000):
        index = dataset[number % len(dataset)]
        begin = int(rng.integers(index.num_frames - 31))
        plan = vl.sampling.plan_decode(index, np.arange(begin, begin + 32, 2))
        packets = np.concatenate([run.packets for run in plan.runs])
        sizes.append(int(index.packets["size"][packets].sum()))
    return float(np.mean(sizes))


def fetched_before(seen: dict[str, np.ndarray[Any, Any]], requests: Requests) -> tuple[int, int]:
    """Bytes that were fetched before in this epoch, and in earlier ones; notes them in `seen`."""
    now: dict[str, np.ndarray[Any, Any]] = {}
    within = earlier = 0
    for path, first, size in requests:
        if path not in now:
            now[path] = np.zeros(LONGEST, dtype=np.bool_)
        part = slice(first, first + size)
        within += int(now[path][part].sum())
        if path in seen:
            earlier += int((seen[path][part] & ~now[path][part]).sum())
        now[path][part] = True
    for path, mask in now.items():
        seen[path] = seen[path] | mask if path in seen else mask
    return within, earlier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--clips", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--latency", type=float, default=20.0, help="milliseconds a request")
    parser.add_argument("--out", type=Path, default=RESULTS / f"object-stores-{today()}.json")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"latency_ms": arguments.latency}
    with tempfile.TemporaryDirectory() as place:
        paths = make_clips(Path(place))
        files = [path.read_bytes() for path in paths]
        tables = np.mean(
            [
                int.from_bytes(data[at - 4 : at], "big")
                for data in files
                for at in [data.index(b"moov")]
            ]
        )
        results["bytes_of_files"] = [len(data) for data in files]
        store = Store(files, arguments.files, arguments.latency / 1000)
        out = Path(place) / "set.parquet"
        results["indexing"] = {
            workers: indexing(store, out, workers, float(tables)) for workers in (0, 1, 2)
        }
        print(json.dumps(results, indent=1), flush=True)
        results["clips"] = clips(store, out, arguments.epochs, arguments.clips)
        os.environ["VIDEOLOADER_BLOCKS"] = str(Path(place) / "blocks")
        results["clips_with_blocks"] = clips(store, out, arguments.epochs, arguments.clips, 61)
        share = sum(map(len, files)) * min(arguments.clips, arguments.files) // len(files) // 5
        os.environ["VIDEOLOADER_BLOCKS"] += "-few"
        os.environ["VIDEOLOADER_BLOCKS_SIZE"] = str(share)
        results["clips_with_few_blocks"] = clips(store, out, arguments.epochs, arguments.clips, 62)
        print(json.dumps(results, indent=1), flush=True)
        store.close()
        results["listing"] = listing(10 * KEYS, arguments.latency / 1000, files)
        print(json.dumps(results["listing"]), flush=True)
    report = {"benchmark": "object_stores", "run": machine(PACKAGES), "results": results}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
