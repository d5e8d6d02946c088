"""Indexes whose stored fields were changed: errors of ours, whatever they say."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing.storage import FACTS

TEXTS = ["", "aac", "srt", "png", "vp9", "no such", "h264\0", "x" * 200, "prefix:00", "demuxed"]
TEXTS += ["mpegts:188:99999", "decode", "tables", "gray", "pal8", "cuda", None]
NUMBERS = [0, 1, 3, 4, 8, 255, 65535, (1 << 31) - 1, None]
FIELDS = [
    (name, value)
    for name, kind in FACTS.items()
    for value in (TEXTS if "str" in str(kind) else NUMBERS if kind is not bool else [True, False])
]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return encode_video(tmp_path_factory.mktemp("clip") / "a.mp4", frames=6, size=(64, 48))


@pytest.mark.parametrize("name", FACTS)
def test_a_changed_field_of_an_index_gives_frames_or_an_error_of_ours(clip, tmp_path, name):
    index = vl.index_video(clip)
    for _, value in [each for each in FIELDS if each[0] == name]:
        with suppress(vl.VideoError):
            replace(index, **{name: value}).save(tmp_path / "index")
            changed = vl.VideoIndex.load(tmp_path / "index")
            assert repr(changed)
            with vl.Video(clip, index=changed) as video:
                assert len(video.get_frames([0, 5, 3]).frames) == 3


@pytest.mark.parametrize("codec", ["aac", "srt", "pcm_s16le"])
def test_a_codec_that_is_none_of_video_is_named(clip, codec):
    index = replace(vl.index_video(clip), codec=codec)
    with (
        vl.Video(clip, index=index) as video,
        pytest.raises(vl.errors.UnsupportedError, match=f"'{codec}' is no codec of video"),
    ):
        video.get_frames([0])


def values_of(kind):
    """What may stand in a column."""
    if pa.types.is_boolean(kind):
        return [None, True]
    if pa.types.is_large_binary(kind):
        return [None, b"", b"\0" * 40, b"VLINDEX4"]
    if pa.types.is_string(kind):
        return [None, "", "x" * 5000, "file:%zz", "s3://a/b", "../..", "a\0b", "🎞️"]
    if pa.types.is_floating(kind):
        return [None, np.nan, np.inf, -1.0, 1e300]
    return [None, -1, 0, 1, 2**31 - 1, *([] if pa.types.is_int32(kind) else [2**63 - 1, -(2**63)])]


@pytest.fixture(scope="module")
def table(clip, tmp_path_factory):
    (clip.parent / "bad.mp4").write_bytes(b"no video")
    out = tmp_path_factory.mktemp("set") / "set.parquet"
    vl.index_dataset(clip.parent, out, 0)
    return pq.read_table(out)


def use(path):
    """All that a data set index is asked for."""
    dataset = vl.open_dataset(path)
    for row in range(len(dataset)):
        for ask in (dataset.__getitem__, dataset.item, dataset.key):
            with suppress(vl.VideoError):
                ask(row)
        with suppress(vl.VideoError), dataset.source(row):
            pass
    for ask in (
        lambda: dataset.errors.to_pylist(),
        lambda: len(dataset.videos),
        lambda: dataset.filter(min_frames=2),
        lambda: dataset.numbers(["num_frames", "fps", "width"]),
    ):
        with suppress(vl.VideoError):
            ask()


COLUMNS = (
    *("key", "path", "member", "offset", "size", "mtime_ns", "etag", "head", "error"),
    *("error_kind", "codec", "width", "num_frames", "num_keyframes", "duration", "fps"),
    *("exactness", "warnings", "index"),
)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_changed_column_of_a_data_set_gives_errors_of_ours(table, tmp_path, name):
    column = table.schema.get_field_index(name)
    field = table.schema.field(column)
    for number, value in enumerate(values_of(field.type)):
        for whole in (True, False):
            values = table.column(column).to_pylist()
            values = [value] * len(values) if whole else [value, *values[1:]]
            changed = table.set_column(column, field, pa.array(values, field.type))
            path = tmp_path / f"{number}-{whole}.parquet"
            pq.write_table(changed, path)
            with suppress(vl.VideoError):
                use(path)
