"""`on_error` of a pipeline where operators decode what other sources name, and in a proxy."""

from pathlib import Path

import numpy as np
import pytest
from damaged_videos import make_videos
from torch.utils.data import Dataset

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.pytorch import proxy
from videoloader.demo.videos import encode_video

DAMAGED, UNREADABLE = 1, 3
FRAMES = [0, 4, 7, 11]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("failures") / "videos"
    made = make_videos(folder, count=6, damaged=[DAMAGED], unreadable=[UNREADABLE])
    return list(map(str, made))


def named(paths, batch_size=6, **options):
    """Bytes of files, decoded by an operator; the number of each, and what comes of it."""

    @pipeline_def(batch_size=batch_size, num_threads=2, prefetch_queue_depth=1, **options)
    def definition():
        encoded, number = fn.readers.file(files=paths, labels=list(range(len(paths))))
        clip, frames = fn.decoders.video(
            encoded, frames=FRAMES, enable_frame_num="sequence", fill_value=7, pad_mode="none"
        )
        return fn.resize(clip, size=(48, 64)), frames, number, number * 2

    return definition()


def test_a_decoder_leaves_a_sample_out_with_all_that_belongs_to_it(paths):
    with named(paths, on_error="skip", max_errors=4) as pipe:
        clips, frames, numbers, doubled = pipe.run()
        assert [each.item() for each in numbers] == [0, 2, 4, 5]
        assert [each.item() for each in doubled] == [0, 4, 8, 10]
        assert clips.shape() == [(4, 48, 64, 3)] * 4
        assert [each.tolist() for each in frames] == [FRAMES] * 4
        failures = {failure.sample: failure for failure in pipe.failures}
        assert failures[DAMAGED].path == paths[DAMAGED]
        assert failures[UNREADABLE].action == "skip"
        assert pipe.stats().errors == len(pipe.failures)


def test_a_decoder_masks_clips_without_sound(paths):
    """Neither a file that does not open nor one without sound costs the others of the batch."""
    silent = [paths[0], paths[UNREADABLE]]

    @pipeline_def(batch_size=2, num_threads=1, on_error="mask")
    def definition():
        encoded, _ = fn.readers.file(files=silent, labels=[0, 1])
        return tuple(fn.decoders.video(encoded, frames=FRAMES, enable_timestamps=True, audio=True))

    with definition() as pipe:
        _, times, sound, rates = pipe.run()
        assert [each.tolist() for each in times] == [[-1] * 4] * 2
        assert sound.shape() == [(0, 1)] * 2
        assert [each.item() for each in rates] == [0, 0]
        told = {failure.sample: failure.reason for failure in pipe.failures}
        assert "there is no sound" in told[0]
        assert told.keys() == {0, 1}


def test_a_decoder_masks_frames(paths):
    with named(paths, on_error="mask") as pipe:
        clips, frames, numbers, _ = pipe.run()
        assert [each.item() for each in numbers] == [*range(6)]
        assert frames[DAMAGED].tolist() == [0, 4, 7, -1]
        assert frames[UNREADABLE].tolist() == [-1] * 4
        assert clips.shape() == [(4, 48, 64, 3)] * 6
        assert (clips[UNREADABLE] == 7).all()
        assert (clips[0] != 7).any()


def test_the_next_video_of_the_batch_stands_for_one_that_fails(paths):
    with named(paths, on_error="replace") as pipe:
        clips, frames, numbers, doubled = pipe.run()
        assert [each.item() for each in numbers] == [0, 2, 2, 4, 4, 5]
        assert [each.item() for each in doubled] == [0, 4, 4, 8, 8, 10]
        assert clips.shape() == [(4, 48, 64, 3)] * 6
        assert (clips[1] == clips[2]).all()
        assert [each.tolist() for each in frames] == [FRAMES] * 6
        assert {failure.sample for failure in pipe.failures} == {DAMAGED, UNREADABLE}


def test_a_video_in_the_place_of_another_is_a_copy_that_may_be_changed(paths, tmp_path):
    """Clips of several sizes have memory of their own each."""
    small = str(encode_video(tmp_path / "small.mp4", frames=12, size=(32, 24)))

    def add(clip):
        clip[:] = clip // 2 + 1
        return clip

    @pipeline_def(batch_size=3, num_threads=1, on_error="replace")
    def definition():
        encoded, _ = fn.readers.file(files=[paths[UNREADABLE], small, paths[0]], labels=[0, 1, 2])
        clip = fn.decoders.video(encoded, frames=[0])
        return fn.torch_python_function(clip, function=add)

    with definition() as pipe:
        (found,) = pipe.run()
        assert found.shape() == [(1, 24, 32, 3), (1, 24, 32, 3), found[2].shape]
        once = fn.decoders.video(small, frames=[0]) // 2 + 1
        assert (found[0] == once).all()
        assert (found[1] == once).all()


def test_a_video_that_fails_ends_its_batch_by_default(paths):
    with named(paths, batch_size=2) as pipe:
        with pytest.raises(vl.errors.OperatorError, match=Path(paths[DAMAGED]).name):
            pipe.run()
        with pytest.raises(vl.errors.OperatorError, match=Path(paths[UNREADABLE]).name):
            pipe.run()
        assert [each.item() for each in pipe.run()[2]] == [4, 5]


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_where_nothing_of_a_batch_decodes_it_fails(paths, policy):
    with named([paths[UNREADABLE], paths[0]], batch_size=1, on_error=policy) as pipe:
        with pytest.raises(vl.errors.OperatorError, match=Path(paths[UNREADABLE]).name):
            pipe.run()
        assert len(pipe.run()[0]) == 1


def test_too_many_failures_of_a_decoder_end_the_run(paths):
    with (
        named(paths, on_error="mask", max_errors=1) as pipe,
        pytest.raises(vl.errors.TooManyFailuresError),
    ):
        pipe.run()


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_beside_conditionals_no_decoder_leaves_samples_out(paths, policy):
    @pipeline_def(batch_size=6, num_threads=1, enable_conditionals=True, on_error=policy)
    def definition():
        encoded, number = fn.readers.file(files=paths, labels=list(range(len(paths))))
        if number[0] > 1:
            clip = fn.decoders.video(encoded, frames=FRAMES)
        else:
            clip = fn.decoders.video(encoded, frames=[0])
        return clip

    pipe = definition()
    with pytest.raises(vl.errors.ArgumentError, match=rf'on_error="{policy}".*places.*"mask"'):
        pipe.build()


def test_sequences_of_a_fed_video_are_masked_or_left_out(paths):
    def made(policy):
        @pipeline_def(batch_size=4, num_threads=1, on_error=policy)
        def definition():
            return fn.inputs.video(
                name="video", sequence_length=3, fill_value=9, enable_frame_num="sequence"
            )

        pipe = definition()
        pipe.feed_input("video", paths[DAMAGED])
        return pipe

    with made("mask") as pipe:
        clips, numbers = pipe.run()
        whole = [number for each in numbers for number in each.tolist()]
        lost = [at for at, number in enumerate(whole) if number == -1]
        assert lost
        assert [whole[at] for at in range(12) if at not in lost] == [
            at for at in range(12) if at not in lost
        ]
        assert (np.concatenate([np.asarray(each) for each in clips])[lost] == 9).all()
        assert len(pipe.failures) >= 1
    with made("skip") as pipe:
        clips, numbers = pipe.run()
        assert 1 <= len(clips) < 4
        assert all(each.tolist() == list(range(each[0], each[0] + 3)) for each in numbers)
        left = [each.tolist() for each in numbers]
    with made("replace") as pipe:
        _, numbers = pipe.run()
        found = [each.tolist() for each in numbers]
        assert len(found) == 4
        assert [each for each in found if each in left] == found
        assert {each[0] for each in found} == {each[0] for each in left}
    with made("raise") as pipe, pytest.raises(vl.errors.OperatorError):
        pipe.run()


def test_readers_of_files_skip(tmp_path):
    names = []
    for number in range(5):
        np.save(tmp_path / f"{number}.npy", np.full(2, number))
        names.append(str(tmp_path / f"{number}.npy"))
    for bad in (1, 3, 4):
        Path(names[bad]).write_bytes(b"nothing")

    @pipeline_def(batch_size=2, num_threads=1)
    def definition():
        values = fn.readers.numpy(files=names, on_error="skip", name="Reader")
        other = fn.external_source(lambda info: np.int64(info.idx_in_epoch), batch=False)
        return values, other * 1

    with definition() as pipe:
        seen = [
            ([each[0].item() for each in values], [each.item() for each in other])
            for values, other in (pipe.run() for _ in range(5))
        ]
        # 0 1 | 2 3 | 4 0 | 1 2 | 3 4: the last batch has none, and takes the next one that reads.
        assert seen == [([0], [0]), ([2], [2]), ([0], [5]), ([2], [7]), ([0], [9])]
        assert {failure.action for failure in pipe.failures} == {"skip"}


def test_two_readers_that_skip_leave_out_what_either_has_not(tmp_path):
    names = []
    for number in range(4):
        np.save(tmp_path / f"{number}.npy", np.full(2, number))
        names.append(str(tmp_path / f"{number}.npy"))
    bad = str(tmp_path / "bad.npy")
    Path(bad).write_bytes(b"nothing")

    @pipeline_def(batch_size=4, num_threads=1, on_error="skip")
    def definition():
        one = fn.readers.numpy(files=[names[0], bad, names[2], names[3]])
        two = fn.readers.numpy(files=[names[0], names[1], bad, names[3]])
        return one, two

    with definition() as pipe:
        one, two = pipe.run()
        assert [each[0].item() for each in one] == [each[0].item() for each in two] == [0, 3]


class Named(Dataset):
    def __init__(self, paths, decode):
        self.paths, self.decode = paths, decode

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, number):
        clip, frames = self.decode(path=self.paths[number])
        return clip, frames, number


def served(policy):
    @pipeline_def(batch_size=3, num_threads=1, on_error=policy)
    def definition():
        path = fn.external_source(name="path")
        return fn.decoders.video(
            path, frames=FRAMES, size=(48, 64), enable_frame_num="sequence", fill_value=3
        )

    return definition()


def test_a_proxy_gives_masked_samples(paths):
    pipe = served("mask")
    with proxy.Server(pipe) as server:
        batches = proxy.DataLoader(server, Named(paths, server.proxy), batch_size=6)
        ((clips, frames, numbers),) = batches
        assert clips.shape == (6, 4, 48, 64, 3)
        assert numbers.tolist() == [*range(6)]
        assert frames[DAMAGED].tolist() == [0, 4, 7, -1]
        assert frames[UNREADABLE].tolist() == [-1] * 4
        assert (clips[UNREADABLE] == 3).all()
        assert {failure.path for failure in server.failures} == {paths[1], paths[3]}
    pipe.close()


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_a_proxy_cannot_leave_samples_out(policy):
    with served(policy) as pipe, pytest.raises(vl.errors.ArgumentError, match='on_error="mask"'):
        proxy.Server(pipe)
