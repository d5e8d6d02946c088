"""Indexes whose stored fields were changed: errors of ours, whatever they say."""

import json
import struct
import zlib
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset import cache
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


def write_repeated(table, path, column, value, rows):
    """A file of rows that have the same value, which it stores once."""
    at = table.schema.get_field_index(column)
    whole = table.take([0] * rows)
    values = pa.array([value], table.schema.field(at).type)
    same = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), values)
    options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 30}
    pq.write_table(whole, path)
    facts = pq.read_metadata(path).metadata
    whole = whole.set_column(at, pa.field(column, same.type), same)
    with pq.ParquetWriter(path, whole.schema, store_schema=False, **options) as writer:
        writer.write_table(whole)
        writer.add_key_value_metadata(facts)
    assert pq.read_schema(path).field(column).type == values.type


@pytest.mark.parametrize("column", ["path", "member", "error", "error_kind"])
def test_a_text_that_no_index_is_written_with_is_refused(table, tmp_path, column):
    path = tmp_path / "set.parquet"
    write_repeated(table, path, column, "a" * (1 << 20), 500)
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(vl.errors.FormatError, match=rf"set\.parquet: .*a {column} has 1048576 b"):
        vl.open_dataset(path)
    assert pa.default_memory_pool().max_memory() < before + (64 << 20)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(("column", "size"), [("path", 4000), ("index", 64000)])
def test_values_that_a_file_repeats_do_not_fill_memory_and_disk(
    table, tmp_path, monkeypatch, column, size
):
    monkeypatch.setattr(cache, "FREE_BYTES", 1 << 20)
    monkeypatch.setattr(cache, "AT_ONCE", 1 << 20)
    path = tmp_path / "set.parquet"
    write_repeated(table, path, column, "a" * size if column == "path" else b"a" * size, 4000)
    with pytest.raises(
        vl.errors.FormatError, match=r"set\.parquet: .*far more bytes than the file"
    ):
        vl.open_dataset(path)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("column", ["key", "path", "member", "error", "error_kind", "codec"])
def test_bytes_that_are_no_text_are_refused(table, tmp_path, column):
    at = table.schema.get_field_index(column)
    values = pa.array([b"\xff\xfea"] * len(table), pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(table), values.buffers())
    pq.write_table(table.set_column(at, table.schema.field(at), texts), tmp_path / "set.parquet")
    with pytest.raises(vl.errors.FormatError, match=r"set\.parquet: no data set index"):
        _ = vl.open_dataset(tmp_path / "set.parquet").table


@pytest.mark.parametrize("text", ["", "a\nb\x1b[31m", "\0", "\u202e"])
def test_a_stored_error_names_its_file_on_one_line(table, tmp_path, text):
    at = table.schema.get_field_index("error")
    texts = pa.array([text] * len(table))
    changed = table.set_column(at, table.schema.field(at), texts)
    failures = pa.nulls(len(table), pa.large_binary())
    changed = changed.set_column(table.schema.get_field_index("index"), "index", failures)
    pq.write_table(changed, tmp_path / "set.parquet")
    with vl.open_dataset(tmp_path / "set.parquet") as dataset:
        for row in range(len(dataset)):
            with pytest.raises(vl.VideoError) as caught:
                dataset[row]
            assert dataset.item(row).name in str(caught.value)
            assert str(caught.value).isprintable()


@pytest.mark.parametrize("times", [b"-1", b"x", b"9" * 5000])
def test_a_number_of_splits_that_is_none_is_refused(table, tmp_path, times):
    path = tmp_path / "set.parquet"
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"splits": times}), path)
    with pytest.raises(vl.errors.FormatError, match=r"set\.parquet: no data set index"):
        vl.open_dataset(path).split(0.5)


HEAD = struct.Struct("<8sQQQQII")  # of a cache, see `Cache`


def write_cache(path, *, failed=(0,), root=None, place=None, rows=None):
    """The cache of a data set index of two rows, changed, with the right checksums."""
    data = path.read_bytes()
    *state, count, failures, size, _ = HEAD.unpack_from(data)
    begin = HEAD.size + 8 * (count + 1)
    ends = np.frombuffer(data, "<u8", count + 1, HEAD.size)
    records = [data[a:b] for a, b in pairwise(ends)]
    if place is not None:
        text = json.dumps(place).encode()
        records[1] = struct.pack("<II", len(text), zlib.crc32(text)) + text
    records = records[:rows]
    if root is None:
        root = data[begin + 8 * failures :][:size]
    facts = np.array(failed, "<i8").tobytes() + root
    begin = HEAD.size + 8 * (len(records) + 1) + len(facts)
    ends = begin + np.cumsum([0, *map(len, records)])
    head = HEAD.pack(*state, len(records), len(failed), len(root), zlib.crc32(facts))
    path.write_bytes(head + ends.astype("<u8").tobytes() + facts + b"".join(records))


PLACE = {"path": "a.mp4", "member": "", "offset": 0, "size": -1}
CACHES = {
    "same": {},
    **{f"failed {each}": {"failed": each} for each in ((9,), (-1,), (1 << 62,), (1, 0), (0, 0))},
    "root": {"root": b"\xff"},
    "fewer": {"rows": 1, "failed": ()},
    "surrogate": {"place": PLACE | {"path": "\ud800"}},
    "error": {"place": PLACE | {"error": "\ud800", "kind": "FormatError"}},
    "long": {"place": PLACE | {"path": "a" * (1 << 20)}},
}


@pytest.mark.parametrize("name", CACHES)
def test_a_cache_with_right_checksums_and_wrong_content_gives_errors_of_ours(clip, tmp_path, name):
    (clip.parent / "a-bad.mp4").write_bytes(b"no video")
    out = tmp_path / "set.parquet"
    vl.index_dataset([clip.parent / "a-bad.mp4", clip], out, 0).close()
    write_cache(tmp_path / "set.parquet.cache", **CACHES[name])

    def everything():
        with vl.open_dataset(out) as dataset:
            assert dataset.errors["row"].to_pylist() == [0]
            assert dataset.videos.rows.tolist() == [1]
            assert dataset[1].num_frames == dataset.videos.num_frames[0]
            assert dataset.filter(min_frames=2).rows.tolist() == [1]

    if name == "same":
        everything()
        return
    with pytest.raises(vl.errors.FormatError, match=r"set\.parquet\.cache: damaged .* delete it"):
        everything()
