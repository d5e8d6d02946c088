"""A relative path is that of the folder in which it was given, whichever folder follows.

Worker processes are those of the shared decoder, which start in another folder.
"""

import pickle
import tarfile
import wave
from pathlib import Path

import pytest

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.decoding.batch_decoder import shared_decoder
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.sources.items import Item

NAME = "clip.mp4"
FRAMES = [3, 17]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a video, by itself and in an archive."""
    path = tmp_path_factory.mktemp("videos")
    encode_video(path / NAME, frames=20, size=(64, 48), options={"g": "5"})
    with tarfile.open(path / "videos.tar", "w") as archive:
        archive.add(path / NAME, arcname=NAME)
    return path


@pytest.fixture(scope="module", autouse=True)
def _workers_of_another_folder(folder, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, shared_decoder("cpu", 1) as decoder:
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        decoder.decode([(folder / NAME, [0])])
        yield


@pytest.fixture
def leave(folder, tmp_path, monkeypatch):
    """Leaves the folder, which is the working folder."""
    monkeypatch.chdir(folder)
    return lambda: monkeypatch.chdir(tmp_path)


def member():
    with tarfile.open("videos.tar") as archive:
        (found,) = archive.getmembers()
    return Item("videos.tar", NAME, found.offset_data, found.size)


def numbers(frames):
    return [read_frame_number(frame.cpu().numpy()) for frame in frames]


GIVEN = pytest.mark.parametrize(
    "make", [lambda: NAME, lambda: Item(NAME), member], ids=["path", "item", "member"]
)


@GIVEN
def test_a_batch_finds_its_videos(leave, make):
    batch = vl.decode_batch([(make(), FRAMES)], workers=1)
    assert numbers(batch.frames[0]) == FRAMES


@GIVEN
def test_a_video_stays_open_and_pickles(leave, make):
    with vl.Video(make()) as video:
        leave()
        with pickle.loads(pickle.dumps(video)) as other:
            assert numbers(video.get_frames(FRAMES).frames) == FRAMES
            assert numbers(other.get_frames(FRAMES).frames) == FRAMES


@GIVEN
def test_a_loader_finds_the_videos_that_it_was_given(leave, make):
    options = {"batch_size": 1, "layout": "FHWC", "workers": 1, "audio": True}
    with vl.Loader([make()], vl.UniformClip(2), **options) as batches:
        leave()
        (batch,) = batches
    assert numbers(batch["frames"][0]) == [0, 19]


@GIVEN
@pytest.mark.parametrize("argument", ["filenames", "dataset"])
def test_a_reader_finds_the_videos_that_it_was_given(leave, make, argument):
    @pipeline_def(batch_size=1, num_threads=1, prefetch_queue_depth=1)
    def definition():
        return fn.readers.video(
            **{argument: [make()]}, labels=[], sequence_length=2, uniform_sample=True
        )

    with definition() as pipe:
        pipe.build()
        leave()
        clips, _ = pipe.run()
        assert numbers(clips[0]) == [0, 19]


@GIVEN
def test_an_operator_finds_the_videos_that_it_is_fed(leave, make):
    @pipeline_def(batch_size=1, num_threads=1, prefetch_queue_depth=1)
    def definition():
        return fn.decoders.video(fn.external_source([[make()]]), frames=FRAMES)

    with definition() as pipe:
        (clips,) = pipe.run()
    assert numbers(clips[0]) == FRAMES


@pytest.fixture
def other_folder(leave, tmp_path):
    """The folder that is left for has another video of the same name."""
    encode_video(tmp_path / NAME, frames=5, size=(64, 48))
    with tarfile.open(tmp_path / "videos.tar", "w") as archive:
        archive.add(tmp_path / NAME, arcname=NAME)


@pytest.mark.usefixtures("other_folder")
@pytest.mark.parametrize("is_pickled", [False, True])
@pytest.mark.parametrize("make", [lambda: Item(NAME), member], ids=["item", "member"])
def test_an_item_is_of_the_folder_in_which_it_was_made(leave, make, is_pickled):
    item = make()
    data = pickle.dumps(item)
    leave()
    if is_pickled:
        item = pickle.loads(data)
    with item.open() as source:
        assert vl.index_video(source).num_frames == 20
    assert item.state().size == source.size
    assert item.absolute().location == item.location
    for workers in (0, 1):
        batch = vl.decode_batch([(item, FRAMES)], workers=workers)
        assert numbers(batch.frames[0]) == FRAMES
    with vl.Video(item) as video:
        assert len(video) == 20
    dataset = vl.ClipDataset([item], vl.UniformClip(2))
    assert dataset[0]["frame_numbers"].tolist() == [0, 19]
    with vl.Loader([item], vl.UniformClip(2), batch_size=1, workers=0) as batches:
        assert next(iter(batches))["frame_numbers"].tolist() == [[0, 19]]
    assert item.name.startswith(("clip.mp4", "videos.tar"))
    assert Item(*item.place()) == item


@pytest.mark.usefixtures("other_folder")
def test_a_file_beside_an_item_is_of_its_folder(leave, folder, tmp_path):
    (folder / "clip.txt").write_text("of the first folder")
    (tmp_path / "clip.txt").write_text("of the other")
    item = Item(NAME)
    leave()
    options = {"columns": [".txt"], "batch_size": 1, "workers": 0}
    with vl.Loader([item], vl.UniformClip(2), **options) as batches:
        (batch,) = batches
    assert batch[".txt"] == ["of the first folder"]


def test_a_sound_pickles_for_other_folders(leave, folder, tmp_path):
    for place, count in ((folder, 800), (tmp_path, 400)):
        with wave.open(str(place / "a.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(bytes(2 * count))
    for given in ("a.wav", Path("a.wav")):
        with vl.Audio(given) as audio:
            data = pickle.dumps(audio)
    leave()
    with pickle.loads(data) as again:
        assert again.num_samples == 800


def test_an_index_is_of_the_files_that_were_given(leave, folder, tmp_path):
    dataset = vl.index_dataset([NAME], out="set.parquet", workers=1)
    leave()
    assert dataset.item(0) == Item(str(folder / NAME))
    assert len(dataset[0].keyframes) == 4


def test_a_link_before_dots_is_followed_as_the_system_does(folder, tmp_path, monkeypatch):
    """`link/../clip.mp4` is a file beside what the link leads to, not one beside the link."""
    monkeypatch.chdir(tmp_path)
    (folder / "inside").mkdir()
    (tmp_path / "link").symlink_to(folder / "inside")
    encode_video(tmp_path / NAME, frames=2, size=(64, 48))
    place = f"link/../{NAME}"
    batch = vl.decode_batch([(place, FRAMES), (Item(place), FRAMES)], workers=1)
    assert [numbers(frames) for frames in batch.frames] == [FRAMES, FRAMES]
    with vl.Loader([place], vl.UniformClip(2), batch_size=1, layout="FHWC", workers=0) as batches:
        (content,) = batches
    assert numbers(content["frames"][0]) == [0, 19]
    assert vl.index_dataset([place], out="set.parquet", workers=0)[0].num_frames == 20


def test_a_working_folder_that_was_removed_is_no_error_but_that_of_the_video(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for place in (NAME, Item(NAME)):
        with pytest.raises(vl.VideoError, match=f"{NAME}: No such file"):
            vl.Video(place)
        with (
            pytest.raises(vl.VideoError, match=f"{NAME}: No such file"),
            vl.Loader([place], vl.UniformClip(2), batch_size=1, workers=0) as batches,
        ):
            next(iter(batches))
