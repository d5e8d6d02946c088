"""What is given as videos: tables, columns, pairs, mappings, indexes, generators."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import videoloader as vl
from videoloader.demo.videos import encode_video

pl = pytest.importorskip("polars")

CLIP = vl.UniformClip(2)
NAMES = ["a/0.mp4", "a/1.mp4", "b/2.mp4"]
LABELS = [4, 2, 7]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("given")
    for number, name in enumerate(NAMES):
        (path / name).parent.mkdir(exist_ok=True)
        encode_video(path / name, frames=3 + number, size=(32, 16))
    vl.index_dataset(path, path / "set.parquet", workers=0).close()
    return path


@pytest.fixture
def paths(folder):
    return [str(folder / name) for name in NAMES]


@pytest.fixture
def video(paths):
    with vl.Video(paths[0]) as opened:
        yield opened


@pytest.fixture
def index(folder):
    with vl.open_dataset(folder / "set.parquet") as opened:
        yield opened


def labels_of(videos, **options):
    """The labels of all samples, by each way in that takes labels."""
    with vl.Loader(videos(), CLIP, batch_size=1, workers=0, **options) as loader:
        batches = [batch["labels"].item() for batch in loader]
    dataset = vl.ClipDataset(videos(), CLIP, **options)
    assert [dataset[number]["labels"] for number in range(len(dataset))] == batches
    return batches


@pytest.mark.parametrize(
    "kind",
    [
        lambda paths: [*zip(paths, LABELS, strict=True)],
        lambda paths: zip(paths, LABELS, strict=True),
        lambda paths: [[Path(path), label] for path, label in zip(paths, LABELS, strict=True)],
        lambda paths: dict(zip(paths, LABELS, strict=True)),
        lambda paths: dict(zip(paths, LABELS, strict=True)).items(),
    ],
)
def test_pairs_of_a_video_and_its_label_are_taken(paths, kind):
    assert labels_of(lambda: kind(paths)) == LABELS


def test_the_label_of_a_folder_is_that_of_its_videos(folder):
    places = {folder / "b": "kick", f"{folder}/a/*.mp4": "jump"}
    assert labels_of(lambda: places) == [1, 0, 0]
    assert vl.ClipDataset(places, CLIP).classes == ["jump", "kick"]
    assert vl.ClipDataset(places, CLIP, classes=["kick", "jump"]).labels == [0, 1, 1]


def test_labels_are_not_given_twice(paths):
    for videos in (dict.fromkeys(paths, 0), [(path, 0) for path in paths]):
        with pytest.raises(vl.errors.ArgumentError, match=r"labels go with the videos, .* too"):
            vl.ClipDataset(videos, CLIP, labels=LABELS)


TABLES = [pd.DataFrame, pl.DataFrame, pa.table]
COLUMNS = [
    pd.Series,
    pl.Series,
    pa.array,
    lambda values: pa.chunked_array([values]),
    np.array,
    iter,
]


@pytest.mark.parametrize("column", COLUMNS)
def test_columns_of_tables_are_lists(paths, column, tmp_path):
    assert labels_of(lambda: column(paths), labels=[*LABELS]) == LABELS
    if column is not iter:
        assert vl.ClipDataset(paths, CLIP, labels=column(LABELS)).labels == LABELS
    assert len(vl.index_dataset(column(paths), tmp_path / "set.parquet", workers=0)) == 3
    done = vl.map_clips(column(paths), len, tmp_path / "l.parquet", columns="n", workers=0)
    assert done["n"].to_pylist() == [3, 4, 5]
    assert vl.transcode(column(paths), tmp_path / "out", workers=0).written == 3


def ways(out):
    """Each function that takes videos."""
    return [
        lambda videos: vl.Loader(videos, CLIP, batch_size=1, workers=0),
        lambda videos: vl.ClipDataset(videos, CLIP),
        lambda videos: vl.index_dataset(videos, out / "set.parquet", workers=0),
        lambda videos: vl.map_clips(videos, len, out / "l.parquet", columns="n", workers=0),
        lambda videos: vl.transcode(videos, out / "out", workers=0),
    ]


@pytest.mark.parametrize("table", [*TABLES, dict])
def test_a_table_is_answered_with_its_columns(paths, table, tmp_path):
    given = table({"path": paths, "label": LABELS})
    for take in ways(tmp_path):
        with pytest.raises(
            vl.errors.ArgumentTypeError,
            match=r'columns path, label.*table\["path"\].*labels=table\["label"\].*join\(table\)',
        ):
            take(given)
    named = table({"file": paths, "n": LABELS})
    for take in ways(tmp_path) if table is not dict else []:
        with pytest.raises(
            vl.errors.ArgumentTypeError, match=r'columns file, n\).*table\["path"\]'
        ):
            take(named)


def test_what_is_no_list_of_places_is_answered_with_the_call(paths, video, index, tmp_path):
    first = vl.index_video(paths[0])
    wrong = {
        r"indexes=\{path: index\}": [[first], first],
        r"merge_datasets\(\[a.path, b.path\], out\)": [[index, index], [index.filter()]],
        r"give its path": [video, [video]],
        r"decode_batch\(\[\(bytes, frames\)\]\)": [[Path(paths[0]).read_bytes()]],
        r'\[row\["file"\] for row in rows\]': [[{"file": path, "label": 1} for path in paths]],
        r"merge_datasets": [[str(index.path), str(index.path)]],
        r"labels=": [[(path, 0, 3) for path in paths], [(path, paths[0]) for path in paths]],
    }
    for words, videos in wrong.items():
        for given in videos:
            for take in ways(tmp_path):
                with pytest.raises(vl.VideoError, match=words):
                    take(given)


@pytest.mark.parametrize("sampler", [CLIP, vl.UniformClip, [CLIP]])
def test_a_sampler_before_the_videos_is_answered_with_the_order(folder, sampler):
    for take in (
        lambda: vl.Loader(sampler, folder, batch_size=1),
        lambda: vl.ClipDataset(sampler, folder),
    ):
        with pytest.raises(
            vl.errors.ArgumentTypeError, match=r"come first, .*: Loader\(videos, RandomClip\(16\)\)"
        ):
            take()


def test_labels_are_refused_where_they_have_no_place(paths, tmp_path):
    for videos in (dict.fromkeys(paths, 0), [(path, 0) for path in paths]):
        for take in ways(tmp_path)[2:]:
            with pytest.raises(vl.errors.ArgumentTypeError, match=r"labels.*Loader"):
                take(videos)


def test_a_data_set_index_is_not_indexed_again(index, tmp_path):
    for given in (index, index.filter(min_frames=4)):
        with pytest.raises(vl.errors.ArgumentTypeError, match=r"is indexed.*\.write\(out\)"):
            vl.index_dataset(given, tmp_path / "again.parquet", workers=0)
    with pytest.raises(vl.errors.FormatError, match="open_dataset"):
        vl.index_dataset(index.path, tmp_path / "again.parquet", workers=0)


def test_another_table_is_no_data_set_index(paths, tmp_path):
    pl.DataFrame({"path": paths}).write_parquet(tmp_path / "table.parquet")
    with pytest.raises(vl.errors.FormatError, match=r"of another table give the column of paths"):
        vl.Loader(tmp_path / "table.parquet", CLIP, batch_size=1)


def test_videos_of_a_data_set_index_are_transcoded(index, tmp_path):
    assert vl.transcode(index, tmp_path / "all", workers=0).written == 3
    assert vl.transcode(index.filter(min_frames=4), tmp_path / "some", workers=0).written == 2
    (item,) = (index.item(2),)
    assert vl.transcode([item], tmp_path / "one", workers=0).written == 1


def test_items_are_indexed(index, tmp_path):
    items = [index.item(2), index.item(0)]
    made = vl.index_dataset(items, tmp_path / "items.parquet", workers=0)
    assert [made[row].num_frames for row in (0, 1)] == [5, 3]
    assert len(vl.index_dataset(items[:1], tmp_path / "item.parquet", workers=0)) == 1
    assert len(vl.index_dataset(items[0], tmp_path / "alone.parquet", workers=0)) == 1


def test_data_set_indexes_are_not_added_up(index):
    for left in (index, index.filter()):
        with pytest.raises(
            vl.errors.ArgumentTypeError, match=r"merge_datasets\(\[a.path, b.path\]"
        ):
            left + index


def test_requests_are_no_table_and_no_mapping(paths, video, index):
    first = vl.index_video(paths[0])
    wrong = {
        r"list\(mapping.items\(\)\)": [{path: [0] for path in paths}],
        r"zip\(table\[.path.\]": [table({"path": paths, "frames": [[0]] * 3}) for table in TABLES],
        r"ClipRequest\(path, frames, index=index\)": [first, [first], index.filter()],
        r"a list of clips, [^;]*; got": [None, 3, video, index],
    }
    for words, requests in wrong.items():
        for given in requests:
            with pytest.raises(vl.errors.ArgumentTypeError, match=words):
                vl.decode_batch(given, workers=0)
    pairs = {path: [0] for path in paths}.items()
    for given in (pairs, iter(pairs), [*pairs]):
        assert len(vl.decode_batch(given, workers=0).frames) == 3
