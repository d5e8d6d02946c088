"""Random calls of the drop-ins for torchcodec and decord beside the libraries themselves.

Run `python tests/attacks/dropins.py [SEED]` where torchcodec or decord2 are installed; it exits
with 1 if a call gives another value, or an error that code for the library would not catch. Calls
on which the library itself is known to be wrong or to crash are not among them.
"""

import random
import sys
import tempfile
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import torch

from videoloader.demo.videos import encode_video

CALLS = 400
FRAMES = 40
BUILTINS = (TypeError, ValueError, IndexError, RuntimeError, AssertionError, ImportError, KeyError)


def one_number(draw):
    wrong = [2.0, np.float64(3), "4", None]
    numbers = [0, 1, 7, 39, 40, -1, -40, -41, 1000, np.int64(5), np.int32(-2)]
    return draw.choice(wrong if draw.random() < 0.1 else numbers)


def several_numbers(draw):
    numbers = [draw.randrange(-FRAMES, FRAMES) for _ in range(draw.randrange(1, 6))]
    if draw.random() < 0.1:
        numbers.append(draw.choice([FRAMES, -FRAMES - 1]))
    return draw.choice([list, tuple, np.array, torch.tensor])(numbers)


def fractions_of_numbers(draw):
    return torch.tensor([draw.uniform(0, FRAMES - 1) for _ in range(3)])


def time(draw):
    return draw.choice([-0.1, 0.0, 0.3, 0.71, 1.3, 1.35, 99.0, float("nan"), Fraction(1, 3), "1"])


def times(draw):
    chosen = [draw.uniform(0, 1.33) for _ in range(draw.randrange(1, 6))]
    if draw.random() < 0.1:
        chosen.append(draw.choice([-1.0, 2.0]))
    return draw.choice([list, tuple, np.array, torch.tensor])(chosen)


def ordered(draw, values):
    return sorted(draw.choice(values) for _ in range(2))


def ascending_slice(draw):
    start, stop = ordered(draw, range(FRAMES + 5))
    return slice(start, stop, draw.choice([None, 1, 2, 7, 0, -1]))


TORCHCODEC = {
    "__getitem__": lambda draw: (draw.choice([one_number, ascending_slice])(draw),),
    "get_frame_at": lambda draw: (one_number(draw),),
    "get_frames_at": lambda draw: (draw.choice([several_numbers, fractions_of_numbers])(draw),),
    "get_frames_in_range": lambda draw: (*ordered(draw, range(45)), draw.choice([1, 3, 0])),
    "get_frame_played_at": lambda draw: (time(draw),),
    "get_frames_played_at": lambda draw: (times(draw),),
    "get_frames_played_in_range": lambda draw: (
        *draw.choice([(0, 1), (0.31, 0.31), (0.5, 1.3333), (1, 0.5), (0.2, 5), (7, 9)]),
        draw.choice([None, 7, 30.0, 13.3, 0, "3"]),
    ),
    "get_all_frames": lambda draw: (draw.choice([None, 5]),),
    "__len__": lambda _: (),
}
DECORD = {
    "__getitem__": lambda draw: (draw.choice([one_number, ascending_slice])(draw),),
    "get_batch": lambda draw: (draw.choice([several_numbers, fractions_of_numbers])(draw),),
    "get_frame_timestamp": lambda draw: (several_numbers(draw),),
    "seek_accurate": lambda draw: (one_number(draw) or 7,),  # after 0, [1] gives frame 0
    "skip_frames": lambda draw: (draw.choice([1, 3, 0, -1]),),
    "next": lambda _: (),
    "get_key_indices": lambda _: (),
    "get_avg_fps": lambda _: (),
    "__len__": lambda _: (),
}


def values(result):
    """What a call gave, as arrays."""
    if result is None:
        return []
    if hasattr(result, "pts_seconds"):
        parts = (result.data, result.pts_seconds, result.duration_seconds)
        return [np.asarray(part) for part in parts]
    return [result.asnumpy() if hasattr(result, "asnumpy") else np.asarray(result)]


def outcome(reader, name, arguments):
    try:
        return values(getattr(reader, name)(*arguments)), None
    except (Exception, StopIteration) as error:  # noqa: BLE001  (compared)
        return None, error


def is_same(ours, theirs):
    (given, error), (wanted, refused) = ours, theirs
    if refused is not None:
        caught = [kind for kind in BUILTINS if isinstance(refused, kind)]
        named = type(refused).__name__ in [kind.__name__ for kind in type(error).__mro__]
        return (
            error is not None
            and all(isinstance(error, kind) for kind in caught or ())
            and (bool(caught) or named)
        )
    return error is None and all(
        a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-5)
        for a, b in zip(given, wanted, strict=True)
    )


def attack(library, calls, open_both, seed):
    """Differences between our reader and theirs, which get the same calls."""
    draw, found = random.Random(seed), 0
    readers = open_both()
    for _ in range(CALLS):
        if library == "torchcodec":  # frame n + 1 after frame n and one by time may be another
            readers = open_both()
        name = draw.choice(sorted(calls))
        arguments = calls[name](draw)
        results = [outcome(reader, name, arguments) for reader in readers]
        if not is_same(*results):
            found += 1
            print(f"{library}: {name}{arguments}: {[r[1] or 'ok' for r in results]}")  # noqa: T201
    return found


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        options = {"g": "12", "bf": "2", "threads": "1"}
        path = encode_video(Path(folder, "a.mp4"), size=(128, 96), frames=FRAMES, options=options)
        makers = {
            "torchcodec": (TORCHCODEC, lambda module: module.decoders.VideoDecoder(path)),
            "decord": (DECORD, lambda module: module.VideoReader(str(path))),
        }
        for library, (calls, make) in makers.items():
            try:
                theirs = import_module(library)
            except (ImportError, OSError, RuntimeError):
                print(f"{library} is not installed")  # noqa: T201
                continue
            ours = import_module(f"videoloader.compat.{library}")

            def open_both(make=make, modules=(ours, theirs)):
                return [make(module) for module in modules]

            found += attack(library, calls, open_both, seed)
    print(f"{found} differences")  # noqa: T201
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
