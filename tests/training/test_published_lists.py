"""Lists in the shape in which data sets are published, each read by the call that the docs show."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import videoloader as vl
from videoloader.datasets.scenes import Scene
from videoloader.demo.videos import encode_video
from videoloader.errors import ArgumentError, FormatError

FPS = 10


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    """10 seconds."""
    path = tmp_path_factory.mktemp("published") / "a.mp4"
    return encode_video(path, frames=10 * FPS, fps=FPS, size=(64, 48))


@pytest.fixture
def put(video, tmp_path):
    """Makes a folder of files of that video, and gives it."""

    def put(*names):
        for name in names:
            path = tmp_path / "videos" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(video)
        return tmp_path / "videos"

    return put


def ends(segments, **options):
    """First and last frame of each segment, and other values of a batch of all."""
    size = len(segments)
    with vl.Loader(segments, vl.UniformClip(2), batch_size=size, workers=0, **options) as loader:
        (batch,) = loader
    return batch["frame_numbers"].tolist(), batch


# Kinetics

KINETICS = """label,youtube_id,time_start,time_end,split
abseiling,-3B32lodo2M,1,4,train
air drumming,-_9yLkQxB0s,12,22,train
"""


def test_kinetics_of_whole_videos(put, tmp_path):
    (tmp_path / "train.csv").write_text(KINETICS.replace("12,22", "2,5"))
    root = put("-3B32lodo2M.mp4", "-_9yLkQxB0s.mkv")
    numbers, batch = ends(vl.Segments(tmp_path / "train.csv", root=root), labels="label")
    assert numbers == [[10, 39], [20, 49]]
    assert batch["labels"].tolist() == [0, 1]


@pytest.mark.parametrize("indexed", [False, True])
def test_kinetics_of_files_that_are_trimmed_already(put, tmp_path, indexed):
    (tmp_path / "train.csv").write_text(KINETICS)
    root = put("abseiling/-3B32lodo2M_000001_000004.mp4", "-_9yLkQxB0s_000012_000022.mp4")
    where = {"root": root}
    if indexed:
        where = {"index": vl.index_dataset(root, out=tmp_path / "set.parquet", workers=0)}
    name = "{youtube_id}_{time_start:06d}_{time_end:06d}.mp4"
    segments = vl.Segments(tmp_path / "train.csv", video=name, whole_videos=True, **where)
    numbers, batch = ends(segments, labels="label")
    assert numbers == [[0, 99], [0, 99]]
    assert batch["sample"].tolist() == [0, 1]
    paths = ["-3B32lodo2M_000001_000004.mp4", "-_9yLkQxB0s_000012_000022.mp4"]
    assert [path.rpartition("/")[2] for path in segments.paths()] == paths


def test_an_id_of_trimmed_files_says_what_is_there(put, tmp_path):
    (tmp_path / "train.csv").write_text(KINETICS)
    root = put("-3B32lodo2M_000001_000004.mp4", "-_9yLkQxB0s_000012_000022.mp4")
    with pytest.raises(ArgumentError) as caught:
        vl.Segments(tmp_path / "train.csv", root=root)
    text = str(caught.value)
    assert "2 of a video that is not there (first row 0: '-3B32lodo2M', 1 to 4" in text
    assert "among 2 videos such as '-3B32lodo2M_000001_000004.mp4'" in text
    assert "video= may be a format of columns" in text


# ActivityNet

ACTIVITY_NET = {
    "database": {
        "_1aAbBcCdD": {
            "annotations": [
                {"label": "Drinking coffee", "segment": [1, 2.5]},
                {"label": "Ironing", "segment": [4.0, 20.0]},
            ],
            "duration": 10.0,
            "resolution": "64x48",
            "subset": "training",
            "url": "https://www.youtube.com/watch?v=_1aAbBcCdD",
        },
        "zzzzzzzzzz": {"annotations": [], "duration": 5, "resolution": "", "subset": "testing"},
        "yyyyyyyyyy": {
            "annotations": [{"label": "Ironing", "segment": [0, 1]}],
            "duration": 10,
            "subset": "validation",
        },
    },
    "taxonomy": [{"nodeId": 269, "nodeName": "Ironing", "parentId": 13}],
    "version": "VERSION 1.3",
}


def test_activity_net(put, tmp_path):
    (tmp_path / "activity_net.json").write_text(json.dumps(ACTIVITY_NET))
    root = put("v__1aAbBcCdD.mp4", "v_yyyyyyyyyy.mkv")
    rows = vl.unnest(tmp_path / "activity_net.json", "annotations", at="database")
    assert rows["video_id"].to_pylist() == ["_1aAbBcCdD", "_1aAbBcCdD", "yyyyyyyyyy"]
    assert rows["subset"].to_pylist() == ["training", "training", "validation"]
    segments = vl.Segments(
        rows,
        root=root,
        video="v_{video_id}",
        start=lambda row: row["segment"][0],
        end=lambda row: row["segment"][1],
    )
    numbers, batch = ends(segments, labels="label", columns=["duration"])
    assert numbers == [[10, 24], [40, 99], [0, 9]]
    assert batch["labels"].tolist() == [0, 1, 1]
    assert batch["duration"].tolist() == [10, 10, 10]


def test_activity_net_captions(put, tmp_path):
    captions = {
        "v_a": {
            "duration": 9.9,
            "timestamps": [[0, 2], [2.5, 4]],
            "sentences": ["A man.", "He goes."],
        },
        "v_b": {"duration": 9.9, "timestamps": [[1, 3]], "sentences": ["A dog."]},
    }
    (tmp_path / "train.json").write_text(json.dumps(captions))
    rows = vl.unnest(tmp_path / "train.json", ["timestamps", "sentences"])
    segments = vl.Segments(
        rows,
        root=put("v_a.mp4", "v_b.mp4"),
        start=lambda row: row["timestamps"][0],
        end=lambda row: row["timestamps"][1],
    )
    numbers, batch = ends(segments, columns=["sentences"])
    assert numbers == [[0, 19], [25, 39], [10, 29]]
    assert batch["sentences"] == ["A man.", "He goes.", "A dog."]


def test_nested_json_says_what_reads_it(tmp_path):
    (tmp_path / "activity_net.json").write_text(json.dumps(ACTIVITY_NET))
    with pytest.raises(FormatError, match=r"activity_net.json: no table .*videoloader.unnest"):
        vl.Segments(tmp_path / "activity_net.json")


# AVA

AVA = """-5KQ66BBWC4,0003,0.077,0.151,0.283,0.811,80,1
-5KQ66BBWC4,0003,0.226,0.032,0.366,0.497,12,0
1j20qq1JyX4,0007,0.1,0.2,0.3,0.4,9,4
"""
AVA_COLUMNS = [
    *("video_id", "middle_frame_timestamp"),
    *("x1", "y1", "x2", "y2", "action_id", "person_id"),
]


def test_ava(put, tmp_path):
    (tmp_path / "ava_train_v2.2.csv").write_text(AVA)
    segments = vl.Segments(
        tmp_path / "ava_train_v2.2.csv",
        root=put("-5KQ66BBWC4.mkv", "1j20qq1JyX4.mp4"),
        column_names=AVA_COLUMNS,
        start=lambda row: row["middle_frame_timestamp"] - 1,
        end=lambda row: row["middle_frame_timestamp"] + 1,
    )
    numbers, batch = ends(segments, labels="action_id", columns=["x1", "person_id"])
    assert numbers == [[20, 39], [20, 39], [60, 79]]
    assert batch["x1"].tolist() == [0.077, 0.226, 0.1]
    assert batch["person_id"].tolist() == [1, 0, 4]


def test_ava_with_the_persons_of_a_key_frame_together(put, tmp_path):
    (tmp_path / "ava_train_v2.2.csv").write_text(AVA)
    rows = pa.csv.read_csv(
        tmp_path / "ava_train_v2.2.csv",
        read_options=pa.csv.ReadOptions(column_names=AVA_COLUMNS),
    )
    kept = rows.group_by(AVA_COLUMNS[:2], use_threads=False).aggregate(
        [("x1", "list"), ("action_id", "list")]
    )
    segments = vl.Segments(
        kept,
        root=put("-5KQ66BBWC4.mkv", "1j20qq1JyX4.mp4"),
        start="middle_frame_timestamp",
        end=lambda row: row["middle_frame_timestamp"] + 1,
    )
    numbers, batch = ends(segments, columns=["x1_list", "action_id_list"])
    assert numbers == [[30, 39], [70, 79]]
    assert batch["action_id_list"] == [[80, 12], [9]]


def test_a_csv_file_without_a_header_says_what_names_its_columns(put, tmp_path):
    (tmp_path / "ava.csv").write_text(AVA)
    with pytest.raises(ArgumentError, match=r"column_names= .* a file without a header"):
        vl.Segments(tmp_path / "ava.csv", root=put("-5KQ66BBWC4.mkv"))
    with pytest.raises(FormatError, match=r"ava\.csv: no table .*8"):
        vl.Segments(tmp_path / "ava.csv", root=put("1j20qq1JyX4.mp4"), column_names=["a", "b"])


def test_names_of_columns_are_for_files_of_csv(put):
    with pytest.raises(ArgumentError, match="column_names= is for CSV files"):
        vl.Segments({"path": ["a.mp4"]}, root=put("a.mp4"), column_names=["path"])


# EPIC-Kitchens

EPIC = """narration_id,participant_id,video_id,narration_timestamp,start_timestamp,stop_timestamp,\
start_frame,stop_frame,narration,verb,verb_class,noun,noun_class,all_nouns,all_noun_classes
P01_01_0,P01,P01_01,00:00:01.089,00:00:00.14,00:00:03.37,8,202,open door,open,3,door,3,['door'],[3]
P01_01_1,P01,P01_01,00:00:02.629,00:00:04,00:00:06.17,262,370,turn on light,turn-on,6,light,114,\
"['light', 'lamp']","[114, 7]"
"""


def test_epic_kitchens(put, tmp_path):
    (tmp_path / "EPIC_100_train.csv").write_text(EPIC)
    root = put("P01/videos/P01_01.MP4")
    segments = vl.Segments(tmp_path / "EPIC_100_train.csv", root=root)
    numbers, batch = ends(segments, labels="verb_class", columns=["narration"])
    assert numbers == [[1, 33], [40, 61]]  # 0.14 s is in frame 1, from 0.1 to 0.2 s
    assert batch["narration"] == ["open door", "turn on light"]


# Whole videos


def test_something_something(put, tmp_path):
    rows = [
        {
            "id": "74225",
            "label": "spinning cube that quickly stops spinning",
            "template": "Spinning [something] that quickly stops spinning",
            "placeholders": ["cube"],
        },
        {
            "id": "0117",
            "label": "showing a photo to the camera",
            "template": "Showing [something] to the camera",
            "placeholders": ["a photo"],
        },
    ]
    (tmp_path / "train.json").write_text(json.dumps(rows))
    root = put("74225.webm", "0117.webm", "5.webm")
    segments = vl.Segments(tmp_path / "train.json", root=root, video="id", whole_videos=True)
    numbers, batch = ends(segments, labels="template", columns=["placeholders"])
    assert numbers == [[0, 99], [0, 99]]
    assert batch["labels"].tolist() == [1, 0]
    assert batch["placeholders"] == [["cube"], ["a photo"]]


def test_a_list_without_starts_says_how_whole_videos_are_taken(put):
    with pytest.raises(ArgumentError, match=r"no column .* starts; .* whole_videos=True"):
        vl.Segments({"video_id": ["1"], "label": ["a"]}, root=put("1.mp4"))


def test_whole_videos_have_no_starts_and_ends(put):
    table = {"video_id": ["1"], "start": [2], "end": [3]}
    with pytest.raises(ArgumentError, match="whole_videos=True takes no start= and end="):
        vl.Segments(table, root=put("1.mp4"), whole_videos=True, start="start")
    segments = vl.Segments(table, root=put("2.mp4"), whole_videos=True)
    assert ends(segments)[0] == [[0, 99]]


def test_whole_videos_are_not_opened_before_they_are_decoded(tmp_path):
    (tmp_path / "1.mp4").write_bytes(b"no video")
    segments = vl.Segments({"video_id": ["1"]}, root=tmp_path, whole_videos=True)
    with pytest.raises(vl.VideoError, match=r"1\.mp4"):
        ends(segments)
    with pytest.raises(ArgumentError, match="of a video that is not there"):
        vl.Segments({"video_id": ["2"]}, root=tmp_path, whole_videos=True)


def test_lengths_of_whole_videos_are_known_without_their_indexes(put, tmp_path, monkeypatch):
    index = vl.index_dataset(put("1.mp4", "2.mp4"), out=tmp_path / "set.parquet", workers=0)
    segments = vl.Segments({"video_id": ["2", "1", "2"]}, index, whole_videos=True)
    monkeypatch.delattr("videoloader.training.sources.IndexedVideos.index")
    assert segments.numbers(["num_frames"])["num_frames"].tolist() == [100, 100, 100]


def test_moments_in_time(put, tmp_path):
    (tmp_path / "trainingSet.csv").write_text(
        "adult+female+singing/0-0-1-6-9_40.mp4,adult+female+singing,4,1\n"
        "bowing/0-0-1-6-9_40.mp4,bowing,3,0\n"
    )
    segments = vl.Segments(
        tmp_path / "trainingSet.csv",
        root=put("adult+female+singing/0-0-1-6-9_40.mp4", "bowing/0-0-1-6-9_40.mp4"),
        column_names=["video", "label", "agree", "disagree"],
        whole_videos=True,
    )
    _, batch = ends(segments, labels="label", columns=["agree"])
    assert batch["labels"].tolist() == [0, 1]
    assert batch["agree"].tolist() == [4, 3]


def test_web_vid(put, tmp_path):
    (tmp_path / "results_2M_train.csv").write_text(
        "videoid,contentUrl,duration,page_dir,name\n"
        "21179416,https://a.example/v.mp4,PT00H00M11S,006001_006050,Aerial shot of a forest\n"
        '0046,https://a.example/w.mp4,PT00H00M30S,006001_006050,"Two lines,\nand ""more"""\n'
    )
    segments = vl.Segments(
        tmp_path / "results_2M_train.csv",
        root=put("006001_006050/21179416.mp4", "006001_006050/0046.mp4", "0_5/0046.mp4"),
        video="{page_dir}/{videoid}.mp4",
        whole_videos=True,
    )
    _, batch = ends(segments, columns=["name"])
    assert batch["name"] == ["Aerial shot of a forest", 'Two lines,\nand "more"']
    names = [path.rpartition("videos/")[2] for path in segments.paths()]
    assert names == ["006001_006050/21179416.mp4", "006001_006050/0046.mp4"]


# Lists in the fields of a row


def test_how_to_100m(put, tmp_path):
    captions = {
        "nVbIUDjzWY4": {
            "start": [0.42, 4],
            "end": [3.5, 5.0],
            "text": ["hi", "now we bake"],
        },
        "-8NaVGEccgc": {"start": [], "end": [], "text": []},
    }
    (tmp_path / "caption.json").write_text(json.dumps(captions))
    rows = vl.unnest(tmp_path / "caption.json", ["start", "end", "text"])
    segments = vl.Segments(rows, root=put("nVbIUDjzWY4.webm"))
    numbers, batch = ends(segments, columns=["text"])
    assert numbers == [[4, 34], [40, 49]]
    assert batch["text"] == ["hi", "now we bake"]


def test_panda_70m(put, tmp_path):
    (tmp_path / "panda70m_training_2m.csv").write_text(
        "videoID,url,timestamp,caption,matching_score\n"
        "--C66yU3LjM_2,https://www.youtube.com/watch?v=--C66yU3LjM,"
        "\"[['0:00:00.900', '0:00:02.100'], ['0:00:05.500', '0:00:07.000']]\","
        '"[\'A man\\\'s hat.\', ""It\'s [red], ""]","[0.43, 0.5]"\n'
    )
    rows = vl.unnest(
        tmp_path / "panda70m_training_2m.csv", ["timestamp", "caption", "matching_score"]
    )
    segments = vl.Segments(
        rows,
        root=put("--C66yU3LjM_2.mp4"),
        start=lambda row: row["timestamp"][0],
        end=lambda row: row["timestamp"][1],
    )
    numbers, batch = ends(segments, columns=["caption", "matching_score"])
    assert numbers == [[9, 20], [55, 69]]
    assert batch["caption"] == ["A man's hat.", "It's [red], "]
    assert batch["matching_score"].tolist() == [0.43, 0.5]


def test_pairs_in_a_column_say_what_takes_them_apart(put):
    table = {"video": ["a"], "segment": [[0, 1]]}
    with pytest.raises(ArgumentError, match=r"start=lambda row: row\['segment'\]\[0\]"):
        vl.Segments(table, root=put("a.mp4"), start="segment", end="segment")


# LeRobot


CAMERA = "videos/observation.images.top"


def lerobot_file(row):
    chunk, file = (row[f"{CAMERA}/{name}_index"] for name in ("chunk", "file"))
    return f"{CAMERA}/chunk-{chunk:03d}/file-{file:03d}.mp4"


LEROBOT_FORMAT = f"{CAMERA}/chunk-{{{CAMERA}/chunk_index:03d}}/file-{{{CAMERA}/file_index:03d}}.mp4"


@pytest.mark.parametrize("named", [lerobot_file, LEROBOT_FORMAT])
def test_episodes_of_lerobot(put, named):
    camera = CAMERA
    root = put(*(f"{camera}/chunk-000/file-{file:03d}.mp4" for file in range(2)))
    episodes = pa.table(
        {
            "episode_index": [0, 1, 2],
            "tasks": [["pick"], ["place"], ["pick", "push"]],
            "length": [40, 60, 100],
            f"{camera}/chunk_index": [0, 0, 0],
            f"{camera}/file_index": [0, 0, 1],
            f"{camera}/from_timestamp": [0.0, 4.0, 0.0],
            f"{camera}/to_timestamp": [4.0, 10.0, 10.0],
        }
    )
    (root / "meta/episodes/chunk-000").mkdir(parents=True)
    pq.write_table(episodes, root / "meta/episodes/chunk-000/file-000.parquet")
    segments = vl.Segments(
        pq.read_table(root / "meta/episodes"),
        root=root,
        video=named,
        start=f"{camera}/from_timestamp",
        end=f"{camera}/to_timestamp",
    )
    numbers, batch = ends(segments, columns=["episode_index", "tasks"])
    assert numbers == [[0, 39], [40, 99], [0, 99]]
    assert batch["episode_index"].tolist() == [0, 1, 2]
    assert batch["tasks"] == [["pick"], ["place"], ["pick", "push"]]


# What jobs of this library write


def test_videos_whose_scenes_were_not_found_have_no_segment(put, tmp_path):
    """Damaged ones have an error in place of times, as those that are not in the index."""
    index = vl.index_dataset(put("a.mp4", "b.mp4"), out=tmp_path / "set.parquet", workers=0)
    rows = [
        {"key": "a.mp4", "start": 0, "stop": 5, "error": None},
        {"key": "b.mp4", "start": None, "stop": None, "error": "b.mp4: frame 3 does not decode"},
        {"key": "c.mp4", "start": None, "stop": None, "error": "c.mp4: it is no video"},
    ]
    with pytest.raises(ArgumentError, match="2 that have none, but an error of the job"):
        vl.Segments(rows, index, unit="frames")
    segments = vl.Segments(rows, index, unit="frames", on_missing="skip")
    assert segments.rows.tolist() == [0]
    assert segments.skipped["row"].to_pylist() == [1, 2]


def test_scenes(put, tmp_path):
    root = put("a/1.mp4", "b/1.mp4")
    index = vl.index_dataset(root, out=tmp_path / "set.parquet", workers=0)
    vl.map_clips(index, first_and_last_second, tmp_path / "scenes.parquet", workers=0)
    segments = vl.Segments(tmp_path / "scenes.parquet", index, unit="frames")
    assert ends(segments)[0] == [[0, 9], [90, 99]] * 2
    segments = vl.Segments(
        tmp_path / "scenes.parquet", index, start="start_seconds", end="stop_seconds"
    )
    assert ends(segments)[0] == [[0, 9], [90, 99]] * 2


def first_and_last_second(_):
    """Scenes, as `find_scenes` gives them."""
    return [Scene(0, 10, 0.0, 1.0), Scene(90, 100, 9.0, 10.0)]


# Names that are made of columns


def test_a_name_may_be_made_by_a_function(put):
    table = {"id": [7, 8, None], "start": [0, 1, 1], "end": [1, 2, 2]}
    root = put("clip7.mp4", "clip8.mp4")
    segments = vl.Segments(
        table,
        root=root,
        video=lambda row: None if row["id"] is None else f"clip{row['id']}",
        on_missing="skip",
    )
    assert ends(segments)[0] == [[0, 9], [10, 19]]
    assert segments.skipped["row"].to_pylist() == [2]


def test_ids_of_digits_keep_their_zeros_in_a_format(put, tmp_path):
    (tmp_path / "a.csv").write_text("id,at,start,end\n007,3,0,1\n008,12,1,2\n")
    root = put("007-03.mp4", "008-12.mp4")
    segments = vl.Segments(tmp_path / "a.csv", root=root, video="{id}-{at:02d}")
    assert ends(segments)[0] == [[0, 9], [10, 19]]


def test_whole_numbers_that_became_floats_beside_a_missing_one_fit_a_format(put):
    table = {"id": ["a", None], "at": [3.0, None], "start": [0, 0], "end": [1, 1]}
    root = put("a-03.mp4")
    segments = vl.Segments(table, root=root, video="{id}-{at:02d}", on_missing="skip")
    assert ends(segments)[0] == [[0, 9]]


@pytest.mark.parametrize(
    ("video", "message"),
    [
        ("{nme}.mp4", "no column 'nme'; it has id, at, start, end"),
        ("{id:02d}", r"video='\{id:02d\}' failed for row 0, ValueError: "),
        ("{id", "video='{id' is no format of columns"),
        ("{}", "video='{}' is no format of columns"),
        ("{id!r}", "is no format of columns"),
    ],
)
def test_a_format_that_cannot_be_filled_is_an_error(put, video, message):
    table = {"id": ["x"], "at": [3], "start": [0], "end": [1]}
    with pytest.raises(ArgumentError, match=message):
        vl.Segments(table, root=put("x.mp4"), video=video)


def test_a_function_that_gives_no_time_is_an_error_that_names_the_row(put):
    table, root = {"video": ["a", "a"], "t": [1, 2]}, put("a.mp4")
    with pytest.raises(ArgumentError, match="the table: start= has 'x1' in row 0"):
        vl.Segments(table, root=root, start=lambda row: f"x{row['t']}", end="t")
    with pytest.raises(ArgumentError, match="the table: start= failed for row 0, KeyError: 'no'"):
        vl.Segments(table, root=root, start=lambda row: row["no"], end="t")
