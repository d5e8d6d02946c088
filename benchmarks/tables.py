"""Write the figures of the README, docs/benchmarks.md and guides from the newest measurements.

python benchmarks/tables.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from figures import RESULTS, ROOT, as_table, newest
from guide_tables import guides
from plots import OURS, Plot

_CEILING = "NVDEC alone"
SIDES = ("ours", "peer")
# Jobs of the README, by video and case.
_FRONT_CPU = {
    ("h264-1080p", "clips"): "clips of 16 frames, 1080p H.264, CPU",
    ("hevc-1080p", "random"): "random frames, 1080p HEVC, CPU",
}
_FRONT_GPU = {"h264-1080p": "1080p H.264", "hevc-1080p": "1080p HEVC"}
_FRONT_IMAGES = "files, image, random_resized_crop, crop_mirror_normalize"


def indexing() -> str:
    path, run = newest("indexing")
    repetitions = run["cases"]["MP4"]["measurements"][0]["repetitions"]
    intro = (
        "Milliseconds to find every frame of a 360p H.264 video of 10 minutes (18,000 frames), or "
        "2 hours (216,000), warm cache, every contender in its own process, median of "
        f"{repetitions} ([measurement](benchmarks/results/{path.name}), {run['cores']} cores, "
        f"{run['date'][:10]}; `make bench` repeats it). Approximate modes give no timestamps."
    )
    parts = [intro, _times(run["cases"])]
    if "small_files" in run:  # older measurements have the times alone
        parts += [*_reading(run), *_many(run)]
    return "\n\n".join(parts)


def _times(cases: dict[str, Any]) -> str:
    """Every contender on every case."""
    tables = {name: case["measurements"] for name, case in cases.items()}
    rows = []
    for row in sorted(tables["MP4"], key=lambda row: row["median_ms"]):
        name = row["contender"]
        found = [
            next((one for one in measured if one["contender"] == name), None)
            for measured in tables.values()
        ]
        rows.append([_bold(name), *map(_cell, found)])
    return as_table(["", *tables], rows)


def _reading(run: dict[str, Any]) -> list[str]:
    """What of a file is looked at, and how large the index is."""
    text = "What is read of a file for our index. `headers` are those of the packets."
    if corpus := run.get("corpus"):
        text += (
            f" The stored indexes of {corpus['videos']} test videos of all kinds, most of them "
            f"short, take {corpus['bytes_a_frame']:.1f} bytes a frame."
        )
    rows: dict[str, list[str]] = {
        "file, MB": [],
        "looked at, MB": [],
        "with headers, MB": [],
        "with headers, ms": [],
        "stored, bytes a frame": [],
    }
    for case in run["cases"].values():
        index, headers = case["ours"]["index"], case["ours"]["index_with_headers"]
        (frames,) = (
            row["num_frames"] for row in case["measurements"] if row["contender"] == "videoloader"
        )
        cells = [
            f"{1e-6 * case['bytes']:.1f}",
            f"{1e-6 * index['bytes_touched']:.2f}",
            f"{1e-6 * headers['bytes_touched']:.1f}",
            f"{headers['median_ms']:.1f}",
            f"{index['stored_bytes'] / frames:.2f}",
        ]
        for row, cell in zip(rows.values(), cells, strict=True):
            row.append(cell)
    return [text, as_table(["", *run["cases"]], [[name, *row] for name, row in rows.items()])]


def _many(run: dict[str, Any]) -> list[str]:
    """Many small files, and an index of many videos."""
    measured, dataset = run["small_files"], run["dataset"]
    files = max(row["files"] for row in measured)
    fewer = min(row["files"] for row in measured)
    text = (
        f"{files:,} MP4 files of two seconds, warm cache, one process (peers on {fewer} of them); "
        "`index_dataset` finds the files, indexes them, and writes the Parquet file. An index of "
        f"{dataset['videos']:,} videos opens in {dataset['open_ms']:.2f} ms, and gives any one of "
        f"them in {dataset['one_index_us']:.0f} µs."
    )
    rows = [
        [_bold(row["contender"]), f"{row['files_a_second']:,.0f}" + _wrong(row)] for row in measured
    ]
    return [text, as_table(["", "files a second"], rows)]


def _bold(name: str) -> str:
    return f"**{name}**" if name.startswith("videoloader") else name


def decoding() -> str:
    """Milliseconds of all contenders, case by case; empty if nothing was measured yet."""
    if not list(RESULTS.glob("decoding-*.json")):
        return ""
    path, run = newest("decoding")
    rows = [row for row in run["measurements"] if not row["busy"]]
    cases = dict.fromkeys((row["video"], row["case"]) for row in rows)
    names = list(dict.fromkeys(row["contender"] for row in rows))
    names.sort(key=lambda name: (name != "videoloader", name.startswith("floor"), name))
    text = (
        "Milliseconds to decode frames on the CPU, files opened and closed, two threads or "
        f"processes, median of {rows[0]['repetitions']}, every frame compared with a full decode "
        f"([measurement](benchmarks/results/{path.name}), {run['cores']} cores, "
        f"{run['date'][:10]}; [cases](benchmarks/decoding.py)). The floors are the bare decoding "
        "of packets, without a picture converted."
    )
    table = []
    for video, case in cases:
        found = {
            row["contender"]: row for row in rows if (row["video"], row["case"]) == (video, case)
        }
        cells = [_milliseconds(found.get(name)) for name in names]
        table.append([f"{video}, {case}", *cells])
    return "\n\n".join([text, as_table(["", *names], table)])


def gpu() -> str:
    """Rates of all contenders on the GPU, case by case; empty if nothing was measured yet."""
    if not list(RESULTS.glob("gpu-*.json")):
        return ""
    path, report = newest("gpu")
    names = list(dict.fromkeys(name for found in report["results"].values() for name in found))
    names.sort(key=lambda name: (name != "videoloader", name == _CEILING, name))
    cards = sorted({run["gpu"] for run in report["runs"].values()})
    text = (
        f"{', '.join(cards)}: clips a second of 112 (16 frames, stride 4) and of 56 (16 frames "
        "over the file), resized to "
        "224x224 and normalised to float16, and milliseconds to one frame of a file not seen "
        "before (first). The ceiling is that of the same run: the needed packets through NVDEC, "
        "with nothing around it. In brackets the same beside a thread that never leaves Python. "
        f"Median of 5, every frame compared with a full decode ([measurement](benchmarks/results/"
        f"{path.name}); [cases](benchmarks/gpu.py)). A card differs from the next by up to 15 %."
    )
    rows = []
    for video, found in report["results"].items():
        for case in ("clips", "uniform", "first"):
            if case in found.get("videoloader", {}):
                cells = [_rate(found.get(name, {}), case) for name in names]
                rows.append([f"{video}, {case}", *cells])
        if video == "mixed":
            memory = [found.get(name, {}).get("gpu_memory_mib") for name in names]
            cells = [f"{mib:,} MiB" if mib else "-" for mib in memory]
            rows.append(["10,000 clips of these in turn, GPU memory", *cells])
    return "\n\n".join([text, as_table(["", *names], rows)])


def whole_files() -> str:
    """Frames a second of whole files that are read at once on the GPU."""
    path, report = newest("sequential-gpu")
    (card,) = {run["gpu"] for run in report["runs"].values()}
    names = ("videoloader", "torchcodec", _CEILING)
    text = (
        f"{card}: frames a second of 14 copies of a file of 300 frames, each read from end to end "
        "in a thread of its own (`for frame in video`), and the GPU's memory. Median of 5 or more, "
        "every frame compared with a full decode; in brackets beside a thread that never leaves "
        "Python "
        f"([measurement](benchmarks/results/{path.name}))."
    )
    rows = []
    for video, found in sorted(report["results"].items()):
        cells = [
            f"{_rate(found[name], 'sequential')}, {found[name]['gpu_memory_mib']:,} MiB"
            if name in found
            else "-"
            for name in names
        ]
        rows.append([video, *cells])
    return "\n\n".join([text, as_table(["", *names], rows)])


def long_video() -> str:
    """Frames of a long video on the GPU, and its first."""
    path, report = newest("long-video")
    rows = [
        [case, *(f"{found[name]:,.1f}" for name in ("ours_ms", "nvdec_ms"))]
        for case, found in report["results"].items()
    ]
    text = (
        f"{report['run']['gpu']}: milliseconds for frames at equal distances in 10 minutes of "
        "1080p H.264, to 384x384, and to the first frame from the middle of a GOP, the file opened "
        f"anew ([measurement](benchmarks/results/{path.name}); "
        "[cases](benchmarks/long_video.py)). Every frame is checked."
    )
    return "\n\n".join([text, as_table(["", "videoloader", _CEILING], rows)])


def training() -> str:
    """Clips a second for a training loop, on a GPU and on the CPU, as far as that was measured."""
    gpu, cpu = "training", "cpu-training"
    parts = [
        "Batches of clips (16 frames, stride 4, from a random start) to 224x224, normalised, in "
        "clips a second. `torchcodec` is a loop of threads that decode the next batch. Every frame "
        "of ours is that of `decode_batch` ([cases](benchmarks/training.py))."
    ]
    if list(RESULTS.glob(f"{gpu}-*.json")):
        path, report = newest(gpu)
        parts += [
            f"{report['run']['gpu']}, batches of 16 ([measurement](benchmarks/results/{path.name})"
            "). In brackets the steps a second beside a training step on the same GPU over those "
            "of the slower of the two alone.",
            _training_table(report["results"]),
        ]
    if list(RESULTS.glob(f"{cpu}-*.json")):
        path, report = newest(cpu)
        parts += [
            f"{report['run']['cores']} cores ([measurement](benchmarks/results/{path.name})). The "
            "two in a `DataLoader` have two workers each.",
            _training_table(report["results"]),
        ]
    return "\n\n".join([*parts, *_small(), *_mixed(), *_proxy()])


def _small() -> list[str]:
    """Small pictures beside NVDEC alone, each also beside a step."""
    path, report = newest("loader-gpu")
    rows = []
    for name, found in report["results"].items():
        alone, loader = found["NVDEC alone"], found["Loader"]
        rates = [f"{each['clips_per_second']:.1f}" for each in (alone, loader)]
        shares = [
            f"{loader[beside]:.2f} ({alone[beside]:.2f})"
            for beside in ("beside_a_step", "beside_a_graph")
        ]
        rows.append([name, *rates, *shares])
    return [
        f"{report['run']['gpu']}, small pictures ([measurement](benchmarks/results/{path.name})). "
        "Beside a step: steps a second over those of the slower of the two alone, of a step whose "
        "kernels Python launches one by one, and of one that is a CUDA graph; in brackets NVDEC "
        "alone beside the same step. Shares above 1: machines drift, and `Loader` ran alone first, "
        "when it knew less of the files.",
        as_table(["", "NVDEC alone", "Loader", "beside a step", "beside a graph"], rows),
    ]


def _mixed() -> list[str]:
    """A data set of many sizes and codecs, beside its parts one by one."""
    path, report = newest("web-videos")
    found = report["results"]
    codecs = ", ".join(f"{number:,} {name}" for name, number in found["codecs"].items())
    rates = {"one by one": found["ceiling"]}
    rates |= {name: found[name]["clips_per_second"] for name in ("decode_batch", "Loader")}
    return [
        f"{report['run']['gpu']}, {found['files']:,} files of {found['sizes']} sizes ({codecs}), "
        f"GOPs of 12 to 250, shuffled, batches of 32 ([measurement](benchmarks/results/{path.name}"
        "); [cases](benchmarks/web_videos.py)). `one by one` has batches of one size, codec and "
        "GOP each, by the same decoder.",
        as_table(["", *rates], [["clips a second", *(f"{rate:.1f}" for rate in rates.values())]]),
    ]


def _proxy() -> list[str]:
    """The proxy beside Loader."""
    path, report = newest("proxy")
    rows = [
        [video, *(f"{found['alone'][name]:.1f}" for name in ("Loader", "proxy"))]
        for video, found in report["results"].items()
    ]
    return [
        f"{report['run']['gpu']}, a `DataLoader` with four workers and a proxy "
        f"([measurement](benchmarks/results/{path.name}); [cases](benchmarks/dali/proxy.py)).",
        as_table(["", "Loader", "proxy"], rows),
    ]


def drop_ins() -> str:
    """Libraries beside what stands in for them."""
    if not list(RESULTS.glob("dropins-*.json")):
        return ""
    path, report = newest("dropins")
    text = (
        "Milliseconds of a protocol under the API of a library, by that library and by what "
        f"stands in for it here ([measurement](benchmarks/results/{path.name}), "
        f"{report['machine']['cores']} cores; `make dropins` repeats it). CPU is the time of all "
        "threads. Both give the same frames, except in rows with a star."
    )
    rows = [
        [
            row["library"],
            row["protocol"] + " *" * (row["differs"] > 1),
            *(f"{row[f'{side}_{kind}']:,.0f}" for kind in ("ms", "cpu_ms") for side in SIDES),
        ]
        for row in report["rows"]
        if row["peer_ms"] is not None
    ]
    names = ["", "", "here", "there", "here, CPU", "there, CPU"]
    return f"{text}\n\n{as_table(names, rows)}"


def pipelines() -> str:
    """Pipelines and operators beside DALI's, on the CPU and on a GPU."""
    parts = [
        "Samples a second of a pipeline, here and in DALI, and the one over the other. Images are "
        "1,000 JPEGs of about 500x375, batches of 32; clips are 16 frames of uint8 that lie in the "
        "memory of the device, 8 of 224x224 or 2 of 1080p, the same batch each time; "
        "arguments are constants ([cases](benchmarks/dali/pipeline.py))."
    ]
    for device in ("cpu", "gpu"):
        path, report = newest(f"pipeline-{device}")
        where = report["gpu"] or f"{report['machine']['cores']} cores"
        parts.append(f"{where} ([measurement](benchmarks/results/{path.name})).")
        rows = [
            [
                row["group"],
                row["case"],
                *map(_samples, (row["videoloader"], row["dali"])),
                _times_of(row),
            ]
            for row in report["cases"]
        ]
        parts.append(as_table(["", "", "here", "DALI", "here over DALI"], rows))
    return "\n\n".join(parts)


def data_sets() -> str:
    """Time of each command on many files."""
    path, report = newest("datasets")
    text = (
        "Files of 2 s (320x180; H.264, HEVC, AV1, VP9 and MPEG-4 in equal parts, all distinct, in "
        "the page cache), each command as a user calls it, its start included "
        f"([measurement](benchmarks/results/{path.name}), {report['machine']['cores']} cores; "
        "`python benchmarks/datasets.py files`). Processor time is that of all processes of a "
        "command. The load is the average of processes that wanted to run when it began: above 0, "
        "something else ran, and the wall time is longer than on a machine of its own."
    )
    rows = [
        [
            f"`videoloader {name.partition(',')[0]}`{', nothing new' if ',' in name else ''}",
            f"{found['files']:,}",
            f"{found['processor_seconds']:,.1f}",
            f"{found['files_per_processor_second']:,}",
            f"{found['wall_seconds']:,.1f}",
            f"{found['files_per_second']:,}",
            f"{found['load']:.0f}",
        ]
        for name, found in report["files"].items()
    ]
    names = ["", "files", "processor s", "files a processor s", "wall s", "files a s", "load"]
    return f"{text}\n\n{as_table(names, rows)}"


def _samples(found: dict[str, Any]) -> str:
    rate = found.get("samples/s")
    return "-" if rate is None else f"{rate:,.{0 if rate >= 100 else 1}f}"


def _times_of(row: dict[str, Any]) -> str:
    return f"{row['ratio, wall']:.2f}" if "ratio, wall" in row else "-"


def _training_table(results: dict[str, Any]) -> str:
    names = list(dict.fromkeys(name for found in results.values() for name in found))
    rows = [
        [video, *(_clips(found.get(name)) for name in names)] for video, found in results.items()
    ]
    return as_table(["", *names], rows)


def _clips(found: dict[str, Any] | None) -> str:
    if found is None:
        return "-"
    beside = f" ({found['beside_a_step']:.2f})" if "beside_a_step" in found else ""
    wrong = "" if found.get("right", True) else " (wrong)"
    return f"{found['clips_per_second']:.1f}{beside}{wrong}"


def _rate(found: dict[str, Any], case: str) -> str:
    one = found.get(case, {})
    if "value" not in one:
        return "-"
    beside = found.get(f"{case}, busy", {}).get("value")
    value = one.get("per_second", one["value"]) if case in ("clips", "uniform") else one["value"]
    digits = 0 if value > 1000 else 1
    busy = "" if beside is None else f" ({beside:,.{digits}f})"
    wrong = "" if one.get("right", True) else " (wrong)"
    return f"{value:,.{digits}f}{busy}{wrong}"


def _milliseconds(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    return f"{row['median_ms']:.0f}" + (" (wrong)" if row["wrong_frames"] else "")


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    return f"{row['median_ms']:.2f}" + _wrong(row)


def _wrong(row: dict[str, Any]) -> str:
    return "" if row["agrees"] else " (wrong)"


def front() -> str:
    """The table of the README: one row a job, beside three peers."""
    index = {row["contender"]: row for row in newest("indexing")[1]["cases"]["MP4"]["measurements"]}
    rows = [
        _front_row(
            "ms to find every frame of a 10 minute MP4, CPU",
            "indexing",
            *(_cell(index.get(name)) for name in ("videoloader", "torchcodec, exact", "decord2")),
        )
    ]
    cpu = {
        (row["video"], row["case"], row["contender"]): row
        for row in newest("decoding")[1]["measurements"]
        if not row["busy"]
    }
    peers = ("videoloader", "torchcodec, approx.", "decord2")
    rows += [
        _front_row(
            f"ms to decode {text}",
            "decoding",
            *(_milliseconds(cpu.get((*job, name))) for name in peers),
        )
        for job, text in _FRONT_CPU.items()
    ]
    gpu = newest("gpu")[1]["results"]
    for video, name in _FRONT_GPU.items():
        ours, peer, ceiling = (
            _rate({"clips": gpu[video][contender]["clips"]}, "clips")  # without the busy thread
            for contender in ("videoloader", "torchcodec", _CEILING)
        )
        text = f"clips a second (16 frames each), {name}, H200 (NVDEC alone: {ceiling})"
        rows.append(_front_row(text, "gpu", ours, peer))
    images = {row["case"]: row for row in newest("pipeline-cpu")[1]["cases"]}
    training = images[_FRONT_IMAGES]
    rows.append(
        _front_row(
            "images a second of a training pipeline of JPEGs, CPU",
            "dali/pipeline",
            _samples(training["videoloader"]),
            dali=_samples(training["dali"]),
        )
    )
    return as_table(["", "videoloader", "torchcodec", "decord2", "DALI"], rows)


def _front_row(
    job: str, program: str, ours: str, torchcodec: str = "-", decord: str = "-", dali: str = "-"
) -> list[str]:
    return [f"[{job}](benchmarks/{program}.py)", f"**{ours}**", torchcodec, decord, dali]


def ray_data() -> str:
    """Clips for Ray Data beside its own reader."""
    path, run = newest("scale")
    intro = (
        f"One random clip (16 frames, stride 4) of each of {run['videos']} 360p H.264 videos of "
        "300 frames, read by a Ray of its own ([measurement]"
        f"(benchmarks/results/{path.name}), {run['cores']} cores; [cases](benchmarks/scale.py)). "
        "`read_videos` gives every frame, of which those of the clips are kept: the frames of both "
        "are the same. *Memory* is that of all processes above what they had before."
    )
    rows = []
    for text, name, unit in (
        ("seconds", "seconds", 1),
        ("stored in Ray's object store, MB", "stored", 1e6),
        ("memory, MB", "memory", 1e6),
    ):
        ours, peer = (run[name][each] / unit for each in ("videoloader", "ray.data.read_videos"))
        rows.append([text, f"**{ours:,.1f}**", f"{peer:,.1f}", f"{peer / ours:.1f}"])
    head = ["", "videoloader.datasets.ray.read_clips", "ray.data.read_videos", "times"]
    return "\n\n".join([intro, as_table(head, rows)])


def filled(page: str, tables: dict[str, str]) -> str:
    """A page with its tables as they should be."""
    for name, table in tables.items():
        begin = f"<!-- figures: {name} -->\n"
        before, _, rest = page.partition(begin)
        end = re.search(r"\n## |\n<!-- ", rest)
        assert end is not None, name
        page = f"{before}{begin}\n{table}\n{rest[end.start() :]}"
    return page


def pages() -> dict[Path, str]:
    """The pages with tables, as they should be."""
    tables = {
        "indexing": indexing(),
        "decoding": decoding(),
        "gpu": gpu(),
        "whole files on a gpu": whole_files(),
        "long videos on a gpu": long_video(),
        "training": training(),
        "ray-data": ray_data(),
        "drop-ins": drop_ins(),
        "pipelines": pipelines(),
        "data sets": data_sets(),
    }
    found = {ROOT / "README.md": {"front": front()}}
    for page, places in {"benchmarks": tables, **guides()}.items():
        found[ROOT / "docs" / f"{page}.md"] = {
            name: text.replace("](benchmarks/", f"]({'../' * (page.count('/') + 1)}benchmarks/")
            for name, text in places.items()
        }
    return {path: filled(path.read_text(), mine) for path, mine in found.items()}


def plots() -> dict[str, Plot]:
    """The plots of the pages by the name of their file."""
    indexing, decoding = newest("indexing")[1]["cases"], newest("decoding")[1]["measurements"]
    times: dict[str, dict[str, float]] = {}
    for row in decoding:
        if not row["busy"] and not row["wrong_frames"]:
            case = times.setdefault(f"{row['video']}, {row['case']}", {})
            case[row["contender"]] = row["median_ms"]
    floor = "floor, needed packets"
    return {
        "front": Plot(
            "Rate over that of videoloader, by job and library",
            "rate over that of videoloader (more is better)",
            {job: {OURS: 1.0, **found} for job, found in _front_rates().items()},
        ),
        "indexing": Plot(
            "Milliseconds to find every frame of a video, by container and library",
            "milliseconds to find every frame (less is better)",
            {
                name: {
                    row["contender"]: row["median_ms"]
                    for row in case["measurements"]
                    if row["agrees"]
                }
                for name, case in indexing.items()
            },
        ),
        "decoding": Plot(
            "Time to decode frames on the CPU over that of videoloader, by case and library",
            "time over that of videoloader (less is better)",
            {
                case: {
                    name: value / found[OURS]
                    for name, value in found.items()
                    if name != "floor, every packet"
                }
                for case, found in times.items()
                if OURS in found and {*found} - {OURS, floor}
            },
        ),
        "gpu": Plot(
            "Share of the rate of NVDEC alone, by case and library",
            "share of NVDEC's own rate (more is better)",
            {
                **_shares(newest("gpu")[1]["results"]),
                **_shares(newest("sequential-gpu")[1]["results"]),
            },
            (1.0, _CEILING),
        ),
        "pipelines": Plot(
            "Rate over that of DALI, by pipeline and device",
            "rate over that of DALI on the same device (more is better)",
            _beside_dali(),
            (1.0, "DALI"),
        ),
    }


def _front_rates() -> dict[str, dict[str, float]]:
    """The jobs of the README: what others reach of our rate, where their frames are right."""
    rows = newest("decoding")[1]["measurements"]
    times = {
        "find every frame of 10 minutes, CPU": {
            row["contender"].removesuffix(", exact"): row["median_ms"]
            for row in newest("indexing")[1]["cases"]["MP4"]["measurements"]
            if row["contender"] in (OURS, "torchcodec, exact", "decord2", "PyAV, demux")
        }
    }
    for (video, case), text in _FRONT_CPU.items():
        times[text] = {
            row["contender"].removesuffix(", approx."): row["median_ms"]
            for row in rows
            if (row["video"], row["case"], row["busy"]) == (video, case, False)
            and row["contender"] in (OURS, "torchcodec, approx.", "decord2", "OpenCV")
            and not row["wrong_frames"]
        }
    rates = {
        text: {name: found[OURS] / value for name, value in found.items() if name != OURS}
        for text, found in times.items()
    }
    results = newest("gpu")[1]["results"]
    for video, text in _FRONT_GPU.items():
        ours = results[video][OURS]["clips"]["value"]
        rates[f"clips, {text}, H200"] = {
            name: found["clips"].get("per_second", found["clips"]["value"]) / ours
            for name, found in results[video].items()
            if name != OURS and found["clips"].get("right", True)
        }
    images = {row["case"]: row for row in newest("pipeline-cpu")[1]["cases"]}
    rates["a training pipeline of JPEGs, CPU"] = {"DALI": 1 / images[_FRONT_IMAGES]["ratio, wall"]}
    return rates


def _shares(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    """What each library reaches of NVDEC alone, case by case."""
    shares: dict[str, dict[str, float]] = {}
    for video, found in results.items():
        for case in ("clips", "uniform", "sequential"):
            top = found.get(_CEILING, {}).get(case)
            if top is None or (case == "sequential" and "clips" in found["videoloader"]):
                continue
            most = top["value"] if case == "sequential" else top["per_second"]
            name = f"{video}, {'whole files' if case == 'sequential' else case}"
            shares[name] = {
                who: one[case]["value"] / most
                for who, one in found.items()
                if who != _CEILING and one.get(case, {}).get("right")
            }
    return shares


def _beside_dali() -> dict[str, dict[str, float]]:
    """Our rate over DALI's, by case and device."""
    rows: dict[str, dict[str, float]] = {}
    for device, name in {"cpu": "videoloader, CPU", "gpu": "videoloader, GPU"}.items():
        for row in newest(f"pipeline-{device}")[1]["cases"]:
            if "ratio, wall" in row:
                case = row["case"] if row["group"] == "images" else f"{row['case']}, {row['group']}"
                rows.setdefault(case, {})[name] = row["ratio, wall"]
    return rows


def main() -> None:
    for path, text in pages().items():
        path.write_text(text)
    folder = ROOT / "docs" / "figures"
    folder.mkdir(exist_ok=True)
    for name, plot in plots().items():
        (folder / f"{name}.svg").write_text(plot.svg())


if __name__ == "__main__":
    main()
