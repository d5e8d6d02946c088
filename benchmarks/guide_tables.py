"""Figures within guides: single tables and sentences, from the newest measurements."""

from __future__ import annotations

from typing import Any

from figures import as_table, newest


def guides() -> dict[str, dict[str, str]]:
    """By the name of the guide the text of each of its places for figures."""
    return {
        "drop-ins": {"peers": peers()},
        "curation": {"scenes": scenes(), "duplicates": duplicates()},
        "training/foundation-models": {"epoch start": epoch_start()},
        "training/shared-clips": {"shared clips": shared_clips()},
        "training/stats": {"tune": tune()},
        "many-nodes": {"many nodes": many_nodes()},
        "object-stores": {"object stores": object_stores()},
        "several-gpus": {"several GPUs": several_gpus()},
        "writing": {"cutting": cutting()},
    }


def _source(name: str, program: str) -> tuple[str, dict[str, Any]]:
    """A link to the newest measurement and to its program, and what was measured."""
    path, found = newest(name)
    links = f"[measurement](benchmarks/results/{path.name}), [program](benchmarks/{program}.py)"
    return links, found


def peers() -> str:
    """Tests of other libraries, on drop-ins and on their own readers."""
    links, found = _source("peers", "peers")
    rows = []
    for row in found["rows"]:
        here, there = row["here"], row["there"]
        rows.append(
            [
                row["peer"].replace("==", " "),
                row["stands_in"],
                *(str(here["passed"] + len(here["failed"])), str(here["passed"])),
                *(str(there["passed"]), str(len(here["skipped"])), str(here["left_out"])),
                "<br>".join(f"`{name}`" for name in here["failed"]) or "none",
            ]
        )
    heads = ["", "drop-in", "run", "passed", "with its own reader", "skipped", "need the network"]
    table = as_table([*heads, "fail with the drop-in"], rows)
    return f"{table}\n\n({links}; `make peers` repeats it.)"


def scenes() -> str:
    """Cuts between shots beside PySceneDetect."""
    links, found = _source("curation", "curation")
    encoders = {
        "libx264": "H.264",
        "libx265": "HEVC",
        "libsvtav1": "AV1",
        "libvpx-vp9": "VP9",
        "mpeg4": "MPEG-4",
    }
    ways = {
        "find_scenes, exact": "`find_scenes(exact=True)`",
        "find_scenes": "`find_scenes()`",
        "ContentDetector": "ContentDetector",
        "AdaptiveDetector": "AdaptiveDetector",
    }
    measured, peer = found["scenes"], found["machine"]["versions"]["scenedetect"]
    rows = []
    for way, text in ways.items():
        whole = measured["all"][way]
        each = [f"{measured[encoder][way]['seconds']:.2g}" for encoder in encoders]
        exact, near = (f"{whole[f'f1_within_{frames}']:.2f}" for frames in (0, 12))
        rows.append([text, exact, near, f"{whole['seconds']:.3g}", *each])
    intro = (
        f"Beside PySceneDetect {peer} (default settings), on generated videos of 12 shots each: "
        "640 x 360, with and without grain, with keyframes at cuts, every 12 or 48 frames, or only "
        "at the start. F1 accepts cuts that are exact, or at most 12 frames off. Times are "
        f"processor time of one process, in seconds ({links}, with `scenes`)."
    )
    head = ["", "F1, exact", "F1, 12 frames", "seconds", *encoders.values()]
    return f"{intro}\n\n{as_table(head, rows)}"


def duplicates() -> str:
    """Near copies beside videohash."""
    links, found = _source("curation", "curation")
    measured = found["duplicates"]
    ours, peer = measured["videoloader"], measured["videohash"]
    hashed, many = measured["one picture, 1 us"], measured["pairs of 100000 videos"]
    return (
        "In a test with 24 videos of 2 s in 8 versions each (other quality and GOPs, VP9, HEVC at "
        "half the size, MPEG-4, cropped by 5 %, half the frames, Matroska), "
        f"{100 * ours['recall']:.1f} % of the pairs were found, and {100 * ours['precision']:.1f} "
        f"% of those reported were right, in {ours['seconds']:.1f} s of processor time for the "
        f"{measured['files']} files. `videohash` found {100 * peer['recall']:.1f} % of the pairs; "
        f"{100 * peer['precision']:.1f} % of those it reported were right; it took "
        f"{peer['wall_seconds']:.0f} s. One hash takes {hashed['videoloader']:.0f} microseconds, "
        f"that of `imagehash` {hashed['imagehash']:.0f}. Pairs among 100,000 videos take "
        f"{many['seconds']:.0f} s ({links}, with `duplicates`)."
    )


def epoch_start() -> str:
    """A million videos."""
    links, found = _source("epoch-start", "epoch_start")
    figures = found["figures"]
    plain, buckets, packs = (
        figures[f"Loader, {name}"] for name in ("shuffled", "buckets", "packs")
    )
    names = ("assign_us", "list_us", "all_batches_of_a_rank_us")
    cost = [
        sum(figures[f"arithmetic, {kind}"][name] for name in names) for kind in ("buckets", "packs")
    ]
    return (
        f"The start of an epoch of {figures['videos']:,} videos, on {_cores(found)} with other "
        f"work ({links}): the first batch is ready after {plain['first_batch_s']:.1f} s without a "
        f"plan, {buckets['first_batch_s']:.1f} s with buckets and {packs['first_batch_s']:.1f} s "
        "with packs; most of that is the start of worker processes. This takes "
        f"{plain['added_MiB']:.0f}, {buckets['added_MiB']:.0f} and {packs['added_MiB']:.0f} MiB in "
        f"addition to the {plain['peak_MiB'] - plain['added_MiB']:.0f} MiB for importing PyTorch. "
        "If nearly all sizes differ, permutation, buckets and shards cost "
        f"{cost[0]:.1f} microseconds of processor time a sample, and packs {cost[1]:.1f}."
    )


def shared_clips() -> str:
    """Clips of one video, each by itself and together."""
    links, found = _source("shared-clips", "training")
    cases = next(iter(found["results"].values()))
    rows = [
        [samples, how, f"{cases[name]['processor_ms_a_clip']:.0f} ms"]
        for samples, how, name in (
            ("four draws of a video, stride 4", "apart", "draws apart"),
            ("", "`together=True`", "draws together"),
            ("all clips of a video, stride 4 (four of each video)", "apart", "all clips apart"),
            ("", "`together=4`", "all clips together"),
        )
    ]
    intro = (
        "1080p H.264 with GOPs of 250, videos of 10 s, batches of 16 clips of 16 frames, 224x224, "
        f"on {_cores(found)} with other work ({links}, with `--shared`):"
    )
    return f"{intro}\n\n{as_table(['samples', '', 'processor time a clip'], rows)}"


def tune() -> str:
    """What `tune` predicts of transcoding, beside what it gives."""
    links, found = _source("tune", "tune")
    rows = [
        [
            *(row["videos"], row["clips"], f"`{row['change']}`"),
            *(f"{row['clips_per_second']:.1f}", f"{row['predicted']:.2f}"),
            *(f"{row['measured']:.2f}", f"{100 * row['apart']:+.0f} %"),
        ]
        for row in found["rows"]
    ]
    intro = (
        f"Predicted and measured on {_cores(found)} ({links}): how many times as fast a loader "
        "becomes. *random* is `RandomClip(16, stride=4)`, *uniform* is `UniformClip(8)`; 48 videos "
        "of 10 s, batches of 4, size 112."
    )
    head = ["videos", "clips", "change", "clips/s before", "predicted", "measured", "apart"]
    return f"{intro}\n\n{as_table(head, rows)}"


def many_nodes() -> str:
    """Size and time by number of clips; * is a measured value times the number of clips."""
    links, nodes = _source("many-nodes", "many_nodes")
    stores_links, stores = _source("object-stores", "object_stores")
    results, listing = nodes["results"], stores["results"]["listing"]
    million = results["index"]["1000000"]
    sizes = (10**6, 10**8, 10**9)

    def scaled(one: float, unit: str) -> list[str]:
        return [f"{_short(one * size / 10**6, unit)} *" for size in sizes]

    indexed = stores["results"]["indexing"]["0"]
    per_file = indexed["seconds"] / indexed["files"]
    later = f"{1000 * million['next']['seconds_to_open']:.1f} ms"
    own = f"{million['next']['own_bytes'] / 1024:.0f} KiB"
    draws = [f"{1000 * results['order'][str(size)]['seconds_a_batch']:.1f} ms" for size in sizes]
    whole = [_short(million["bytes"], "B"), *scaled(million["bytes"], "B")[1:]]
    first = (
        f"{million['first']['seconds_to_open']:.0f} s of a core, "
        f"{_short(million['first']['own_bytes'], 'B')}"
    )
    opened = [first, *scaled(million["first"]["seconds_to_open"], "s")[1:]]
    keys = scaled(10**6 * listing["seconds"] / listing["keys"], "s")
    rows = [
        ["index file, a row for each clip of 300 frames", *whole],
        ["index file, 100 clips of each video", *scaled(million["bytes"] / 100, "B")],
        ["first `open_dataset`, which writes the cache", *opened],
        ["later `open_dataset`, by every rank", later, *[f"{later} *"] * 2],
        ["private memory of a rank for index and order", own, *[f"{own} *"] * 2],
        ["table for the order of an epoch", "none", "none", "none"],
        ["finding the samples of a batch of 32", *draws],
        ["keys listed by one process, 20 ms a request", *keys],
        ["files indexed from a store, by two cores", *scaled(10**6 * per_file, "s")],
        ["the same by 1,000 such machines", *scaled(10**3 * per_file, "s")],
    ]
    intro = (
        f"Measured on {_cores(nodes)} with other work ({links}; stores: {stores_links}); * is "
        "extrapolated from fewer clips."
    )
    return f"{intro}\n\n{as_table(['', '10^6 clips', '10^8 clips', '10^9 clips'], rows)}"


def object_stores() -> str:
    """What is requested for indexes, listings and clips."""
    links, found = _source("object-stores", "object_stores")
    results = found["results"]
    indexed, listing, clips = results["indexing"]["0"], results["listing"], results["clips"]
    first, second, third = clips["epochs"]
    rows = [
        [
            f"{indexed['files']:,} files indexed, 16 at a time",
            f"{indexed['seconds']:.0f} s, {indexed['requests_a_file']:.1f} requests and "
            f"{_short(indexed['bytes_a_file'], 'B')} a file (tables: "
            f"{_short(indexed['tables_a_file'], 'B')})",
        ],
        [
            f"{listing['keys']:,} keys listed",
            f"{listing['seconds']:.1f} s, {listing['requests']} requests",
        ],
        [
            "a random clip of 16 frames, stride 2",
            f"{first['requests_a_clip']:.1f} requests, {_short(first['bytes_a_clip'], 'B')} (its "
            f"packets: {_short(clips['bytes_of_packets_a_clip'], 'B')})",
        ],
        [
            "share of bytes already fetched in the same epoch",
            f"{100 * first['fetched_before_in_this_epoch']:.1f} %",
        ],
        [
            "share of bytes already fetched in earlier epochs",
            f"{100 * second['fetched_in_earlier_epochs']:.0f} % in the second, "
            f"{100 * third['fetched_in_earlier_epochs']:.0f} % in the third",
        ],
    ]
    intro = (
        f"Measured on {_cores(found)} with other work, each request answered after "
        f"{results['latency_ms']:.0f} ms, clips of 10 s at 640x360 ({links}):"
    )
    return f"{intro}\n\n{as_table(['', ''], rows)}"


def several_gpus() -> str:
    """One process and one for each GPU."""
    links, found = _source("ddp", "ddp")
    video = next(iter(found["results"].values()))
    most, fewest = max(video, key=int), min(video, key=int)
    times = video[most]["clips_per_second"] / video[fewest]["clips_per_second"]
    return (
        "Each GPU has its own decoding engines, so decoding scales with the number of GPUs: "
        f"{most} {found['run']['gpu']} of one host gave {times:.2f} times the clips of "
        f"{'one' if fewest == '1' else fewest} ({links})."
    )


def cutting() -> str:
    """Ten seconds out of a minute."""
    links, found = _source("cutting", "cutting")
    ways = {
        "vl.cut, copied": "`vl.cut`, copied, indexed before and after",
        "PyAV, packets copied": "PyAV, packets copied from the keyframe on",
        "ffmpeg -c copy": "`ffmpeg -ss -t -c copy`, with the start of its process",
        "vl.cut, encoded": "`vl.cut`, encoded",
    }
    measured = {each["way"]: each for each in found["ways"]}
    rows = [
        [text, f"{1000 * measured[way]['processor_seconds']:,.0f}", str(measured[way]["frames"])]
        for way, text in ways.items()
    ]
    wanted = found["ways"][0]["wanted"]
    intro = (
        "Mean processor time to cut ten seconds out of a one-minute H.264 video (640x360, GOPs of "
        f"250), on {_cores(found)} with other work ({links}). {wanted} frames were requested."
    )
    return f"{intro}\n\n{as_table(['', 'processor time, ms', 'frames in the file'], rows)}"


def _cores(found: dict[str, Any]) -> str:
    machine = found["run"] if "run" in found else found["machine"]
    return f"{machine['cores']} cores"


def _short(value: float, unit: str) -> str:
    """A number of bytes or seconds in a unit in which it is short.

    >>> _short(2.24e9, "B"), _short(1900, "s"), _short(86400 * 11, "s")
    ('2.2 GB', '32 min', '11 days')
    """
    steps = {
        "B": {"TB": 1e12, "GB": 1e9, "MB": 1e6, "KB": 1e3, "B": 1},
        "s": {"months": 30 * 86400.0, "days": 86400.0, "h": 3600.0, "min": 60.0, "s": 1},
    }[unit]
    least = {"B": 1, "s": 1.6}[unit]  # rather 32 h than 1 days
    name, size = next((name, size) for name, size in steps.items() if value >= least * size)
    number = value / size
    return f"{number:.1f} {name}" if number < 9.5 and unit == "B" else f"{number:.0f} {name}"
