"""The page of a data set, read as JSON and opened in a real browser."""

import json
import os
import re
import shutil
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from chromium import Page, needs_chromium
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.datasets.report.page import render_page, write_report
from videoloader.decoding.check import check_dataset
from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset import query_rows, write_part
from videoloader.indexing.dataset.skipped import Skipped
from videoloader.video import Video

pytestmark = pytest.mark.usefixtures("forked_workers")

HOSTILE = (
    "</script><script>document.title = 'bad'</script>.mp4",
    "<img src=x onerror=\"document.title='bad'\">.mp4",
    "line\nbreak.mp4",
    "quote'\"&amp;.mp4",
    b"not utf-8 \xff\xfe.mp4",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Videos of three codecs, one of them damaged, and files with hostile names."""
    folder = tmp_path_factory.mktemp("videos")
    for number, codec in enumerate(("libx264", "libx265", "mpeg4", "libx264")):
        encode_video(folder / f"{number}.mp4", codec=codec, frames=20 + number, size=(64, 48))
    data = (folder / "0.mp4").read_bytes()
    (folder / "3.mp4").write_bytes(data[: len(data) // 8])
    for name in HOSTILE:
        place = (
            bytes(folder)
            + b"/"
            + (name if isinstance(name, bytes) else name.replace("/", "\u2215").encode())
        )
        with open(place, "wb") as file:
            file.write(data)
    return folder


@pytest.fixture(scope="module")
def dataset(folder, tmp_path_factory):
    with vl.index_dataset(folder, tmp_path_factory.mktemp("set") / "set.parquet", 0) as dataset:
        yield dataset


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(found[1])


def column(data, name):
    found = next(each for each in data["columns"] if each["name"] == name)
    if "words" in found:
        return [found["words"][value] for value in found.get("values", [0] * data["rows"])]
    return found["values"]


def test_the_page_holds_every_row_and_its_totals(dataset, tmp_path):
    path = write_report(dataset, tmp_path / "report", pictures=2, workers=0)
    data = data_of(path.read_text())
    assert data["rows"] == len(dataset) == 4 + len(HOSTILE)
    assert column(data, "key") == dataset.keys
    table = dataset.table
    assert column(data, "num_frames") == table["num_frames"].to_pylist()
    assert column(data, "codec") == table["codec"].to_pylist()
    assert column(data, "error") == table["error"].to_pylist()
    for name in ("fps", "duration", "has_audio"):
        assert column(data, name) == table[name].to_pylist()
    assert dict(data["totals"])["videos"] == str(len(dataset.videos))
    assert dict(data["totals"])["files that cannot be read"] == "1"
    assert len(data["pictures"]) == 2
    assert all({"timeline", "sheet"} == {*each} for each in data["pictures"].values())


def test_a_report_goes_on_where_it_was_stopped_and_is_the_same_from_processes(
    dataset, tmp_path, monkeypatch
):
    whole = write_report(dataset, tmp_path / "whole", workers=0).read_text()

    def interrupt(done, *_):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_report(dataset, tmp_path / "report", workers=0, progress=interrupt)
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["index.html.journal"]
    made = []
    monkeypatch.setattr(Video, "__enter__", lambda video: made.append(video.name) or video)
    assert write_report(dataset, tmp_path / "report", workers=0).read_text() == whole
    assert len(made) == len(dataset.videos) - 3
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["index.html"]
    assert write_report(dataset, tmp_path / "other", workers=2).read_text() == whole
    assert len(made) == len(dataset.videos) - 3  # the rest was made by processes


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (["a"], pa.list_(pa.string())),
        ([1, 2], pa.list_(pa.int8(), 2)),
        ({"a": 1}, pa.struct({"a": pa.int8()})),
        ([("a", 1)], pa.map_(pa.string(), pa.int8())),
        (b"\xff", pa.binary()),
    ],
)
def test_a_page_leaves_out_columns_that_are_no_text_or_number(dataset, tmp_path, value, kind):
    count = len(dataset)
    values = {"x": pa.array([value] * count, kind), "y": ["z"] * count}
    joined = dataset.join(pa.table({"path": dataset.table["key"], **values}))
    with joined.write(tmp_path / "a.parquet") as written:
        data = data_of(render_page(written, pictures={}))
    names = [each["name"] for each in data["columns"]]
    assert "x" in written.column_names
    assert "x" not in names
    assert {*column(data, "y")} == {"z"}


def test_the_page_names_what_was_skipped(folder, tmp_path):
    place = tmp_path / "videos"
    place.mkdir()
    shutil.copy(folder / "0.mp4", place)
    (place / "more.tar.gz").touch()
    with vl.index_dataset(place, tmp_path / "set.parquet", 0) as dataset:
        skipped = data_of(render_page(dataset, pictures={}))["skipped"]
    assert skipped["text"].startswith("1 compressed archives")
    assert [path for path, _ in skipped["paths"]] == ["more.tar.gz"]


@pytest.mark.parametrize("kind", ["no Parquet", "other columns", "other types", "a folder"])
def test_a_damaged_report_of_damage_is_an_error_of_ours(dataset, tmp_path, kind):
    index = tmp_path / "set.parquet"
    index.write_bytes(dataset.path.read_bytes())
    beside = tmp_path / "set.damage.parquet"
    match kind:
        case "no Parquet":
            beside.write_bytes(b"nothing")
        case "other columns":
            pq.write_table(pa.table({"key": ["a"]}), beside)
        case "other types":
            pq.write_table(pa.table({"key": ["a"], "frames": ["x"], "reason": [""]}), beside)
        case "a folder":
            beside.mkdir()
    told = CliRunner().invoke(app, ["report", str(index), "-o", str(tmp_path / "out")])
    assert told.exit_code == 2
    assert "no report of `videoloader check`" in told.output


@pytest.mark.parametrize("rooted", [True, False])
def test_damaged_frames_and_reasons_are_columns(folder, tmp_path, rooted):
    place = tmp_path / "videos"
    place.mkdir()
    encode_video(place / "sound.mp4", frames=60, size=(320, 240))
    shutil.copy(folder / "3.mp4", place / "truncated.mp4")
    data = bytearray((place / "sound.mp4").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 2000] = bytes(2000)
    (place / "damaged.mp4").write_bytes(data)
    sources = place if rooted else [place / name for name in sorted(os.listdir(place))]
    with vl.index_dataset(sources, tmp_path / "set.parquet", 0) as dataset:
        assert (dataset.root is not None) == rooted
        names = [key.rpartition("/")[2] for key in dataset.keys]
        damage = check_dataset(dataset, tmp_path / "set.damage.parquet", workers=0)
        lost = sum(map(len, damage["frames"].to_pylist()))
        assert 0 < lost < 60
    arguments = ["report", str(tmp_path / "set.parquet"), "-o", str(tmp_path / "out")]
    told = CliRunner().invoke(app, [*arguments, "--pictures", "0", "--workers", "0"])
    assert told.exit_code == 0, told.output
    data = data_of((tmp_path / "out/index.html").read_text())
    counts = dict(zip(names, column(data, "damaged_frames"), strict=True))
    assert counts == {"sound.mp4": None, "truncated.mp4": None, "damaged.mp4": lost}
    reasons = dict(zip(names, column(data, "failure_reason"), strict=True))
    assert reasons["sound.mp4"] is None
    assert "moov" in reasons["truncated.mp4"]
    assert reasons["damaged.mp4"]
    for text in (reasons["truncated.mp4"], reasons["damaged.mp4"]):
        assert not re.search(r"truncated.mp4|damaged.mp4|[0-9]", text)


def test_several_causes_of_damage_are_added_up(dataset):
    keys = dataset.keys
    damage = pa.table(
        {
            "key": [keys[0], keys[0], keys[1], keys[1]],
            "frames": [[3, 4], [7], [5], []],
            "reason": ["packet 3 is damaged", "no", "no", "no"],
        }
    )
    data = data_of(render_page(dataset, pictures={}, damage=damage))
    assert column(data, "damaged_frames") == [3, -1, *[None] * (len(keys) - 2)]
    assert column(data, "failure_reason")[0] == "packet … is damaged"


@pytest.mark.parametrize("named", [(), ("3.mp4",)])
def test_a_data_set_without_a_video_has_a_report_and_a_check(folder, tmp_path, named):
    """With no row at all, or with a failure only."""
    with vl.index_dataset(folder, tmp_path / "all.parquet", 0) as dataset:
        rows = [row for row in range(len(dataset)) if dataset.item(row).name.endswith(named or "?")]
        write_part(dataset, np.array(rows, np.int64), tmp_path / "set.parquet")
    with vl.open_dataset(tmp_path / "set.parquet") as dataset:
        assert len(dataset) == len(named)
        damage = check_dataset(dataset, tmp_path / "damage.parquet")
        assert len(damage) == len(pq.read_table(tmp_path / "damage.parquet")) == 0
        page = write_report(dataset, tmp_path / "report", damage=damage).read_text()
    data = data_of(page)
    assert dict(data["totals"])["videos"] == "0"
    assert column(data, "damaged_frames") == [None] * len(named)
    assert next(c for c in data["columns"] if c["name"] == "damaged_frames")["kind"] == "number"
    result = CliRunner().invoke(app, ["check", str(tmp_path / "set.parquet")])
    assert (result.exit_code, "0 videos decoded, 0 damaged" in result.output) == (0, True)


def test_pictures_of_a_video_that_is_gone_are_an_error_in_the_page(folder, tmp_path):
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    with vl.index_dataset(copied / "1.mp4", tmp_path / "set.parquet", 0) as dataset:
        (copied / "1.mp4").unlink()
        data = data_of(write_report(dataset, tmp_path / "report", workers=0).read_text())
    assert "1.mp4" in data["pictures"]["0"]["failure"]


def test_too_many_rows_are_refused():
    many = type("Many", (), {"__len__": lambda self: 500_001, "path": "set.parquet"})()
    with pytest.raises(vl.errors.ArgumentError, match="500,000 rows"):
        render_page(many, pictures={})


def test_the_command_writes_the_page(folder, tmp_path):
    made = CliRunner().invoke(app, ["index", str(folder), "-o", str(tmp_path / "set.parquet")])
    assert made.exit_code == 1  # one video is damaged
    arguments = ["report", str(tmp_path / "set.parquet"), "-o", str(tmp_path / "out")]
    told = CliRunner().invoke(app, [*arguments, "--pictures", "1", "--workers", "0"])
    assert told.exit_code == 0, told.output
    assert "index.html" in told.output
    assert len(data_of((tmp_path / "out/index.html").read_text())["pictures"]) == 1


@needs_chromium
def test_hostile_names_are_text_in_a_browser(dataset, tmp_path):
    path = write_report(dataset, tmp_path / "report", workers=0)
    with Page() as page:
        page.open(path.as_uri())
        assert page.run("document.title") == "videoloader report"
        shown = page.run(
            "[...document.querySelectorAll('.row > :first-child')].map(x => x.textContent)"
        )
        assert shown == dataset.keys
        for row in range(len(dataset)):
            page.run(f"pick({row})")
        assert page.run("document.title") == "videoloader report"
        assert page.errors == []
        assert [each for each in page.requests if not each.startswith(("file:", "data:"))] == []


@needs_chromium
def test_a_browser_filters_sorts_and_shows_a_video(dataset, tmp_path):
    path = write_report(dataset, tmp_path / "report", workers=0)
    table = dataset.table

    def rows(page):
        return page.run("Array.from(order)")

    with Page() as page:
        page.open(path.as_uri())
        for text, wanted in (
            ("codec:h264", [c == "h264" for c in table["codec"].to_pylist()]),
            (
                "num_frames>=21",
                [n is not None and n >= 21 for n in table["num_frames"].to_pylist()],
            ),
            ("error!=none", [e is not None for e in table["error"].to_pylist()]),
            (
                "codec!=h264 num_frames<22",
                [
                    c != "h264" and n is not None and n < 22
                    for c, n in zip(
                        table["codec"].to_pylist(), table["num_frames"].to_pylist(), strict=True
                    )
                ],
            ),
            ("NOT utf", ["not" in key and "utf" in key for key in dataset.keys]),
            ('"quote\'""&"', ["quote'\"&" in key for key in dataset.keys]),
        ):
            page.run(f"filterBy({json.dumps(text)})")
            assert rows(page) == np.flatnonzero(wanted).tolist()
            assert any(wanted)
        page.run("filterBy('')")
        place = page.run("visible().findIndex((each) => each.name === 'num_frames')")
        for sign in (1, -1):
            page.run(f"document.getElementById('head').children[{place}].click()")
            numbers = table["num_frames"].to_pylist()
            expected = sorted(
                range(len(dataset)),
                key=lambda row: (numbers[row] is None, sign * (numbers[row] or 0), row),
            )
            assert rows(page) == expected
        page.run("document.getElementById('table').focus()")
        page.press("ArrowDown")
        assert page.run("picked") == rows(page)[0]
        page.wait("document.querySelectorAll('#panel img').length === 2")
        assert page.run("document.querySelectorAll('#panel img')[1].naturalWidth") > 100
        page.press("Escape")
        assert page.run("document.getElementById('panel').hidden")
        page.press("/")
        assert page.run("document.activeElement.id") == "filter"
        assert page.errors == []


def synthetic(count, path):
    """A data set of videos that are not there, as far as a page asks for it."""
    rng = np.random.default_rng(3)
    names = [f"folder {n % 97}/video {n:06}.mp4" for n in rng.permutation(count).tolist()]
    frames = rng.integers(1, 10_000, count)
    table = pa.table(
        {
            "key": names,
            "codec": rng.choice(["h264", "hevc", "av1"], count),
            "container": ["mp4"] * count,
            "error": pa.nulls(count, pa.string()),
            "error_kind": pa.nulls(count, pa.string()),
            "width": rng.integers(100, 4000, count),
            "height": rng.choice([240, 480, 720, 1080], count),
            "num_frames": frames,
            "num_keyframes": frames // 30 + 1,
            "fps": pa.array(rng.uniform(10, 60, count), mask=rng.random(count) < 0.1),
            "duration": rng.lognormal(3, 2, count),
            "size": rng.integers(1000, 10**9, count),
        }
    )
    dataset = type("Synthetic", (), {"__len__": lambda self: count})()
    dataset.path, dataset.table, dataset.skipped = path, table, Skipped()
    return dataset


@needs_chromium
def test_charts_show_what_is_filtered_over_all(tmp_path):
    dataset = synthetic(3000, tmp_path / "set.parquet")
    path = tmp_path / "index.html"
    path.write_text(render_page(dataset, pictures={}))
    frame = dataset.table.to_pandas()

    def bars(page, label):
        """(kept, all) of each bar, from what its tooltip says."""
        titles = page.run(
            "[...document.querySelectorAll('#charts .card')]"
            f".find((each) => each.querySelector('h2').textContent === '{label}')"
            ".querySelectorAll('button').values().map((each) => each.title).toArray()"
        )
        found = [re.fullmatch(r".*: ([0-9,]+)(?: of ([0-9,]+))?", title) for title in titles]
        return [[int((n or each[1]).replace(",", "")) for n in each.groups()] for each in found]

    with Page() as page:
        page.open(path.as_uri())
        # One value is a line, and the table is on the first screen.
        assert page.run("document.getElementById('same').textContent") == "container: mp43,000"
        assert page.run("document.getElementById('table').getBoundingClientRect().top") < 500
        page.run("filterBy('codec:av1 num_frames>5000')")
        kept = frame[(frame.codec == "av1") & (frame.num_frames > 5000)]
        assert page.run("document.getElementById('count').textContent").startswith(
            f"{len(kept)} of"
        )
        for label, name in (("height", "height"), ("codec", "codec")):
            counts = frame[name].value_counts()
            expected = [(int((kept[name] == value).sum()), n) for value, n in counts.items()]
            assert sorted(map(tuple, bars(page, label))) == sorted(expected)
        for label, name in (("seconds", "duration"), ("frames/s", "fps"), ("bytes", "size")):
            found = np.array(bars(page, label))
            assert len(found) == 24
            assert found.sum(axis=0).tolist() == [kept[name].count(), frame[name].count()]
        page.run("filterBy('')")
        assert bars(page, "bytes") == [[n, n] for n, _ in bars(page, "bytes")]
        assert page.errors == []


@needs_chromium
@pytest.mark.parametrize(("label", "name"), [("seconds", "duration"), ("frames/s", "fps")])
def test_a_range_that_is_drawn_on_a_chart_filters(tmp_path, label, name):
    dataset = synthetic(3000, tmp_path / "set.parquet")
    path = tmp_path / "index.html"
    path.write_text(render_page(dataset, pictures={}))
    column = dataset.table[name].to_numpy()
    chart = (
        "[...document.querySelectorAll('#charts .card')]"
        f".find((each) => each.querySelector('h2').textContent === '{label}')"
    )
    with Page() as page:
        page.open(path.as_uri())
        left, top, width, height = page.run(
            f"(() => {{ const box = {chart}.querySelector('.bars').getBoundingClientRect();"
            "return [box.left, box.top, box.width, box.height]; })()"
        )

        def at(bar):
            return left + (bar + 0.5) * width / 24, top + height - 3

        numbers = [
            int(title.rpartition(": ")[2])
            for title in page.run(
                f"[...{chart}.querySelectorAll('.bars button')].map((each) => each.title)"
            )
        ]
        page.run("filterBy('codec:h264')")
        for start, stop in ((5, 9), (9, 5), (0, 3), (20, 23), (7, 7)):
            page.drag(at(start), at(stop))
            text = page.run("document.getElementById('filter').value")
            assert text.startswith("codec:h264 ")
            page.run("filterBy(document.getElementById('filter').value.replace('codec:h264 ', ''))")
            bars = slice(min(start, stop), max(start, stop) + 1)
            assert page.run("order.length") == sum(numbers[bars])
            # The condition in the filter is the range: no other rows meet it.
            low, high = -np.inf, np.inf
            for sign, bound in re.findall(rf"{name}(>=|<)(\S+)", text):
                low, high = (float(bound), high) if sign == ">=" else (low, float(bound))
            assert (
                page.run("Array.from(order)")
                == np.flatnonzero((column >= low) & (column < high)).tolist()
            )
            page.run("filterBy('codec:h264')")
        page.drag(at(0), at(23))
        assert page.run("document.getElementById('filter').value") == f"codec:h264 {name}!=none"
        page.drag(at(0), at(23))
        assert page.run("document.getElementById('filter').value") == "codec:h264"
        page.run(f"{chart}.querySelectorAll('.bars button')[6].focus()")
        page.press("Enter")
        assert f"{name}>=" in page.run("document.getElementById('filter').value")
        assert page.errors == []


@needs_chromium
def test_failures_are_a_view_of_their_own(folder, tmp_path):
    place = tmp_path / "videos"
    place.mkdir()
    shutil.copy(folder / "0.mp4", place)
    for number, size in enumerate((400, 500, 600)):
        data = (folder / "0.mp4").read_bytes()
        (place / f"truncated {number}.mp4").write_bytes(data[: len(data) - size])
    (place / "empty.mp4").touch()
    (place / "more.tar.gz").touch()
    with vl.index_dataset(place, tmp_path / "set.parquet", 0) as dataset:
        path = write_report(dataset, tmp_path / "report", pictures=0, workers=0)
        failed = dataset.failed.tolist()
        empty = dataset.keys.index("empty.mp4")
    bars = (
        "[...document.querySelectorAll('#failures button')]"
        ".map((each) => [...each.children].map((part) => part.textContent))"
    )
    with Page() as page:
        page.open(path.as_uri())
        assert page.run("document.getElementById('failures').offsetHeight") == 0
        tab = "document.querySelectorAll('#views button')[1]"
        assert page.run(f"{tab}.textContent") == "failures: 4, and skipped files"
        page.run(f"{tab}.click()")
        assert page.run("document.getElementById('charts').offsetHeight") == 0
        assert page.run("Array.from(order)") == failed
        (common, number), other = page.run(bars)
        assert number == "3"
        assert "truncated" in common
        assert "…" in common
        assert other == ["the file is empty", "1"]
        page.run("document.querySelectorAll('#failures button')[1].click()")
        assert page.run("Array.from(order)") == [empty]
        assert page.run(bars)[0] == [common, "0 of 3"]
        assert "more.tar.gz" in page.run("document.getElementById('skipped').textContent")
        page.wait("location.hash.includes('view=failures')")
        address = page.run("location.href")
        page.run("document.querySelectorAll('#views button')[0].click()")
        assert page.run("document.getElementById('failures').offsetHeight") == 0
        assert page.errors == []
    with Page() as page:
        page.open(address)
        assert page.run("document.getElementById('failures').offsetHeight") > 0
        assert page.run("Array.from(order)") == [empty]
        assert page.run("sql(wanted())") == f"error is not null and row in ({empty})"


@needs_chromium
def test_the_address_holds_the_view(dataset, tmp_path):
    path = write_report(dataset, tmp_path / "report", pictures=0, workers=0)
    view = (
        "[document.getElementById('filter').value, Array.from(order), picked,"
        "[...document.getElementById('head').children].map((each) => each.textContent),"
        "document.getElementById('panel').hidden]"
    )
    hostile = dataset.keys.index(HOSTILE[1])
    with Page() as page:
        page.open(path.as_uri())
        first = page.run(view)
        page.run("filterBy('codec:h264 num_frames>=20'); sortBy(byName.get('key'))")
        page.run("sortBy(byName.get('key'))")
        for name in ("codec", "size"):
            page.run(
                "[...document.querySelectorAll('#columns label')]"
                f".find((each) => each.textContent === byName.get('{name}').label).click()"
            )
        page.run(f"pick({hostile})")
        page.wait("location.hash.includes('video=')")
        shared, address = page.run(view), page.run("location.href")
        assert shared != first
        assert "video ▼" in shared[3]
        assert not {"codec", "bytes"} & {*shared[3]}
    with Page() as page:
        page.open(address)
        assert page.run(view) == shared
        page.run("location.hash = ''")  # as when going back
        page.wait("picked === null")
        assert page.run(view) == first
        page.run("location.hash = '#sort=nothing&column=none&video=none&filter=codec%3Ah264'")
        page.wait("document.getElementById('filter').value === 'codec:h264'")
        assert page.run(view)[2:] == [None, first[3], True]
        assert page.errors == []


FILTERS = (
    "",
    "codec:H264",
    "codec!=h264",
    "error!=none",
    "error:none num_frames>=21",
    "num_frames!=21",
    "num_frames:21",
    "size>=1,000 duration<0.9",
    "has_audio:no",
    "has_audio!=yes",
    "has_audio:none",
    "is_hdr:perhaps",
    "NOT utf",
    '"quote\'""&"',
    "<script>",
    "100%_",
    "max_gap>0.03",
    "failure_reason!=none",
    "height>abc",
    "order>0.3",
    "order:{order!r}",
    "order<={order!r}",
    '"a ""b"":it\'s"',
    '"a ""b"":x y" order!=none',
    "day:2024-02-03",
)


@needs_chromium
def test_the_query_of_a_filter_gives_the_same_rows(dataset, tmp_path):
    """With joined columns: numbers under a word of SQL, texts under a hard name, and dates."""
    table = pq.read_table(dataset.path)
    rng = np.random.default_rng(5)
    order = rng.choice(rng.uniform(0, 1, 3), len(dataset)).tolist()
    dates = pa.array([19755 + n % 3 for n in range(len(dataset))], pa.date32())
    for name, values in (
        ("order", [None, *order[1:]]),
        ('a "b"', rng.choice(["x y", "it's"], len(dataset)).tolist()),
        ("day", dates),
    ):
        table = table.append_column(name, [values])
    pq.write_table(table, tmp_path / "set.parquet")
    rows = []
    with vl.open_dataset(tmp_path / "set.parquet") as joined, Page() as page:
        (tmp_path / "index.html").write_text(render_page(joined, pictures={}))
        page.open((tmp_path / "index.html").as_uri())
        for text in FILTERS:
            page.run(f"filterBy({json.dumps(text.format(order=order[1]))})")
            page.run("document.getElementById('export').open = true")
            page.wait("document.getElementById('query').value")
            where = page.run("document.getElementById('query').value")
            rows.append(page.run("Array.from(order)"))
            assert query_rows(joined, where).tolist() == rows[-1], where
            page.run("document.getElementById('export').open = false")
        assert page.errors == []
    found = dict(zip(FILTERS, map(len, rows), strict=True))
    assert [text for text, number in found.items() if not number] == [
        *("is_hdr:perhaps", "100%_", "height>abc")
    ]
    assert found["day:2024-02-03"] == 3


@needs_chromium
def test_what_is_filtered_is_exported(dataset, tmp_path):
    path = write_report(dataset, tmp_path / "report", pictures=0, workers=0)
    with Page() as page:
        page.open(path.as_uri())
        page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=os.fspath(tmp_path))
        page.run("filterBy('codec:h264'); sortBy(byName.get('key')); sortBy(byName.get('key'))")
        rows = page.run("Array.from(order)")
        names = page.run("visible().map((each) => each.name)")
        for place in range(3):
            page.run(f"document.querySelectorAll('#export button')[{place}].click()")
        files = [tmp_path / f"set.{ending}" for ending in ("paths.txt", "csv", "json")]
        wait_for(lambda: all(file.exists() for file in files))
        assert page.errors == []
    expected = dataset.table.select(names).take(rows).to_pylist()
    assert len(expected) == len(dataset.videos) - 2
    lines = [row["key"].replace("line\nbreak", "file:line%0Abreak") for row in expected]
    assert files[0].read_text().splitlines() == lines
    assert json.loads(files[2].read_text()) == expected
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    read = pyarrow.csv.read_csv(files[1], convert_options=options, parse_options=parse)
    assert read.to_pylist() == expected


def wait_for(condition):
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it never came")


@needs_chromium
def test_a_hundred_thousand_rows_open_and_sort_quickly(tmp_path):
    count = 100_000
    dataset = synthetic(count, tmp_path / "set.parquet")
    path = tmp_path / "index.html"
    path.write_text(render_page(dataset, pictures={}))
    with Page() as page:
        assert min(page.open(path.as_uri()) for _ in range(3)) < 2
        assert page.run("document.querySelectorAll('.row').length") < 100
        for name in ("num_frames", "key"):
            place = page.run(f"visible().findIndex((each) => each.name === '{name}')")
            taken = [
                page.run(
                    "(() => { const begin = performance.now();"
                    f"document.getElementById('head').children[{place}].click();"
                    "return performance.now() - begin; })()"
                )
                for _ in range(4)
            ]
            assert min(taken) < 200, taken
        assert page.run("order[0]") == int(np.argsort(dataset.table["key"].to_numpy())[-1])
        page.run("document.getElementById('table').scrollTop = 1e9")
        page.wait("parseFloat(document.querySelector('.row:last-child').style.top) === 2600000")
        assert page.errors == []
