"""Samples, splits and joins of a data set; the oracles are NumPy, pandas and loops in Python."""

import os
import pickle
import posixpath
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_index import write_index

import videoloader as vl
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.indexing.dataset.dividing import (
    first_by_hash,
    parts_by_hash,
    runs_by_size,
    text_hashes,
)
from videoloader.indexing.dataset.joining import find_rows

ROWS = 3000

seeds = st.integers(-(2**70), 2**70)
parts_of_names = st.text("ab.", min_size=1, max_size=3)
paths = st.builds(
    lambda parts, start: start + "/".join(parts),
    st.lists(parts_of_names, min_size=1, max_size=4),
    st.sampled_from(["", "/", "https://host/"]),
)


def hashes_of(texts, seed=0, use=0):
    return text_hashes(pa.array(texts, pa.large_string()), seed, use)


def keys_of(videos):
    return videos.select(["key"])["key"].to_pylist()


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    path = tmp_path_factory.mktemp("chosen") / "set.parquet"
    names = [f"/data/{row % 40}/{row:05}.mp4" for row in range(ROWS)]
    error = [None if row % 7 else "broken" for row in range(ROWS)]
    columns = {"path": names, "key": names, "error": error, "num_frames": np.arange(ROWS) + 1}
    write_index(path, ROWS, columns)
    with vl.open_dataset(path) as opened:
        yield opened


@given(st.lists(st.text()), seeds)
def test_the_hash_of_a_text_depends_on_no_other_text(texts, seed):
    together = hashes_of(texts, seed).tolist()
    assert together == [int(hashes_of([text], seed)[0]) for text in texts]
    sliced = pa.array(["x", *texts, "y"], pa.large_string()).slice(1, len(texts))
    assert together == text_hashes(sliced, seed, 0).tolist()


@given(st.sets(st.text(), min_size=2), seeds)
def test_different_texts_seeds_and_uses_have_different_hashes(texts, seed):
    several = [hashes_of(sorted(texts), seed + more, use) for more in (0, 1) for use in (0, 1)]
    assert len({*np.concatenate(several).tolist()}) == 4 * len(texts)


def test_hashes_are_those_of_earlier_versions():
    """A change of these numbers would move videos between training and validation."""
    texts = ["", "a", "clips/0001.mp4", "ä" * 9]
    assert hashes_of(texts).tolist() == HASHES


# Computed with integers of Python, by SplitMix64's finaliser.
HASHES = [13013912499580732898, 9541368082571880309, 13993375137519629302, 9817811219168118565]


def test_hashes_of_like_names_are_uniform_and_independent():
    hashes = hashes_of([f"{row:06}.mp4" for row in range(100_000)])
    again = hashes_of([f"{row:06}.mp4" for row in range(100_000)], 1)
    cells = (hashes >> np.uint64(60)) * np.uint64(16) + (again >> np.uint64(60))
    counts = np.bincount(cells.astype(np.int64), minlength=256)
    # 256 cells of 390 on average; chi-squared has mean 255 and deviation 22.6.
    assert np.sum((counts - 390.625) ** 2 / 390.625) < 255 + 5 * 22.6


@given(
    st.lists(st.integers(0, 2**64 - 1), max_size=50),
    st.lists(st.floats(0.01, 1), min_size=1, max_size=4),
)
def test_each_video_is_in_one_part(hashes, weights):
    fractions = tuple(weight / max(sum(weights), 1) for weight in weights)
    parts = parts_by_hash(np.array(hashes, np.uint64), fractions)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(hashes)))
    assert len(parts) == len(fractions) + (sum(fractions) < 1 - 1e-9)
    assert all((np.diff(part) > 0).all() for part in parts)
    borders = [0.0, *np.cumsum(fractions), 1.0]
    for part, low, high in zip(parts, borders, borders[1:], strict=False):
        places = [hashes[at] / 2**64 for at in part.tolist()]
        assert all(low - 1e-9 <= place <= high + 1e-9 for place in places)


@given(st.lists(st.integers(0, 20), min_size=1), st.data())
def test_the_first_by_hash_are_those_of_a_stable_sort(hashes, data):
    count = data.draw(st.integers(0, len(hashes)))
    found = first_by_hash(np.array(hashes, np.uint64), count).tolist()
    assert found == sorted(sorted(range(len(hashes)), key=lambda at: hashes[at])[:count])


def test_parts_have_about_their_fractions_and_keep_the_order(dataset):
    train, val, test = dataset.split(0.8, 0.1, seed=3)
    rows = np.concatenate([part.rows for part in (train, val, test)])
    assert sorted(rows.tolist()) == dataset.videos.rows.tolist()
    for part, fraction in ((train, 0.8), (val, 0.1), (test, 0.1)):
        assert (np.diff(part.rows) > 0).all()
        assert abs(len(part) / len(dataset.videos) - fraction) < 0.03
    assert len(dataset.split(0.7, 0.2, 0.1)) == 3


def test_a_video_stays_in_its_part_when_others_are_added(dataset, tmp_path):
    keys = keys_of(dataset)
    more = sorted([*keys, *(f"/more/{row}.webm" for row in range(500))])
    write_index(tmp_path / "more.parquet", len(more), {"key": more, "path": more})
    train, val = dataset.split(0.9, seed=5)
    with vl.open_dataset(tmp_path / "more.parquet") as larger:
        later = {*keys_of(larger.split(0.9, seed=5)[0])}
    assert {*keys_of(train)} < later
    assert not {*keys_of(val)} & later


def test_videos_of_one_group_stay_together(dataset):
    by_folder = dataset.split(0.5, by=lambda key: Path(key).parent)
    folders = [{Path(key).parent for key in keys_of(part)} for part in by_folder]
    assert not folders[0] & folders[1]
    assert len(folders[0] | folders[1]) == 40
    groups = r"split: part [01] of 2 \(from 0\) is empty; by= gives 1 groups of 2571 videos"
    with pytest.warns(UserWarning, match=groups):
        one, other = dataset.split(0.5, by="codec")
    assert {len(one), len(other)} == {0, len(dataset.videos)}


def test_parts_split_again_are_independent_of_the_first_split_also_from_a_file(dataset, tmp_path):
    half, _ = dataset.split(0.5)
    again = half.split(0.5)
    assert all(0.4 < len(part) / len(half) < 0.6 for part in again)
    filtered = half.filter(min_frames=0).split(0.5)
    assert [part.rows.tolist() for part in filtered] == [part.rows.tolist() for part in again]
    with half.write(tmp_path / "half.parquet") as written:
        assert [keys_of(part) for part in written.split(0.5)] == [keys_of(part) for part in again]


@pytest.mark.parametrize("fractions", [(), (0.0,), (-0.1, 0.5), (0.9, 0.2), (float("nan"),)])
def test_fractions_that_are_none_are_an_error(dataset, fractions):
    with pytest.raises(ArgumentError, match="split takes the fractions"):
        dataset.split(*fractions)


def test_a_split_by_a_column_without_values_or_without_a_column_is_an_error(dataset):
    with pytest.raises(ArgumentError, match=r"00001\.mp4: has no value in column 'etag', and 2570"):
        dataset.split(0.5, by="etag")
    with pytest.raises(ArgumentError, match="no column 'speaker'"):
        dataset.split(0.5, by="speaker")


def test_a_sample_may_be_a_fraction_of_the_videos(dataset):
    count = len(dataset.videos)
    for fraction, number in ((0.0, 0), (0.5, -(-count // 2)), (1.0, count), (1e-4, 1)):
        chosen = dataset.sample(fraction, seed=3)
        assert chosen.rows.tolist() == dataset.sample(number, seed=3).rows.tolist()
    thirty = dataset.sample(30)
    assert [len(thirty.sample(n / 10)) for n in range(11)] == [3 * n for n in range(11)]
    assert len(thirty.sample(np.float64(0.5))) == 15
    for wrong in (-0.1, 1.5, float("nan")):
        with pytest.raises(ArgumentError, match="if it is a fraction, must be a number from 0 to"):
            dataset.sample(wrong)
    with pytest.raises(ArgumentTypeError, match="size of a sample must be a whole number"):
        dataset.sample("all")


def test_a_column_is_found_by_its_name(dataset):
    assert dataset["num_frames"].to_pylist() == list(range(1, ROWS + 1))  # failures too
    videos = dataset.filter(min_frames=100)
    assert videos["num_frames"].to_pylist() == (videos.rows + 1).tolist()
    joined = videos.join({"path": videos["key"], "n": videos["num_frames"]})
    assert joined["n"].to_pylist() == videos["num_frames"].to_pylist()
    for each in (dataset, videos):
        with pytest.raises(ArgumentError, match="has no column 'nope'; it has key, path"):
            each["nope"]
        for wrong in (slice(0, 2), [0, 1], 1.5, None):
            with pytest.raises(ArgumentTypeError, match="must be a whole number"):
                each[wrong]


def test_samples_are_nested_ordered_and_of_the_seed(dataset):
    small, large = dataset.sample(50), dataset.sample(400)
    assert {*small.rows} < {*large.rows} <= {*dataset.videos.rows}
    assert (np.diff(large.rows) > 0).all()
    assert large.sample(50).rows.tolist() == small.rows.tolist()
    assert {*dataset.sample(50, seed=1).rows} != {*small.rows}
    assert len(dataset.sample(0)) == 0
    assert len(dataset.sample(len(dataset.videos))) == len(dataset.videos)
    train, val = large.split(0.5)  # what is sampled is no end of what a split takes
    assert min(len(train), len(val)) > 150
    for count in (-1, len(dataset.videos) + 1):
        with pytest.raises(ArgumentError, match=f"from 0 to 2571, got {count}"):
            dataset.sample(count)


def test_select_gives_the_columns_of_the_videos_in_their_order(dataset):
    videos = dataset.filter(min_frames=100).sample(20)
    table = videos.select(["num_frames", "key"])
    assert table.column_names == ["num_frames", "key"]
    assert table["num_frames"].to_pylist() == (videos.rows + 1).tolist()
    assert dataset.select(["key"])[0].to_pylist() == [dataset.key(r) for r in dataset.videos.rows]
    assert videos.select().column_names == dataset.table.column_names
    with pytest.raises(ArgumentError, match="no column 'length'; it has key, path"):
        dataset.select(["length"])


def longest_end(path, known):
    """The law in plain Python: the longest end, whole or without its ending."""
    while True:
        for name in (path, posixpath.splitext(path)[0]):
            if name in known:
                return name
        _, slash, path = path.partition("/")
        if not slash:
            return None


@settings(max_examples=300)
@given(st.lists(paths, max_size=8), st.sets(st.one_of(paths, parts_of_names), max_size=8))
def test_rows_are_found_by_the_longest_end_of_a_path_or_by_its_stem(names, known):
    known = sorted(known)
    places, keys = pa.array(names, pa.string()), pa.array(known, pa.string())
    expected = [-1 if (end := longest_end(n, known)) is None else known.index(end) for n in names]
    assert find_rows(places, keys, "path").tolist() == expected
    stems = [os.path.splitext(os.path.basename(name))[0] for name in names]
    expected = [known.index(stem) if stem in known else -1 for stem in stems]
    assert find_rows(places, keys, "stem").tolist() == expected
    assert find_rows(places, keys, lambda path: Path(path).parent.name).tolist() == [
        known.index(parent) if (parent := Path(name).parent.name) in known else -1 for name in names
    ]


@settings(max_examples=30, deadline=None)
@given(
    st.sets(st.integers(0, ROWS + 50), max_size=60),
    st.randoms(use_true_random=False),
    st.sampled_from(["drop", "null"]),
)
def test_a_join_is_that_of_pandas(dataset, numbers, random, missing):
    pd = pytest.importorskip("pandas")
    numbers = list(numbers)
    random.shuffle(numbers)
    captions = pd.DataFrame(
        {"stem": [f"{number:05}" for number in numbers], "score": [n * 0.5 for n in numbers]}
    )
    left = dataset.select(["key"]).to_pandas()
    left["stem"] = [Path(key).stem for key in left["key"]]
    expected = left.merge(captions, on="stem", how="left" if missing == "null" else "inner")
    joined = dataset.join(captions, on="stem", missing=missing).select(["key", "score"])
    assert joined["key"].to_pylist() == expected["key"].tolist()
    found = joined["score"].to_pandas().to_numpy()
    np.testing.assert_array_equal(found, expected["score"].to_numpy())


def table_of(videos):
    stems = [Path(key).stem for key in keys_of(videos)]
    return pa.table({"stem": stems, "caption": [f"of {stem}" for stem in stems]})


def as_csv(table, folder):
    pa.csv.write_csv(table, folder / "captions.csv")
    return folder / "captions.csv"


def as_parquet(table, folder):
    pq.write_table(table, folder / "captions.parquet")
    return str(folder / "captions.parquet")


def as_pandas(table, folder):
    pytest.importorskip("pandas")
    return table.to_pandas().set_index("stem")


def as_polars(table, folder):
    return pytest.importorskip("polars").from_arrow(table)


@pytest.mark.parametrize(
    "made",
    [
        *(as_csv, as_parquet, as_pandas, as_polars),
        lambda table, _: table.to_pydict(),
        lambda table, _: table.to_pylist(),
    ],
)
def test_tables_of_all_kinds_are_joined(dataset, tmp_path, made):
    videos = dataset.sample(30)
    joined = videos.join(made(table_of(videos), tmp_path), on="stem")
    assert joined.rows.tolist() == videos.rows.tolist()
    table = joined.select(["key", "caption"]).to_pylist()
    assert all(row["caption"] == f"of {Path(row['key']).stem}" for row in table)
    assert joined.column_names == [*dataset.column_names, "caption"]


def test_errors_of_the_job_that_wrote_a_table_stay_in_it(dataset):
    videos = dataset.sample(30)
    keys = videos.select(["key"])["key"].to_pylist()
    failed = ["it is damaged", *[None] * 29]
    table = {"key": keys, "score": [0.5] * 30, "error": failed, "error_kind": failed}
    joined = videos.join(table, key="key")
    assert joined.column_names == [*dataset.column_names, "score"]
    assert joined.select(["error"])["error"].null_count == 30
    with pytest.raises(ArgumentError, match="column 'error' cannot be added"):
        videos.join(table, key="key", columns=["error"])


def test_joined_columns_go_with_every_further_choice_and_into_files(dataset, tmp_path):
    joined = dataset.join(table_of(dataset), on="stem").join(
        {"file": [f"{row:05}.mp4" for row in range(ROWS)], "score": range(ROWS)},
        on=lambda path: path.rpartition("/")[2],
        key="file",
    )
    (part, _) = joined.filter(pc.field("score") >= 1000, min_frames=5).split(0.5, by="caption")
    part = part.sample(100)
    with part.write(tmp_path / "part.parquet") as written:
        for videos in (part, written.videos):
            rows = videos.select(["score", "caption", "key"]).to_pylist()
            assert len(rows) == 100
            for row in rows:
                assert row["key"].endswith(f"/{row['score']:05}.mp4")
                assert row["caption"] == f"of {row['score']:05}"
        assert written.filter(pc.field("score") < 2000).rows.tolist() == [
            at for at, row in enumerate(written.table.to_pylist()) if row["score"] < 2000
        ]


def test_a_list_of_ids_in_names_of_files_is_joined_by_a_function(tmp_path):
    """As of Kinetics: `youtube_id,label`, files called `ID_000012_000022.mp4`."""
    ids = [f"{row:011}" for row in range(47)]
    names = [f"/k400/train/{name}_000012_000022.mp4" for name in ids]
    write_index(tmp_path / "set.parquet", 47, {"key": names, "path": names})
    lines = [f"{label},{name}" for name, label in zip(ids, "ab" * 24, strict=False)]
    (tmp_path / "train.csv").write_text("\n".join(["label,youtube_id", *lines]) + "\n")
    with vl.open_dataset(tmp_path / "set.parquet") as videos:
        told = "47 of 47 videos have no row, the first is /k400.* on=lambda path"
        with pytest.raises(ArgumentError, match=told):
            videos.join(tmp_path / "train.csv", key="youtube_id")
        joined = videos.join(
            tmp_path / "train.csv", key="youtube_id", on=lambda path: Path(path).stem[:11]
        )
        assert joined.select(["label"])[0].to_pylist() == list("ab" * 24)[:47]


def test_videos_without_a_row_are_an_error_or_logged(dataset, caplog):
    videos = dataset.sample(10)
    table = pa.concat_tables([table_of(videos).slice(4), table_of(dataset.sample(11))[-1:]])
    table = pa.concat_tables([table, pa.table({"stem": ["of nobody"], "caption": ["x"]})])
    table = table.group_by(["stem", "caption"]).aggregate([])
    known = {*table["stem"].to_pylist()}
    absent = sum(Path(key).stem not in known for key in keys_of(videos))
    told = f"the table: {absent} of 10 videos have no row, the first is /data/"
    with pytest.raises(ArgumentError, match=told):
        videos.join(table, on="stem")
    caplog.set_level("INFO", "videoloader")
    left = videos.join(table, on="stem", missing="drop")
    assert len(left) == 10 - absent
    assert told in caplog.text
    assert "rows are of no video here" in caplog.text
    nulls = videos.join(table, on="stem", missing="null").select(["caption"])[0]
    assert nulls.null_count == absent
    assert "their values are null" in caplog.text


@pytest.mark.parametrize(
    ("table", "options", "error", "words"),
    [
        (
            {"stem": ["1"], "codec": ["x"]},
            {"on": "stem", "columns": "codec"},
            ArgumentError,
            "column 'codec' already",
        ),
        ({"stem": ["1"], "Codec": ["x"]}, {"on": "stem"}, ArgumentError, "column 'codec' already"),
        ({"stem": ["1"], "a": [1], "A": [2]}, {"on": "stem"}, ArgumentError, "'a' already"),
        ({"id": ["1"]}, {"on": "stem"}, ArgumentError, "'stem'; it has id; key= names"),
        ({"stem": ["1"]}, {"on": "stem", "columns": ["a"]}, ArgumentError, "no column 'a'"),
        ({"stem": ["1"]}, {"on": "name", "key": "stem"}, ArgumentError, "on must be 'path'"),
        ({"stem": ["1"]}, {"on": len}, ArgumentError, "needs key="),
        ({"stem": ["1"]}, {"on": "stem", "missing": "no"}, ArgumentError, "missing must be"),
        ({"stem": ["1", "1"], "a": [1, 2]}, {"on": "stem"}, ArgumentError, "several rows for '1'"),
        ({"stem": ["1", "1"], "a": [[1], [1]]}, {"on": "stem"}, ArgumentError, "several rows"),
        ({"0": ["1"]}, {"on": lambda path: None, "key": "0"}, ArgumentError, "on= gave None for /"),
        (3, {}, ArgumentTypeError, "a table is the path of"),
        ("none.csv", {}, vl.errors.SourceError, r"none\.csv: no such file"),
    ],
)
def test_what_cannot_be_joined_is_an_error(dataset, table, options, error, words):
    with pytest.raises(error, match=words):
        dataset.join(table, **options)


def test_columns_of_the_data_set_are_left_out_where_they_are_the_same(dataset):
    videos = dataset.sample(10)
    own = videos.select(["key", "path", "member"]).append_column("row", pa.array(videos.rows))
    scores = pa.array(range(10))
    table = own.append_column("score", scores).take(pa.array([*range(9, -1, -1)]))
    joined = videos.join(table, key="key")
    assert joined.column_names == [*videos.column_names, "score"]
    assert joined.select(["score"])[0].to_pylist() == [*range(10)]
    assert len(videos.join(table[:4], key="key", missing="drop")) == 4
    with pytest.raises(ArgumentError, match="column 'row' already"):
        videos.join(table, key="key", columns=["row", "score"])
    for column, value in {"row": 10**6, "path": "elsewhere"}.items():
        changed = pa.array([*table[column].to_pylist()[1:], value])
        with pytest.raises(ArgumentError, match=f"column '{column}' already"):
            videos.join(table.drop_columns([column]).append_column(column, changed), key="key")


def test_lists_and_categories_of_polars_are_joined(dataset):
    polars = pytest.importorskip("polars")
    names = [Path(key).stem for key in keys_of(dataset)]
    tags = polars.Series([["x", name] for name in names])
    kind = polars.Series(["a"] * len(names), dtype=polars.Categorical)
    table = polars.DataFrame({"stem": names, "tags": tags, "kind": kind})
    joined = dataset.join(table, on="stem").select(["tags", "kind"])
    assert joined["tags"].to_pylist() == [["x", name] for name in names]
    assert joined["kind"].to_pylist() == ["a"] * len(names)


def test_one_column_may_be_named_as_a_text(dataset):
    names = [Path(key).stem for key in keys_of(dataset)]
    joined = dataset.join({"stem": names, "score": names}, on="stem", columns="score")
    assert joined.select("score").column_names == ["score"]


@pytest.mark.parametrize(
    "choose",
    [
        lambda videos: videos.sample("3"),
        lambda videos: videos.sample(3, seed=1.5),
        lambda videos: videos.split(0.5, seed="1"),
        lambda videos: videos.query(None),
    ],
)
def test_numbers_and_texts_of_other_types_are_an_error(dataset, choose):
    with pytest.raises(ArgumentTypeError, match="got"):
        choose(dataset)


def test_a_function_to_split_by_gives_a_value_for_each_video(dataset):
    with pytest.raises(ArgumentError, match=r"by= gave None for /data/"):
        dataset.split(0.5, by=lambda key: None if "00008" in key else key)


def test_a_stem_is_behind_the_last_slash_also_where_folders_have_line_breaks():
    assert find_rows(pa.array(["/a\nb/c.mp4"]), pa.array(["c"]), "stem").tolist() == [0]
    assert find_rows(pa.array(["/a\nb/c/d.mp4"]), pa.array(["x", "c/d"]), "path").tolist() == [1]


def test_keys_may_have_more_slashes_than_an_expression_can_count():
    deep = "a/" * 1001 + "b"
    assert find_rows(pa.array([f"/x/{deep}"]), pa.array([deep]), "path").tolist() == [0]


def test_a_row_stands_for_several_videos_only_by_a_function(tmp_path):
    names = ["/a/1.mp4", "/b/1.mp4"]
    write_index(tmp_path / "set.parquet", 2, {"key": names, "path": names})
    table = {"stem": ["1", "1"], "caption": ["x", "x"]}  # repeated, but the same
    with vl.open_dataset(tmp_path / "set.parquet") as videos:
        for on in ("stem", "path"):
            with pytest.raises(ArgumentError, match=r"'1' stands for /a/1\.mp4 and /b/1\.mp4"):
                videos.join(table, on=on, key="stem")
        both = videos.join(table, on=lambda path: Path(path).stem, key="stem")
        assert both.select(["caption"])[0].to_pylist() == ["x", "x"]


def test_a_part_is_not_written_over_its_data_set(dataset):
    with pytest.raises(ArgumentError, match="is the data set itself"):
        dataset.sample(3).write(dataset.path)


@given(st.lists(st.integers(0, 1000), max_size=60), st.integers(1, 80))
def test_runs_by_size_have_all_in_order_and_none_exceeds_its_share_by_more_than_an_element(
    sizes, count
):
    runs = [run.tolist() for run in runs_by_size(np.array(sizes, np.int64), count)]
    assert [place for run in runs for place in run] == [*range(len(sizes))]
    assert len(runs) <= count
    assert all(runs)
    known = [max(size, 1) for size in sizes]
    share = sum(known) / count
    for run in runs:
        assert sum(known[place] for place in run) <= share + max(known) + 1e-6


def test_partitions_pickle_with_their_rows_and_their_part_of_joined_columns(dataset):
    keys = keys_of(dataset)
    captions = {"path": keys, "caption": [f"of {key}" for key in keys]}
    videos = dataset.filter(min_frames=100).join(captions)
    parts = [pickle.loads(pickle.dumps(part)) for part in videos.partitions(7)]
    assert len(parts) == 7
    found = [row for part in parts for row in part.select(["key", "caption"]).to_pylist()]
    assert found == videos.select(["key", "caption"]).to_pylist()
    assert np.concatenate([part.rows for part in parts]).tolist() == videos.rows.tolist()
    assert max(len(pickle.dumps(part)) for part in videos.partitions(100)) < 10_000
    assert [len(part) for part in dataset.filter(max_frames=3).partitions(9)] == [1, 1]
    for wrong in (0, -1, 1.5):
        with pytest.raises((ArgumentError, ArgumentTypeError), match="number of partitions"):
            dataset.partitions(wrong)
