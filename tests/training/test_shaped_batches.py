"""Buckets, packs and columns of `Loader`."""

import json
import random
import shutil
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from mixed_videos import TRAITS, caption, encode_all, write_shard
from object_server import serve

import videoloader as vl

SHAPES = [(8, 96, 160), (8, 160, 96), (4, 128, 128), (2, 96, 96)]
PACKING = vl.Packing(480, patchify=(2, 16, 16))
BUCKETS = vl.Buckets(SHAPES, max_tokens=960, patch=(1, 16, 16))
CLIPS = vl.RandomClip(16, fps=8)


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    return encode_all(tmp_path_factory.mktemp("videos"))


@pytest.fixture(scope="module")
def dataset(videos, tmp_path_factory):
    """Two shards of eight videos each."""
    folder = tmp_path_factory.mktemp("shards")
    for shard in range(2):
        data = write_shard(videos, range(8 * shard, 8 * shard + 8))
        (folder / f"{shard}.tar").write_bytes(data)
    return vl.index_dataset(folder, folder / "set.parquet", workers=0)


def loader(dataset, batches=PACKING, **options):
    options = {"workers": 0, "shuffle": True, "seed": 4, **options}
    return vl.Loader(dataset, options.pop("clips", CLIPS), batches=batches, **options)


def content(batch):
    """Everything in a batch, to compare."""
    return {
        name: [each.numpy().tobytes() if isinstance(each, torch.Tensor) else each for each in value]
        if isinstance(value, list)
        else value.numpy().tobytes()
        if isinstance(value, torch.Tensor)
        else value
        for name, value in batch.items()
    }


def covering(video, frames, shape):
    """The clip as it should be: whole pictures resized to cover the shape, the middle cut out."""
    height, width = video[0].shape[:2]
    scale = max(shape[1] / height, shape[2] / width)
    size = max(shape[1], round(height * scale)), max(shape[2], round(width * scale))
    whole = video.get_frames(frames=frames, size=size).frames
    top, left = (size[0] - shape[1]) // 2, (size[1] - shape[2]) // 2
    return whole[:, top : top + shape[1], left : left + shape[2]].permute(0, 3, 1, 2)


def test_clips_of_buckets_are_resized_to_cover_their_shape(dataset, videos):
    seen = []
    for batch in loader(dataset, BUCKETS):
        shape = batch["frames"].shape
        assert (shape[1], *shape[3:]) in SHAPES
        assert len(batch["frames"]) * (shape[1] * shape[3] * shape[4] // 256) <= 960
        seen += batch["sample"].tolist()
        rows = zip(batch["sample"].tolist(), batch["frames"], batch["frame_numbers"], strict=True)
        for sample, frames, numbers in rows:
            with vl.Video(videos[sample % 8]) as video:
                expected = covering(video, numbers.tolist(), (shape[1], *shape[3:]))
                steps = np.diff(video.index.seconds(numbers.numpy()))
            difference = (frames.float() - expected.float()).abs()
            assert difference.max() <= 3
            period = 1 / float(TRAITS[sample % 8][3])
            assert np.abs(steps - 1 / 8).max() <= period + 1e-6
    assert sorted(seen) == list(range(16))


def test_packs_hold_the_pictures_of_their_videos_as_they_are(dataset, videos):
    seen = []
    for batch in loader(dataset):
        clips = vl.unpatchify(batch["patches"], batch["shapes"], (2, 16, 16))
        for at, sample in enumerate(batch["sample"].tolist()):
            shape = batch["shapes"][at].tolist()
            numbers = batch["frame_numbers"][at]
            assert len(numbers) == shape[0]
            with vl.Video(videos[sample % 8]) as video:
                expected = covering(video, numbers.tolist(), shape)
                assert video.index.seconds(numbers.numpy()).tolist() == batch["times"][at].tolist()
                height, width = video[0].shape[:2]
            assert (shape[1], shape[2]) == (height // 16 * 16, width // 16 * 16)
            assert torch.equal(clips[at], expected)
        seen += batch["sample"].tolist()
    assert sorted(seen) == list(range(16))


@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize("layout", ["FCHW", "CFHW", "FHWC"])
def test_a_pack_says_where_each_token_comes_from(dataset, pad, layout):
    packing = vl.Packing(480, patchify=(2, 16, 16), pad=pad)
    plain = vl.Packing(480, patch=(2, 16, 16))
    together = zip(
        loader(dataset, packing, layout=layout), loader(dataset, plain, layout=layout), strict=True
    )
    for batch, clips in together:
        assert batch["cu_seqlens"].dtype == batch["sample_ids"].dtype == torch.int32
        bounds = batch["cu_seqlens"].tolist()
        assert bounds[0] == 0
        assert len(bounds) == len(batch["sample"]) + 1
        total = len(batch["patches"])
        assert total == (480 if pad else bounds[-1]) <= 480
        for name in ("positions", "sample_ids", "mask", "token_times"):
            assert len(batch[name]) == total
        assert batch["max_seqlen"] == max(np.diff(bounds))
        assert not batch["mask"][bounds[-1] :].any()
        assert not batch["patches"][bounds[-1] :].any()
        assert (batch["sample_ids"][bounds[-1] :] == -1).all()
        assert batch["mask"][: bounds[-1]].all()
        for at, clip in enumerate(clips["frames"]):
            frames = clip.permute([layout.index(axis) for axis in "FHWC"])
            assert list(frames.shape[:3]) == batch["shapes"][at].tolist()
            token = bounds[at]
            for i in range(0, frames.shape[0], 2):
                for j in range(0, frames.shape[1], 16):
                    for k in range(0, frames.shape[2], 16):
                        patch = frames[i : i + 2, j : j + 16, k : k + 16].reshape(-1)
                        assert torch.equal(batch["patches"][token], patch)
                        assert batch["positions"][token].tolist() == [i // 2, j // 16, k // 16]
                        assert batch["sample_ids"][token] == at
                        assert batch["token_times"][token] == batch["times"][at][i]
                        token += 1
            assert token == bounds[at + 1]


@pytest.mark.parametrize("batches", [BUCKETS, PACKING], ids=["buckets", "packs"])
@pytest.mark.parametrize("done", [0, 1, 3, 100])
def test_the_rest_is_bit_for_bit_the_same_after_a_restore(dataset, batches, done):
    def rest(loader):
        return [content(batch) for batch in loader]

    whole = rest(loader(dataset, batches, columns=(".txt",)))
    first = loader(dataset, batches, columns=(".txt",))
    running = iter(first)
    for _, batch in zip(range(done), running, strict=False):
        assert content(batch) in whole
    state = json.loads(json.dumps(first.state_dict()))
    running.close()
    second = loader(dataset, batches, columns=(".txt",), prefetch=1)
    second.load_state_dict(state)
    if done >= len(whole):
        assert state["epoch"] == 1
    else:
        assert rest(second) == whole[done:]


@pytest.mark.parametrize("batches", [BUCKETS, PACKING], ids=["buckets", "packs"])
def test_other_ranks_go_on_without_losing_or_repeating_a_sample(dataset, batches):
    options = {"remainder": "keep", "device": "cpu"}
    seen, states = [], []
    for rank in range(2):
        part = loader(dataset, batches, rank=rank, num_ranks=2, **options)
        for _, batch in zip(range(2), part, strict=False):
            seen += batch["sample"].tolist()
        part = loader(dataset, batches, rank=rank, num_ranks=2, **options)
        running = iter(part)
        next(running), next(running)
        states.append(part.state_dict())
        part.close()
    assert states[0] == states[1]
    for rank in range(3):
        part = loader(dataset, batches, rank=rank, num_ranks=3, **options)
        part.load_state_dict(states[0])
        for batch in part:
            seen += batch["sample"].tolist()
    assert sorted(seen) == list(range(16))


def test_a_state_that_was_loaded_is_given_again(dataset):
    packs = vl.Packing(480, patchify=(2, 16, 16), window=4)
    counts = [len(loader(dataset, packs).order.plan.batches(epoch)) for epoch in range(20)]
    longest = int(np.argmax(counts))
    assert counts[longest] > counts[0]
    loading = loader(dataset, packs)
    for position in (1, counts[longest] - 1):
        state = {**loading.state_dict(), "epoch": longest, "position": position}
        loading.load_state_dict(state)
        assert loading.state_dict() == state


def test_states_of_other_batches_are_refused(dataset):
    state = loader(dataset).state_dict()
    other = vl.Packing(500, patchify=(2, 16, 16))
    for batches in (other, BUCKETS):
        with pytest.raises(vl.errors.ArgumentError, match="the state is of a loader with batches="):
            loader(dataset, batches).load_state_dict(state)
    plain = vl.Loader(dataset, CLIPS, batch_size=2, size=64, seed=4)
    with pytest.raises(vl.errors.ArgumentError, match="batches=None"):
        loader(dataset).load_state_dict(plain.state_dict())


def test_epochs_have_packs_of_their_own(dataset):
    packs = loader(dataset, batches=vl.Packing(480, patch=(2, 16, 16)))
    first, second = ([batch["sample"].tolist() for batch in packs] for _ in range(2))
    assert first != second
    assert sorted(chain(*first)) == sorted(chain(*second)) == list(range(16))
    assert packs.order.plan.fill_rate(1) > 0.5


def test_flips_and_random_crops_fill_the_bucket_too(dataset):
    options = {"random_resized_crop": ((0.3, 0.8), (0.7, 1.4)), "random_flip": 0.5}
    batches = list(loader(dataset, BUCKETS, **options))
    assert {(b["frames"].shape[1], *b["frames"].shape[3:]) for b in batches} <= set(SHAPES)
    with pytest.raises(vl.errors.ArgumentError, match="random_resized_crop"):
        loader(dataset, PACKING, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 64}, "leave out size"),
        ({"resize_shorter": 64}, "leave out size"),
        ({"crop_size": 32}, "leave out size"),
        ({"rotate": False}, "leave out rotate"),
        ({"batch_size": 2}, "either batch_size or batches"),
        ({"batches": None}, "either batch_size or batches"),
        ({"batches": (2, 16, 16)}, "must be Buckets or Packing"),
        ({"clips": vl.DenseClips(8)}, "several lengths"),
        ({"transform": list}, "transform"),
        ({"sample_transform": dict}, "transform"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(dataset, options, message):
    with pytest.raises(vl.errors.ArgumentError, match=message):
        loader(dataset, **{"batches": PACKING, **options})


def test_listed_videos_need_an_index(videos):
    with pytest.raises(vl.errors.ArgumentError, match="index_dataset"):
        loader(videos)


def test_transforms_of_bucketed_samples_get_their_columns(dataset):
    def transform(sample):
        return {"length": len(sample[".txt"]), "mean": sample["frames"].float().mean()}

    lengths = [
        length
        for batch in loader(dataset, BUCKETS, columns=".txt", sample_transform=transform)
        for length in batch["length"].tolist()
    ]
    assert sorted(lengths) == sorted(len(caption(number)) for number in range(16))


def test_columns_are_those_of_their_samples(dataset, tmp_path):
    keys = dataset.keys
    order = random.Random(0).sample(range(16), 16)
    table = {
        "path": [keys[row] if row % 2 else keys[row].rpartition("/clips/")[2] for row in order],
        "caption": [caption(row) for row in order],
        "score": [row / 2 for row in order],
        "is_even": [row % 2 == 0 for row in order],
        "note": [None if row < 8 else str(row) for row in order],
    }
    pq.write_table(pa.table(table), tmp_path / "captions.parquet")
    columns = (
        "num_frames",
        "codec",
        ".txt",
        ".json",
        vl.TableColumns(tmp_path / "captions.parquet", ("caption", "score", "is_even", "note")),
    )
    batches = list(loader(dataset, columns=columns))
    batches += list(vl.Loader(dataset, CLIPS, batch_size=5, size=64, columns=columns, workers=0))
    for batch in batches:
        samples = batch["sample"].tolist()
        assert batch["num_frames"].tolist() == [TRAITS[sample % 8][2] for sample in samples]
        assert batch["score"].tolist() == [sample / 2 for sample in samples]
        assert batch["score"].dtype == torch.float64
        assert batch["is_even"].tolist() == [sample % 2 == 0 for sample in samples]
        assert batch["codec"] == ["h264"] * len(samples)
        assert batch[".txt"] == batch["caption"] == [caption(sample) for sample in samples]
        assert [facts["number"] for facts in batch[".json"]] == samples
        assert batch["note"] == [None if sample < 8 else str(sample) for sample in samples]


def test_files_beside_listed_videos_go_along(videos, tmp_path):
    for number, path in enumerate(videos):
        shutil.copy(path, tmp_path / f"{number}.mp4")
        (tmp_path / f"{number}.txt").write_text(caption(number) if number else "")
    (batch,) = vl.Loader(tmp_path, CLIPS, batch_size=8, size=64, columns=[".txt"], workers=0)
    assert batch[".txt"] == ["", *(caption(number) for number in range(1, 8))]


def test_a_missing_caption_is_a_failure_of_its_sample(videos, tmp_path):
    for number, path in enumerate(videos[:4]):
        shutil.copy(path, tmp_path / f"{number}.mp4")
        if number != 2:
            (tmp_path / f"{number}.txt").write_text(caption(number))
    options = {"batch_size": 4, "size": 64, "columns": [".txt"], "workers": 0}
    with pytest.raises(vl.errors.SourceError, match=r"2\.txt"):
        list(vl.Loader(tmp_path, CLIPS, **options))
    (batch,) = skipping = vl.Loader(tmp_path, CLIPS, on_error="skip", **options)
    assert batch["sample"].tolist() == [0, 1, 3]
    assert batch[".txt"] == [caption(0), caption(1), caption(3)]
    (batch,) = vl.Loader(tmp_path, CLIPS, on_error="replace", **options)
    assert batch[".txt"] == [caption(0), caption(1), caption(3), caption(3)]
    (batch,) = vl.Loader(tmp_path, CLIPS, on_error="mask", **options)
    assert batch[".txt"] == [caption(0), caption(1), None, caption(3)]
    assert batch["mask"].any(dim=1).tolist() == [True, True, False, True]
    assert len(skipping) == 1


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("captions",), "no column 'captions'"),
        (("fps", "fps"), "'fps' is asked for twice"),
        ((".txt", vl.TableColumns("table.parquet", (".txt",))), "'.txt' is asked for twice"),
        ((vl.TableColumns("table.parquet", ("mask",)),), "'mask' is something else"),
        (vl.TableColumns("table.parquet", ("text",)), "no column 'text'"),
        (vl.TableColumns("absent.parquet"), "no such file"),
        (vl.TableColumns("twice.parquet"), "several rows for 'a'"),
        (vl.TableColumns("table.parquet"), "16 of 16 videos have no row"),
    ],
)
def test_columns_that_are_not_there_are_refused(dataset, tmp_path, monkeypatch, columns, message):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"path": ["a"], "caption": ["b"]}), "table.parquet")
    pq.write_table(pa.table({"path": ["a", "a"], "caption": ["b", "c"]}), "twice.parquet")
    with pytest.raises(vl.VideoError, match=message):
        loader(dataset, columns=columns)


@pytest.mark.parametrize("on_error", ["skip", "mask"])
@pytest.mark.parametrize("batches", [BUCKETS, PACKING], ids=["buckets", "packs"])
def test_a_bad_video_costs_its_own_clip(videos, tmp_path, batches, on_error):
    for number, path in enumerate(videos):
        shutil.copy(path, tmp_path / f"{number}.mp4")
    dataset = vl.index_dataset(tmp_path, tmp_path / "set.parquet", workers=0)
    whole = {
        sample: shape
        for batch in loader(dataset, PACKING)
        for sample, shape in zip(batch["sample"].tolist(), batch["shapes"].tolist(), strict=True)
    }
    (tmp_path / "3.mp4").unlink()
    seen = []
    for batch in loader(dataset, batches, on_error=on_error):
        seen += batch["sample"].tolist()
        masks = batch["mask"] if batches is BUCKETS else batch["frame_mask"]
        for sample, mask in zip(batch["sample"].tolist(), masks, strict=True):
            assert bool(mask.any()) == bool(mask.all()) == (sample != 3)
        if batches is PACKING:
            shapes = batch["shapes"].tolist()
            assert shapes == [whole[sample] for sample in batch["sample"].tolist()]
            lost = torch.tensor([s == 3 for s in batch["sample"].tolist()], dtype=torch.bool)
            assert torch.equal(batch["mask"], ~lost[batch["sample_ids"].long()])
    if on_error == "mask":
        assert sorted(seen) == [*range(8)]
    else:  # where it was alone in its batch, another one stands for it
        assert {*seen} == {*range(8)} - {3}


def test_a_bad_video_of_a_bucket_is_replaced_by_one_of_the_bucket(dataset, videos, tmp_path):
    for number in range(16):
        shutil.copy(videos[number % 8], tmp_path / f"{number:02}.mp4")
    copy = vl.index_dataset(tmp_path, tmp_path / "set.parquet", workers=0)
    plan = loader(copy, BUCKETS).order.plan
    (tmp_path / "03.mp4").unlink()
    alike = [n for n in range(16) if plan.shape(n) == plan.shape(3)]
    seen = []
    for batch in loader(copy, BUCKETS, on_error="replace"):
        seen += batch["sample"].tolist()
    following = alike[alike.index(3) + 1]
    assert sorted(seen) == sorted([*(n for n in range(16) if n != 3), following])


def test_rows_that_are_failures_are_in_no_batch(videos, tmp_path):
    (tmp_path / "0.mp4").write_bytes(b"no video at all" * 100)
    for number in range(1, 4):
        shutil.copy(videos[number], tmp_path / f"{number}.mp4")
    dataset = vl.index_dataset(tmp_path, tmp_path / "set.parquet", workers=0)
    assert dataset.failed.tolist() == [0]
    for batches in (BUCKETS, PACKING):
        seen = {}
        for batch in loader(dataset, batches, columns=("height", "key")):
            rows = zip(
                batch["sample"].tolist(), batch["height"].tolist(), batch["key"], strict=True
            )
            seen |= {row: (height, key) for row, height, key in rows}
        assert seen == {row: (TRAITS[row][1], f"{row}.mp4") for row in range(1, 4)}


def test_an_epoch_of_bad_videos_alone_is_an_error(videos, tmp_path):
    shutil.copy(videos[0], tmp_path / "0.mp4")
    dataset = vl.index_dataset(tmp_path, tmp_path / "set.parquet", workers=0)
    (tmp_path / "0.mp4").unlink()
    for batches in (BUCKETS, PACKING):
        loading = loader(dataset, batches, on_error="skip")
        with pytest.raises(vl.errors.DecodeError, match="none of the 1 videos decodes"):
            list(loading)
        assert len(loading.failures) == 1


def test_unfit_videos_are_listed_by_row(dataset):
    buckets = vl.Buckets([(8, 96, 160)], batch_size=2, on_unfit="skip")
    loading = loader(dataset, buckets)
    wide = [row for row in range(16) if row % 8 in (0, 3, 7)]
    seen = [sample for batch in loading for sample in batch["sample"].tolist()]
    short = [row for row in range(16) if row % 8 == 7]  # 6 frames at 8 a second
    assert sorted(seen) == [row for row in wide if row not in short]
    assert loading.unfit.tolist() == sorted(set(range(16)) - set(seen))


def test_shards_behind_urls_are_read_by_ranges(videos, tmp_path):
    shard = write_shard(videos, range(8))
    with serve(objects={"/data/0.tar": shard}) as server:
        dataset = vl.index_dataset(
            [f"{server.url}/data/0.tar"], tmp_path / "set.parquet", workers=0
        )
        server.forget()
        seen = {}
        for batch in loader(dataset, columns=(".txt", ".json")):
            for sample, text, facts in zip(
                batch["sample"].tolist(), batch[".txt"], batch[".json"], strict=True
            ):
                seen[sample] = text
                assert facts["number"] == sample
        assert seen == {number: caption(number) for number in range(8)}
        assert all(status == "GET" for status, _, _ in server.requests)


@pytest.mark.gpu
@pytest.mark.parametrize("batches", [BUCKETS, PACKING], ids=["buckets", "packs"])
def test_batches_on_a_gpu_are_those_on_the_cpu(dataset, batches):
    together = zip(loader(dataset, batches), loader(dataset, batches, device="cuda"), strict=True)
    name = "frames" if batches is BUCKETS else "patches"
    for ours, theirs in together:
        assert theirs[name].is_cuda
        difference = (ours[name].float() - theirs[name].cpu().float()).abs()
        assert difference.max() <= 3
        for other in set(ours) - {name}:
            if isinstance(ours[other], torch.Tensor):
                assert torch.equal(ours[other], theirs[other].cpu())
