"""Lists, tables and annotations that cannot be opened: no secret of a URL, and no video blamed."""

import errno
import traceback

import pytest

import videoloader as vl
from videoloader.dali import fn
from videoloader.machinery.system.faults import as_video_error, unreadable

SECRET = "hunter2"
URL = f"http://me:{SECRET}@127.0.0.1:9/x.{{}}?signature={SECRET}"
CLIPS = vl.UniformClip(2)


def run(reader, **options):
    with vl.dali.Pipeline(batch_size=1, num_threads=1, device_id=None) as pipe:
        pipe.set_outputs(*reader(**options))
    pipe.build()


PLACES = {
    "an index": lambda place: vl.open_dataset(place.format("parquet")),
    "labels": lambda place: vl.Loader(
        ["a.mp4"],
        CLIPS,
        batch_size=1,
        labels=vl.LabelColumn(place.format("csv"), label="a", key="b"),
    ),
    "labels in Parquet": lambda place: vl.Loader(
        ["a.mp4"],
        CLIPS,
        batch_size=1,
        labels=vl.LabelColumn(place.format("parquet"), label="a", key="b"),
    ),
    "known failures": lambda place: vl.Loader(
        ["a.mp4"], CLIPS, batch_size=1, skip_known=place.format("jsonl")
    ),
    "known damage": lambda place: vl.Loader(
        ["a.mp4"], CLIPS, batch_size=1, skip_known=place.format("parquet")
    ),
    "a list of videos": lambda place: run(
        fn.readers.video, file_list=place.format("txt"), sequence_length=2
    ),
    "a folder of videos": lambda place: run(
        fn.readers.video, file_root=place.format(""), sequence_length=2
    ),
    "a list of files": lambda place: run(fn.readers.file, file_list=place.format("txt")),
    "a folder of files": lambda place: run(fn.readers.file, file_root=place.format("")),
    "annotations": lambda place: run(
        fn.readers.coco, file_root="x", annotations_file=place.format("json")
    ),
    "a manifest": lambda place: run(fn.readers.nemo_asr, manifest_filepaths=[place.format("json")]),
}


@pytest.mark.parametrize("name", PLACES)
def test_no_secret_of_a_url_is_in_a_message_or_traceback(name):
    with pytest.raises(vl.errors.SourceError) as caught:
        PLACES[name](URL)
    text = "".join(traceback.format_exception(caught.value))
    assert SECRET not in text
    assert "127.0.0.1:9/x." in str(caught.value)


@pytest.mark.parametrize("name", PLACES)
def test_a_file_that_is_not_there_is_named(name, tmp_path):
    with pytest.raises(vl.errors.SourceError, match="nothing"):
        PLACES[name](f"{tmp_path}/nothing.{{}}")


def test_too_many_open_files_for_the_memory_of_workers_are_no_fault_of_a_video():
    text = "unable to open shared memory object </torch_1_2> in read-write mode: "
    error = as_video_error(RuntimeError(f"{text}Too many open files (24)"), "shared memory")
    assert isinstance(error, vl.errors.ResourceError)


def test_too_many_open_files_are_no_fault_of_a_list():
    error = unreadable("list.txt", OSError(errno.EMFILE, "Too many open files"))
    assert isinstance(error, vl.errors.ResourceError)
    assert str(error).startswith("list.txt: no open file is left")
