"""Clips of one video that come in one batch: `together` of `Loader` and `EpochSampler`."""

import hashlib
import itertools
from collections import Counter

import pytest
from damaged_videos import make_videos
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader

import videoloader as vl
from videoloader.decoding.opening import videos as opening
from videoloader.demo.videos import encode_video
from videoloader.errors import ArgumentError

FRAMES, GOP = 40, 20
LENGTHS = [40, 31, 12, 40, 25]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("together")
    options = {"g": str(GOP), "bf": "0", "sc_threshold": "0"}
    return [
        encode_video(folder / f"{number}.mp4", frames=length, size=(64, 48), options=options)
        for number, length in enumerate(LENGTHS)
    ]


@pytest.fixture(scope="module")
def dataset(paths, tmp_path_factory):
    out = tmp_path_factory.mktemp("index") / "set.parquet"
    return vl.index_dataset(list(map(str, paths)), out, workers=0)


def loader(source, clips=vl.RandomClip(3, stride=2), **options):  # noqa: B008
    if "batches" not in options:
        options = {"batch_size": 8, "size": (32, 32), **options}
    return vl.Loader(source, clips, **{"seed": 3, "shuffle": True, "workers": 0, **options})


def drawn(batch):
    """(video, frame numbers, pixels, label) of each sample of a batch."""
    return [
        (
            int(video),
            tuple(numbers.tolist()),
            hashlib.sha1(frames.numpy().tobytes()).hexdigest(),
        )
        for video, numbers, frames in zip(
            batch["sample"], batch["frame_numbers"], batch["frames"], strict=True
        )
    ]


def epoch_of(source, **options):
    with loader(source, **options) as batches:
        return [drawn(batch) for batch in batches]


def flat(batches):
    return sorted(itertools.chain(*batches))


def check_whole(batches, group):
    """Each batch has whole groups, each of one video."""
    for batch in batches:
        assert len(batch) % group == 0
        for first in range(0, len(batch), group):
            assert len({video for video, *_ in batch[first : first + group]}) == 1


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([(2, 2), (4, 4), (4, 2), (6, 3)]),
    st.integers(1, 2),
    st.integers(1, 3),
    st.booleans(),
    st.integers(0, 5),
)
def test_draws_together_are_those_apart_in_whole_groups_on_any_ranks(
    paths, clips, of_batch, ranks, shuffle, seed
):
    of_video, group = clips
    options = {"clips_per_video": of_video, "seed": seed, "shuffle": shuffle}
    apart = flat(epoch_of(paths, **options))
    found = []
    for rank in range(ranks):
        part = epoch_of(
            paths,
            together=group,
            batch_size=of_batch * group,
            rank=rank,
            num_ranks=ranks,
            remainder="keep",
            **options,
        )
        check_whole(part, group)
        found += part
    assert flat(found) == apart


@pytest.mark.parametrize("others", [1, 2, 3])
def test_a_run_of_groups_goes_on_with_other_ranks_and_batches(paths, others):
    options = {"clips_per_video": 4, "together": True, "remainder": "keep"}
    with loader(paths, **options, batch_size=4) as batches:
        seen = [drawn(next(batches_)) for batches_ in [iter(batches)] for _ in range(2)]
        state = batches.state_dict()
    assert state == {"epoch": 0, "position": 8, "seed": 3, "size": 20, "together": 4}
    for rank in range(others):
        with loader(paths, **options, batch_size=8, rank=rank, num_ranks=others) as rest:
            rest.load_state_dict(state)
            seen += map(drawn, rest)
    check_whole(seen, 4)
    assert flat(seen) == flat(epoch_of(paths, clips_per_video=4))


def test_a_state_with_other_groups_is_refused(paths):
    options = {"clips_per_video": 4}
    apart, four = loader(paths, **options), loader(paths, together=True, **options)
    two = loader(paths, together=2, **options)
    for one, other in itertools.permutations((apart, four, two), 2):
        with pytest.raises(ArgumentError, match="together="):
            one.load_state_dict(other.state_dict())


def test_an_epoch_goes_on_after_a_state_inside_a_group_is_refused(paths):
    with loader(paths, clips_per_video=4, together=True) as some:
        batches = iter(some)
        next(batches)
        state = some.state_dict()
        with pytest.raises(ArgumentError, match="position 6 is inside a group of together=4"):
            some.load_state_dict({**state, "position": 6})
        assert some.state_dict() == state
        assert len(list(batches)) == 2


@pytest.mark.parametrize("count", [-1, 2.5, "all", None])
def test_packets_are_planned_of_a_number_of_batches(paths, count):
    with loader(paths) as some, pytest.raises(ArgumentError, match="batches"):
        some.planned_packets(count)


@pytest.mark.parametrize("remainder", ["repeat", "drop"])
def test_ranks_in_step_have_equally_many_whole_groups(paths, remainder):
    options = {"clips_per_video": 4, "together": True, "num_ranks": 2, "remainder": remainder}
    parts = [epoch_of(paths, rank=rank, **options) for rank in range(2)]
    assert [len(batch) for batch in parts[0]] == [len(batch) for batch in parts[1]]
    check_whole(parts[0] + parts[1], 4)
    seen = Counter(video for batch in parts[0] + parts[1] for video, *_ in batch)
    assert seen.total() == (24 if remainder == "repeat" else 16)
    assert len(seen) == (5 if remainder == "repeat" else 4)


def test_a_video_is_opened_once_and_what_its_draws_need_is_decoded_once(paths, monkeypatch):
    opened = Counter()
    open_any = opening.open_any

    def counting(source, **known):
        opened[source] += 1
        return open_any(source, **known)

    monkeypatch.setattr(opening, "open_any", counting)
    packets, planned = {}, {}
    for together in (False, True):
        opened.clear()
        options = {"clips_per_video": 8, "together": together, "batch_size": 8}
        with loader(paths, **options) as batches:
            planned[together] = batches.planned_packets(100)
            opened.clear()
            list(batches)
            packets[together] = batches.stats().work.packets
        if together:
            assert set(opened.values()) == {1}
    assert planned[True].packets == packets[True]
    assert planned[False].packets == packets[False]
    assert planned[True].apart == planned[False].apart
    assert planned[True].clips == planned[False].clips == 40
    # Of eight clips in two groups of pictures at most all packets are needed.
    assert packets[True] <= sum(LENGTHS)
    assert planned[True].apart > 3 * packets[True]
    assert "times as many" in str(planned[True])


def test_groups_are_drawn_by_weight_and_keep_their_labels(paths):
    labels = [7, 7, 7, 7, 2]
    options = {"clips_per_video": 4, "together": True, "batch_size": 4, "labels": labels}
    with loader(paths, balanced=True, **options) as batches:
        found = list(batches)
    check_whole([drawn(batch) for batch in found], 4)
    seen = Counter(label for batch in found for label in batch["labels"].tolist())
    assert seen.total() == 20
    assert seen[2] in (8, 12)


@pytest.mark.parametrize(
    "batches",
    [
        vl.Buckets([(2, 32, 32), (4, 32, 32)], batch_size=9),
        vl.Packing(200, patch=(2, 16, 16)),
    ],
    ids=["buckets", "packs"],
)
def test_shaped_batches_hold_whole_groups(dataset, batches):
    clips = vl.RandomClip(4, stride=2)
    options = {"clips": clips, "batches": batches, "clips_per_video": 4}
    found = epoch_of(dataset, together=True, **options)
    check_whole(found, 4)
    assert flat(found) == flat(epoch_of(dataset, **options))
    with loader(dataset, together=True, **options) as some:
        state = {**some.state_dict(), "position": 2}
    with loader(dataset, **options) as other, pytest.raises(ArgumentError, match="batches="):
        other.load_state_dict(state)


@pytest.mark.parametrize("on_error", ["skip", "replace", "mask", "raise"])
def test_a_video_that_fails_costs_its_group(tmp_path, on_error):
    paths = make_videos(tmp_path / "some", count=4, unreadable=(1,))
    options = {"clips": vl.RandomClip(3), "clips_per_video": 4, "together": True, "batch_size": 4}
    with loader(paths, on_error=on_error, shuffle=False, **options) as batches:
        if on_error == "raise":
            assert len(drawn(next(iter(batches)))) == 4
            with pytest.raises(vl.VideoError, match=r"1\.mp4"):
                list(batches)
            return
        found = list(batches)
        assert Counter(each.sample for each in batches.failures) == {1: 4}
    videos = [batch["sample"].tolist() for batch in found]
    if on_error == "mask":
        assert videos == [[n] * 4 for n in range(4)]
        assert not found[1]["mask"].any()
        return
    if on_error == "skip":
        assert all(set(batch) <= {0, 2, 3} for batch in videos)
        assert len(videos) == 4  # never an empty batch
        return
    assert videos == [[0] * 4, [2] * 4, [2] * 4, [3] * 4]
    # Each is replaced by a draw of its own, the same that the next video has.
    assert drawn(found[1]) == drawn(found[2])
    assert len(set(drawn(found[1]))) > 1


@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_all_clips_of_a_data_set_come_once_each_as_a_sample(dataset, group, shuffle):
    dense = vl.DenseClips(4, step=3)
    whole = epoch_of(dataset, clips=dense, shuffle=False, batch_size=1)
    expected = sorted((video, tuple(clip)) for ((video, clips, _),) in whole for clip in clips)
    options = {"clips": dense, "clips_per_video": "all", "together": group, "batch_size": 6}
    found = epoch_of(dataset, shuffle=shuffle, **options)
    assert sorted((video, numbers) for batch in found for video, numbers, _ in batch) == [
        (video, numbers) for video, numbers in expected
    ]
    if not shuffle:
        assert [(v, n) for batch in found for v, n, _ in batch] == expected
    places = {each: place for place, each in enumerate(expected)}
    for batch in found:
        for first in range(0, len(batch), group):
            at = [places[each[:2]] for each in batch[first : first + group]]
            assert [(at[0] + n) % len(expected) for n in range(len(at))] == at
    video, numbers, pixels = found[0][0]
    alone = vl.decode_batch(
        [(dataset.videos.item(video), list(numbers))], size=(32, 32), layout="FCHW"
    )
    assert hashlib.sha1(alone.frames[0].numpy().tobytes()).hexdigest() == pixels


@pytest.mark.parametrize("sampler", [vl.DenseClips(3, fps=10), vl.EvenClips(3, 4)])
def test_clips_at_a_rate_and_even_clips_are_samples_too(dataset, sampler):
    whole = epoch_of(dataset, clips=sampler, batch_size=1)
    expected = sorted((video, tuple(clip)) for ((video, clips, _),) in whole for clip in clips)
    found = epoch_of(dataset, clips=sampler, clips_per_video="all", together=2)
    assert sorted((v, n) for batch in found for v, n, _ in batch) == expected


def test_videos_too_short_for_a_clip_are_counted_in_the_log(dataset, caplog):
    found = epoch_of(dataset, clips=vl.DenseClips(30), clips_per_video="all")
    assert {video for batch in found for video, *_ in batch} == {0, 1, 3}
    assert "2 of 5 videos are too short for a clip of DenseClips(count=30" in caplog.text
    caplog.clear()
    padded = epoch_of(dataset, clips=vl.DenseClips(30, partial=True), clips_per_video="all")
    assert {video for batch in padded for video, *_ in batch} == {0, 1, 2, 3, 4}
    assert not caplog.text


def test_neighbours_cost_fewer_packets(dataset):
    options = {"clips": vl.DenseClips(4, step=2), "clips_per_video": "all", "batch_size": 8}
    planned = [
        loader(dataset, together=group, **options).planned_packets(1000) for group in (1, 4, 8)
    ]
    assert len({each.apart for each in planned}) == 1
    assert planned[0].packets > 1.5 * planned[1].packets > 1.5 * planned[2].packets


@pytest.mark.parametrize("on_error", ["replace", "mask"])
def test_a_clip_of_all_is_replaced_by_one_of_the_next_video(tmp_path, on_error):
    paths = make_videos(tmp_path / "some", count=3)
    dataset = vl.index_dataset(list(map(str, paths)), tmp_path / "set.parquet", workers=0)
    data = paths[1].read_bytes()
    offset = int(vl.index_video(paths[1]).packets["offset"][0])
    paths[1].write_bytes(data[:offset] + bytes(len(data) - offset))
    options = {"clips": vl.DenseClips(4), "clips_per_video": "all", "together": 3}
    with loader(dataset, on_error=on_error, shuffle=False, batch_size=3, **options) as batches:
        found = list(batches)
    videos = [batch["sample"].tolist() for batch in found]
    assert all(batch["frames"].shape[:2] == (3, 4) for batch in found)
    if on_error == "mask":
        assert videos == [[0] * 3, [1] * 3, [2] * 3]
        assert not found[1]["mask"].any()
    else:
        assert videos == [[0] * 3, [2] * 3, [2] * 3]
        assert drawn(found[1]) == drawn(found[2])


@pytest.mark.parametrize(
    ("count", "bad", "expected"),
    [
        (12, 3, [(4, 0), (4, 12), (4, 0)]),  # the next video has two clips, not three
        (20, 1, [(3, 0)]),  # none fits into the next video, so it is the one after it
    ],
)
def test_a_replacement_may_have_fewer_clips(paths, tmp_path, count, bad, expected):
    copies = [tmp_path / path.name for path in paths]
    for path, copy in zip(paths, copies, strict=True):
        copy.write_bytes(path.read_bytes())
    dataset = vl.index_dataset(list(map(str, copies)), tmp_path / "set.parquet", workers=0)
    packets = vl.index_video(copies[bad]).packets
    data = bytearray(copies[bad].read_bytes())
    first, end = int(packets["offset"][0]), int(packets["offset"][-1] + packets["size"][-1])
    data[first:end] = bytes(end - first)
    copies[bad].write_bytes(data)
    options = {"clips": vl.DenseClips(count), "clips_per_video": "all", "together": 2}
    with loader(dataset, on_error="replace", shuffle=False, batch_size=4, **options) as batches:
        found = [(v, numbers[0]) for batch in batches for v, numbers, _ in drawn(batch)]
    before = sum(LENGTHS[video] // count for video in range(bad))
    assert found[before : before + len(expected)] == expected
    assert len(found) == sum(length // count for length in LENGTHS)


def test_wrong_arguments_are_named(paths, dataset):
    dense = {"clips": vl.DenseClips(4), "clips_per_video": "all"}
    for source, options, message in (
        (paths, {"clips_per_video": 4, "together": 3}, "clips_per_video=4 is no multiple"),
        (paths, {"clips_per_video": 4, "together": 0}, "together, unless True or False, must be"),
        (paths, {"clips_per_video": 3, "together": True}, "batch_size=8 is no multiple of"),
        (dataset, dense | {"together": True}, "say how many neighbouring clips"),
        (dataset, dense | {"balanced": True, "labels": [0] * 5}, "leave out weights and bal"),
        (paths, dense, "make one with"),
        (dataset, {"clips_per_video": "all"}, "takes a sampler of several clips"),
        (dataset, dense | {"clips": vl.DenseClips(99)}, "none of the 5 videos is long enough"),
    ):
        with pytest.raises(ArgumentError, match=message):
            loader(source, **options)


# -- a DataLoader


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_data_set_gives_the_groups_of_a_loader(paths, ranks):
    clips = vl.RandomClip(3, stride=2)
    options = {"size": (32, 32), "clips_per_video": 4}
    dataset = vl.ClipDataset(paths, clips, seed=3, **options)
    for rank in range(ranks):
        part = {"seed": 3, "together": 2, "rank": rank, "num_ranks": ranks}
        sampler = vl.EpochSampler(dataset, **part)
        batches = DataLoader(dataset, 4, sampler=sampler)
        expected = epoch_of(paths, clips_per_video=4, batch_size=4, **{**part, "together": 2})
        assert [drawn(batch) for batch in batches] == expected
        check_whole(expected, 2)


def test_a_sampler_goes_on_behind_whole_groups(paths):
    dataset = vl.ClipDataset(paths, vl.RandomClip(3), clips_per_video=4)
    sampler = vl.EpochSampler(dataset, together=True)
    whole = list(sampler)
    sampler.set_epoch(0, skip=8)
    assert list(sampler) == whole[8:]
    with pytest.raises(ArgumentError, match="position 6 is inside a group"):
        sampler.set_epoch(0, skip=6)
    with pytest.raises(ArgumentError, match="position 6 is inside a group"):
        sampler.load_state_dict({"epoch": 0, "given": 6, "together": 4})
    assert {draw.epoch for draw in sampler} == {1}  # it stayed as it was
    with pytest.raises(ArgumentError, match="together takes a ClipDataset"):
        vl.EpochSampler(20, together=4)
    with pytest.raises(ArgumentError, match="is for Loader"):
        vl.ClipDataset(paths, vl.DenseClips(4), clips_per_video="all")


def test_the_state_of_a_sampler_with_other_groups_is_refused(paths):
    dataset = vl.ClipDataset(paths, vl.RandomClip(3), clips_per_video=4)
    states = {}
    for group in (1, 2, 4):
        sampler = vl.EpochSampler(dataset, together=group)
        list(itertools.islice(sampler, 8))
        states[group] = sampler.state_dict()
    assert set(states[1]) == {"epoch", "given"}  # as before there were groups
    for group, other in itertools.permutations(states, 2):
        sampler = vl.EpochSampler(dataset, together=group)
        with pytest.raises(ArgumentError, match=f"together={other}, this one has together={group}"):
            sampler.load_state_dict(states[other])
        sampler.load_state_dict(states[group])
        assert len(list(sampler)) == len(dataset) - 8
