"""Kills, stops, forks and closes at random while batches are decoded, for some minutes.

    python tests/attacks/workers.py [seconds]

No frame may be wrong, no clip lost but to two deaths of its workers, nothing left behind.
"""

import gc
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from child_processes import children

import videoloader as vl
from videoloader.demo.videos import encode_video, read_frame_number

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0


def check(batch, requests, counts):
    """Every frame is the one that was asked for; every failure is a lost worker."""
    for clip, number in zip(batch.clips, batch.requests.tolist(), strict=True):
        wanted = list(requests[number][1])
        assert [read_frame_number(frame.numpy()) for frame in clip.frames] == wanted
    for failure in batch.failures:
        assert "worker process died" in str(failure.error), failure.error
    counts["clips"] += len(requests)
    counts["lost"] += len({failure.request for failure in batch.failures})


def decode_on_and_on(decoder, path, stop, counts, errors):
    draw = random.Random(threading.get_ident())
    while not stop.is_set():
        requests = [(path, sorted(draw.sample(range(60), 3))) for _ in range(draw.randint(1, 12))]
        try:
            check(decoder.decode(requests, on_error="skip"), requests, counts)
        except vl.errors.ClosedError:
            counts["closed"] += 1
        except BaseException as error:  # noqa: BLE001
            traceback.print_exc()
            errors.append(error)
            return


def fork_once(decoder, path, errors):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            requests = [(path, [7, 31])]
            check(decoder.decode(requests), requests, Counter())
            decoder.close()
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if status:
                errors.append(f"a fork ended with {status}")
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    errors.append("a fork hangs")


def main():
    draw = random.Random(1)
    counts, errors = Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        encode_video(path, frames=60, size=(128, 96), options={"g": "10"})
        before, files = children(), len(os.listdir("/proc/self/fd"))
        decoder = vl.BatchDecoder(workers=2, time_limit=20)
        stop = threading.Event()
        arguments = (decoder, path, stop, counts, errors)
        threads = [threading.Thread(target=decode_on_and_on, args=arguments) for _ in range(2)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not errors:
            time.sleep(draw.uniform(0.2, 3))
            what = draw.choice(["kill", "kill", "term", "fork", "close"])
            counts[what] += 1
            if what == "fork":
                fork_once(decoder, path, errors)
            elif what == "close":
                decoder.close()
            else:
                number = {"kill": signal.SIGKILL, "term": signal.SIGTERM}[what]
                for pid in list(children() - before)[:1]:
                    os.kill(pid, number)
        stop.set()
        for thread in threads:
            thread.join()
        decoder.close()
        gc.collect()
        assert children() == before, "processes are left"
        assert len(os.listdir("/proc/self/fd")) == files, "descriptors are left"
    sys.stdout.write(f"{dict(counts)}\n")
    if errors or counts["lost"] > 0.01 * counts["clips"]:
        sys.exit(f"failed: {errors or 'too many clips were lost'}")


if __name__ == "__main__":
    main()
