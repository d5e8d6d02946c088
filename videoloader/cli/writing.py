"""Commands that write videos."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from videoloader.cli.terminal import (
    Json,
    Ray,
    Workers,
    complain,
    emit,
    job_progress,
    say,
)


def cut(
    source: Annotated[str, typer.Argument(help="A video file or its URL.")],
    out: Annotated[Path, typer.Argument(help="Video to write; its suffix chooses the container.")],
    start: Annotated[int | None, typer.Option(help="First frame to write; 0 by default.")] = None,
    stop: Annotated[
        int | None,
        typer.Option(help="First frame that is not written; the end of the video by default."),
    ] = None,
    times: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Begin and end in seconds, in place of frames."),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, copy (packets as they are), encode.")] = "auto",
    codec: Annotated[str | None, typer.Option(help="h264, hevc, av1, vp9 or ffv1.")] = None,
    quality: Annotated[
        str | None, typer.Option(help="Constant rate factor of the encoder, or lossless.")
    ] = None,
    audio: Annotated[bool, typer.Option(help="Write the sound too.")] = True,
    as_json: Json = False,
) -> None:
    """Write exactly these frames of a video to a file, without encoding where that can be done.

    Examples:
        videoloader cut clip.mp4 part.mp4 --start 12 --stop 48
        videoloader cut clip.mp4 part.mp4 --times 0.5 2.0 --no-audio
        videoloader cut clip.mp4 part.mp4 --stop 30 --codec h264 --quality lossless
    """
    from videoloader.writing.cut import cut as write_cut

    made = write_cut(
        source,
        out,
        start,
        stop,
        times=times,
        method=method,  # type: ignore[arg-type]
        codec=codec,
        quality=_quality(quality),
        audio=audio,
    )
    if as_json:
        emit(asdict(made))
        return
    how = f"{made.num_packets} packets copied" if made.method == "copy" else "encoded"
    say(f"{out}: frames {made.start}-{made.stop - 1}, {how}")
    if made.reason:
        say(f"not copied: {made.reason}")


def transcode(
    sources: Annotated[
        list[str], typer.Argument(help="Folders, globs, lists, .tar, videos, URLs; or a .parquet.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")],
    codec: Annotated[str | None, typer.Option(help="h264, hevc, av1, vp9 or ffv1.")] = None,
    quality: Annotated[
        str | None, typer.Option(help="Constant rate factor of the encoder, or lossless.")
    ] = None,
    gop: Annotated[int, typer.Option(min=1, help="Most frames between keyframes.")] = 16,
    shorter: Annotated[
        int | None,
        typer.Option(min=2, help="Length of the shorter side in pixels; unchanged by default."),
    ] = None,
    audio: Annotated[bool, typer.Option(help="Keep the sound.")] = True,
    suffix: Annotated[
        str, typer.Option(help="Suffix of the files, which chooses the container.")
    ] = ".mp4",
    videos_per_shard: Annotated[
        int | None,
        typer.Option("--per-shard", min=1, help="Write tar archives of this many videos each."),
    ] = None,
    lerobot: Annotated[
        str | None, typer.Option(help="Write a LeRobotDataset with a camera of this name.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Frames in a clip, to estimate the gain.")] = 16,
    stride: Annotated[
        int, typer.Option(min=1, help="Frames from one frame of a clip to the next.")
    ] = 4,
    workers: Workers = None,
    ray: Ray = "",
    as_json: Json = False,
) -> None:
    """Encode videos again for training: short groups of pictures, a smaller size.

    The job may be stopped, and the same command resumes it. Exit code 1 if any video cannot be
    transcoded.

    Examples:
        videoloader transcode set.parquet -o small/ --shorter 48
        videoloader transcode videos/ -o shards/ --gop 8 --per-shard 2
        videoloader transcode set.parquet -o lerobot/ --lerobot front
    """
    from videoloader.datasets.transcode import transcode as run
    from videoloader.sampling import RandomClip

    whole = len(sources) == 1  # a data set index is given alone
    with job_progress("transcoding", out / "transcode") as report_progress:
        made = run(
            sources[0] if whole else sources,
            out,
            codec=codec,
            quality=_quality(quality),
            gop=gop,
            resize_shorter=shorter,
            audio=audio,
            suffix=suffix,
            videos_per_shard=videos_per_shard,
            lerobot=lerobot,
            sampler=RandomClip(count, stride=stride),
            workers=workers,
            ray=ray,
            progress=report_progress,
            on_gain=None if as_json else lambda gain: say(str(gain)),
        )
    if as_json:
        facts = {"out": str(out), "written": made.written, "kept": made.kept}
        facts |= {"bytes_before": made.bytes_before, "bytes_after": made.bytes_after}
        facts |= {"gain": None if made.gain is None else made.gain._asdict()}
        emit(facts | {"errors": [each._asdict() for each in made.failures]})
        raise typer.Exit(int(bool(made.failures)))
    for failure in made.failures:
        complain(failure.reason)
    summary = f"{made.written} videos written, {made.kept} were done, {len(made.failures)} failed"
    if made.written:
        summary += f"; {made.bytes_before / 1e6:.1f} MB became {made.bytes_after / 1e6:.1f} MB"
    say(f"{out}: {summary}")
    if made.gain is not None:
        say(str(made.gain))
    raise typer.Exit(int(bool(made.failures)))


def _quality(text: str | None) -> Any:
    """The quality of an encoder: a number, or a word that is checked there."""
    return int(text) if text is not None and text.isdecimal() else text
