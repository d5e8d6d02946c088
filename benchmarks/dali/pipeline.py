"""Pipelines of images, clips and sounds beside DALI's, in one run, on a CPU or on a GPU.

Images: files, decoding, `random_resized_crop` and `crop_mirror_normalize`, together and in steps.
Sounds: from 2 to 10 s at 16 kHz, to features for recognising speech.
Clips: operators one by one, on clips of 16 frames of 224x224 and of 1080p. The libraries take
turns, each in a process of its own, and a figure is the median of its turns::

    python benchmarks/dali/pipeline.py --dali /path/to/python/with/nvidia-dali --device cpu

DALI's interpreter needs no other package than DALI and numpy.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the modules of benchmarks/ that it shares
from machine import processor_time

THREADS = 2
IMAGES = 1000
FOLDER = Path(__file__).parents[1] / "data" / f"images-{IMAGES}"
BATCHES = {"images": 32, "sound": 16, "224": 8, "1080p": 2}
SIZES = {"224": (224, 224), "1080p": (1080, 1920)}
FRAMES = 16
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]

Graph = Callable[[Any, Any, str], Any]
"""The outputs of a pipeline, of a library's `fn` and `types` and of the device."""


def _files(fn: Any) -> Any:
    return fn.readers.file(
        file_root=str(FOLDER), random_shuffle=True, initial_fill=IMAGES, name="files"
    )


def _images(fn: Any, types: Any, device: str) -> Any:
    encoded, _ = _files(fn)
    placed = "mixed" if device == "gpu" else "cpu"
    return fn.decoders.image(encoded, device=placed, output_type=types.RGB)


def _resized(fn: Any, types: Any, device: str) -> Any:
    return fn.random_resized_crop(_images(fn, types, device), size=[224, 224])


def _training(fn: Any, types: Any, device: str) -> Any:
    return fn.crop_mirror_normalize(
        _resized(fn, types, device),
        mirror=fn.random.coin_flip(),
        mean=MEAN,
        std=STD,
        dtype=types.FLOAT,
        output_layout="CHW",
    )


def _region(fn: Any, types: Any, device: str) -> Any:
    encoded, _ = _files(fn)
    placed = "mixed" if device == "gpu" else "cpu"
    images = fn.decoders.image_random_crop(encoded, device=placed, output_type=types.RGB)
    return fn.resize(images, size=[224, 224])


IMAGE_CASES: dict[str, Graph] = {
    "files": lambda fn, types, device: _files(fn)[0],  # noqa: ARG005
    "files, image": _images,
    "files, image_random_crop, resize": _region,
    "files, image, random_resized_crop": _resized,
    "files, image, random_resized_crop, crop_mirror_normalize": _training,
}

RATE = 16000


def _spectrogram(fn: Any, sounds: Any) -> Any:
    return fn.spectrogram(sounds, nfft=512, window_length=400, window_step=160)


def _mel(fn: Any, sounds: Any) -> Any:
    return fn.mel_filter_bank(_spectrogram(fn, sounds), sample_rate=RATE, nfilter=80)


def _decibels(fn: Any, sounds: Any) -> Any:
    return fn.to_decibels(_mel(fn, sounds), cutoff_db=-80)


def _mfcc(fn: Any, sounds: Any) -> Any:
    return fn.mfcc(_decibels(fn, sounds), n_mfcc=40)


SOUND_CASES: dict[str, Callable[[Any, Any], Any]] = {
    "spectrogram": _spectrogram,
    "spectrogram, mel_filter_bank": _mel,
    "spectrogram, mel_filter_bank, to_decibels": _decibels,
    "spectrogram, mel_filter_bank, to_decibels, mfcc": _mfcc,
    "preemphasis_filter": lambda fn, sounds: fn.preemphasis_filter(sounds),
    "power_spectrum": lambda fn, sounds: fn.power_spectrum(sounds, nfft=1 << 17),
    "nonsilent_region": lambda fn, sounds: fn.nonsilent_region(sounds)[0],
    "audio_resample": lambda fn, sounds: fn.audio_resample(sounds, in_rate=RATE, out_rate=22050),
}

CLIP_CASES: dict[str, dict[str, Any]] = {
    "brightness_contrast": {"brightness": 1.2, "contrast": 0.8},
    "color_twist": {"brightness": 1.2, "contrast": 0.8, "saturation": 1.3, "hue": 20.0},
    "hsv": {"hue": 20.0, "saturation": 1.3, "value": 0.9},
    "rotate": {"angle": 10.0, "keep_size": True, "fill_value": 0},
    "warp_affine": {"matrix": [1.1, 0.1, -10.0, -0.1, 0.9, 5.0], "fill_value": 0},
    "gaussian_blur": {"sigma": 1.5},
    "erase": {"anchor": [20, 30], "shape": [64, 64], "axis_names": "HW"},
    "flip": {"horizontal": 1},
    "resize": {"size": [160, 160]},
    "crop_mirror_normalize": {
        "crop": (192, 192),
        "mirror": 1,
        "mean": MEAN,
        "std": STD,
        "output_layout": "FCHW",
    },
    "noise.gaussian": {"stddev": 20.0},
    "noise.shot": {"factor": 5.0},
    "noise.salt_and_pepper": {"prob": 0.1},
    "jpeg_compression_distortion": {"quality": 40},
}
"""Operators on clips, and their arguments."""


def make_images() -> None:
    """JPEGs of the sizes and of about the bytes of ImageNet's, in ten folders; once."""
    if FOLDER.exists():
        return
    import cv2

    random = np.random.default_rng(0)
    partial = FOLDER.with_suffix(".partial")
    for number in range(IMAGES):
        height, width = random.integers(330, 420), random.integers(440, 560)
        if number % 4 == 0:
            height, width = width, height
        picture = np.zeros((height, width, 3), np.float32)
        for cells, amount in ((4, 110), (16, 60), (64, 40), (192, 20)):
            noise = random.uniform(-amount, amount, (cells, cells, 3)).astype(np.float32)
            picture += cv2.resize(noise, (int(width), int(height)), interpolation=cv2.INTER_CUBIC)
        pixels = np.clip(picture + 128, 0, 255).astype(np.uint8)
        folder = partial / f"{number % 10:02}"
        folder.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(folder / f"{number:04}.jpg"), pixels, [cv2.IMWRITE_JPEG_QUALITY, 90])
    partial.rename(FOLDER)


def pipeline_of(package: str, group: str, case: str, device: str) -> Any:
    """A pipeline of a library for a case, built."""
    library = importlib.import_module(package)
    fn = importlib.import_module(f"{package}.fn")
    types = importlib.import_module(f"{package}.types")
    define = library.pipeline_def(
        batch_size=BATCHES[group],
        num_threads=THREADS,
        device_id=0 if device == "gpu" else None,
        seed=0,
    )
    if group == "images":
        pipeline = define(lambda: IMAGE_CASES[case](fn, types, device))()
        pipeline.build()
        return pipeline
    if group == "sound":
        random = np.random.default_rng(0)
        lengths = random.integers(2 * RATE, 10 * RATE, BATCHES[group])
        sounds = [random.normal(0, 0.1, length).astype(np.float32) for length in lengths]

        def features() -> Any:
            return SOUND_CASES[case](fn, fn.external_source(source=lambda: sounds, no_copy=True))

        pipeline = define(features)()
        pipeline.build()
        return pipeline
    shape = (BATCHES[group], FRAMES, *SIZES[group], 3)
    data = list(np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8))

    def graph() -> Any:
        if device == "gpu":  # copied there once, so that the way there is not measured
            clips = fn.external_source(name="clips", device="gpu", layout="FHWC", repeat_last=True)
        else:
            clips = fn.external_source(source=lambda: data, layout="FHWC", no_copy=True)
        return attrgetter(case)(fn)(clips, **CLIP_CASES[case])

    pipeline = define(graph)()
    pipeline.build()
    if device == "gpu":
        pipeline.feed_input("clips", data)
    return pipeline


def run_for(pipeline: Any, batch_size: int, seconds: float, device: str) -> dict[str, float]:
    """Samples/s of a pipeline that has started, and milliseconds of processor time, workers too."""
    begin, count, worked = time.perf_counter(), 0, processor_time()
    while time.perf_counter() - begin < seconds or count < 2:
        outputs = pipeline.run()
        count += 1
    if device == "gpu":
        _wait(outputs)
    taken = time.perf_counter() - begin
    return {
        "samples/s": count * batch_size / taken,
        "cpu ms/sample": 1e3 * (processor_time() - worked) / (count * batch_size),
    }


def _wait(outputs: Any) -> None:
    """Wait until the outputs are made: work on a GPU is only queued, in the order of its stream."""
    for output in outputs:
        output[len(output) - 1].as_cpu()


def serve(package: str, device: str) -> None:
    """Answer a line for each turn: `group`, `case`, `seconds`; no case lets the pipeline go."""
    held: dict[tuple[str, str], Any] = {}
    for line in sys.stdin:
        group, case, seconds = json.loads(line)
        if not case:
            held.clear()
            continue
        try:
            if (group, case) not in held:
                held[group, case] = pipeline_of(package, group, case, device)
                run_for(held[group, case], BATCHES[group], min(1.0, seconds), device)
            answer: dict[str, Any] = run_for(held[group, case], BATCHES[group], seconds, device)
        except Exception as error:  # noqa: BLE001  (the other cases go on)
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


@contextmanager
def library(python: str, package: str, device: str) -> Iterator[Callable[..., Any]]:
    """A process that runs the pipelines of a library: a function that asks for a turn."""
    command = [python, __file__, "--serve", package, "--device", device]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        into, out = process.stdin, process.stdout

        def ask(group: str, case: str, seconds: float) -> Any:
            into.write(json.dumps([group, case, seconds]) + "\n")
            into.flush()
            return json.loads(out.readline()) if case else None

        try:
            yield ask
        finally:
            process.kill()


def median(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Each figure in the middle of the turns; the error, if there is one."""
    failed = next((turn for turn in turns if "error" in turn), None)
    if failed or not turns:
        return failed or {}
    return {key: round(statistics.median(turn[key] for turn in turns), 3) for key in turns[0]}


def compare(
    libraries: dict[str, Callable[..., Any]], group: str, case: str, rounds: int, seconds: float
) -> dict[str, Any]:
    """The figures of every library for a case, which take turns; printed as they come."""
    turns: dict[str, list[dict[str, Any]]] = {name: [] for name in libraries}
    for _ in range(rounds):
        for name, ask in libraries.items():
            turns[name].append(ask(group, case, seconds))
    for ask in libraries.values():
        ask(group, "", 0)
    result: dict[str, Any] = {
        "group": group,
        "case": case,
        "load": round(os.getloadavg()[0], 2),
        **{name: median(each) for name, each in turns.items()},
    }
    ours, theirs = result["videoloader"], result.get("dali", {})
    line = f"{group:7} {case:56} {show(ours)}"
    if theirs:
        line += f"   DALI {show(theirs)}"
    if "samples/s" in ours and "samples/s" in theirs:
        for key, short in (("samples/s", "wall"), ("cpu ms/sample", "cpu")):
            ratio = ours[key] / theirs[key] if short == "wall" else theirs[key] / ours[key]
            result[f"ratio, {short}"] = round(ratio, 2)
            line += f"   {short} {ratio:5.2f}"
    sys.stdout.write(f"{line}   load {result['load']}\n")
    sys.stdout.flush()
    return result


def show(figures: dict[str, Any]) -> str:
    if "error" in figures:
        return f"failed: {figures['error']}"
    return f"{figures['samples/s']:10,.1f} /s {figures['cpu ms/sample']:8.3f} ms"


def gpu_name() -> str:
    import torch

    return torch.cuda.get_device_name()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dali", metavar="PYTHON", help="interpreter with nvidia-dali")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--only", nargs="+", default=[""], help="cases with one of these in them")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each library")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a turn")
    parser.add_argument("--no-results", action="store_true", help="write no file")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity") and arguments.device == "cpu":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    if arguments.serve:
        serve(arguments.serve, arguments.device)
        return
    from machine import RESULTS, machine, today

    make_images()
    cases = [("images", case) for case in IMAGE_CASES]
    if arguments.device == "cpu":
        cases += [("sound", case) for case in SOUND_CASES]
    cases += [(size, case) for size in SIZES for case in CLIP_CASES]
    with library(sys.executable, "videoloader.dali", arguments.device) as ours:
        libraries = {"videoloader": ours}
        results = []

        def run_all() -> None:
            for group, case in cases:
                if any(part in f"{group} {case}" for part in arguments.only):
                    results.append(
                        compare(libraries, group, case, arguments.rounds, arguments.seconds)
                    )

        if arguments.dali:
            with library(arguments.dali, "nvidia.dali", arguments.device) as theirs:
                libraries["dali"] = theirs
                run_all()
        else:
            run_all()
    if not arguments.no_results:
        RESULTS.mkdir(exist_ok=True)
        report = {
            "machine": machine(("numpy", "torch", "opencv-python-headless", "simplejpeg")),
            "device": arguments.device,
            "gpu": gpu_name() if arguments.device == "gpu" else None,
            "threads": THREADS,
            "cases": results,
        }
        path = RESULTS / f"pipeline-{arguments.device}-{today()}.json"
        path.write_text(json.dumps(report, indent=2) + "\n")
        sys.stdout.write(f"written to {path}\n")


if __name__ == "__main__":
    main()
