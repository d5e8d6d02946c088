"""Damaged images: each decodes, or is an error of ours that names it, in little time and memory.

python tests/attacks/images.py [SECONDS]    # 60 by default; a process of its own decodes
"""

import multiprocessing
import resource
import sys
import time
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

MEMORY = 4 << 30
SLOWEST = 5.0  # seconds for one image of less than a megapixel, on a busy machine


def damaged(data, rng):
    """A copy with some bytes changed, cut off, or moved."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(0, len(data)))
        match rng.integers(0, 4):
            case 0:
                data[at] = int(rng.integers(0, 256))
            case 1:
                data[at : at + 4] = bytes(rng.choice([0, 255, 127, 128], 4).astype(np.uint8))
            case 2:
                del data[at : at + int(rng.integers(1, 40))]
            case 3:
                data[at:at] = data[int(rng.integers(0, len(data))) :][: int(rng.integers(1, 40))]
        if not data:
            break
    return bytes(data)


def attack(seed, seconds, results):
    """Decode damaged images until the time is over."""
    from image_files import FILES

    from videoloader.decoding.images.decode import decode_image
    from videoloader.errors import VideoError

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    rng, end, counts = np.random.default_rng(seed), time.monotonic() + seconds, [0, 0]
    names = sorted(FILES)
    while time.monotonic() < end:
        name = names[int(rng.integers(0, len(names)))]
        data = damaged(FILES[name], rng)
        Path(f"/tmp/videoloader-attack-{seed}").write_bytes(data)  # what a crash was caused by
        begin = time.monotonic()
        try:
            pixels = decode_image(
                memoryview(data),
                name,
                output_type="RGB",
                adjust_orientation=True,
                max_pixels=1 << 20,
            )
            assert pixels.shape[-1] == 3
            counts[0] += 1
        except VideoError as error:
            assert name in str(error), (name, error)
            counts[1] += 1
        assert time.monotonic() - begin < SLOWEST, (name, seed)
    results.put(counts)
    Path(f"/tmp/videoloader-attack-{seed}").unlink()


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=attack, args=(n, seconds, results)) for n in range(2)]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(seconds + 60)
        failed = [worker for worker in workers if worker.exitcode != 0]
        if failed:
            sys.exit(f"exit codes {[w.exitcode for w in failed]}; see /tmp/videoloader-attack-*")
        decoded, refused = np.sum([results.get() for _ in workers], axis=0)
        print(f"{decoded} damaged images decoded, {refused} refused")  # noqa: T201
    finally:
        for worker in workers:
            worker.kill()


if __name__ == "__main__":
    main()
