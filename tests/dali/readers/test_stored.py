"""The order of samples, and `fn.readers.file`."""

import os
import tarfile
import threading
import time
from collections import Counter
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.dali import fn
from videoloader.dali.operators.batch_source import SourceContext
from videoloader.dali.operators.context import Sample
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.readers import stored_samples
from videoloader.dali.readers.stored_samples import ORDER, open_reader
from videoloader.dali.readers.video.planned import ReadError
from videoloader.errors import ArgumentError, OperatorError, SourceError
from videoloader.sampling.orders.reader_epochs import Epochs, Place
from videoloader.sampling.orders.reader_order import ReaderOrder
from videoloader.sampling.orders.sample_order import SampleOrder
from videoloader.sources.items import Item

pytestmark = pytest.mark.usefixtures("no_threads_left")

DEFAULTS = {argument.name: argument.default for argument in ORDER}


def shuffled(epochs, seed):
    return ReaderOrder(epochs, SampleOrder(epochs.size), seed=seed)


def epoch_of(order, epoch):
    return [order.number(Place(epoch, at)) for at in range(len(order.epochs.shard(epoch)))]


@given(
    st.integers(1, 40),
    st.integers(1, 5),
    st.lists(st.integers(0, 9), min_size=5, max_size=5),
    st.integers(0, 3),
    st.booleans(),
)
def test_shards_share_out_every_epoch_whatever_their_seeds(size, shards, seeds, epoch, sticks):
    size = max(size, shards)
    numbers = []
    for shard, seed in zip(range(shards), seeds, strict=False):
        epochs = Epochs(size, 2, shards, shard, sticks)
        numbers += epoch_of(shuffled(epochs, seed), epoch)
    assert sorted(numbers) == list(range(size))


def test_no_shard_sees_one_class_when_the_list_is_sorted_by_class():
    labels = np.repeat(np.arange(4), 250)
    for shard in range(4):
        order = shuffled(Epochs(1000, 10, 4, shard), seed=1)
        counts = Counter(labels[epoch_of(order, 0)].tolist())
        assert min(counts.values()) > 35  # 62.5 of each are expected


def test_each_epoch_has_another_order_and_each_seed():
    def orders(seed):
        order = shuffled(Epochs(50, 5), seed)
        return [tuple(epoch_of(order, epoch)) for epoch in range(4)]

    assert len({*orders(1), *orders(2)}) == 8
    assert orders(1) == orders(1)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(1, 5))
def test_files_are_permuted_whole_after_the_first_epoch(counts, epoch):
    ends = np.cumsum(counts)
    size = int(ends[-1])
    later = SampleOrder(size, files=ends)
    order = ReaderOrder(Epochs(size, 2), SampleOrder(size, shuffle=False), later)
    assert epoch_of(order, 0) == list(range(ends[-1]))
    numbers = epoch_of(order, epoch)
    assert sorted(numbers) == list(range(ends[-1]))
    starts = [at for at, number in enumerate(numbers) if number in {0, *ends.tolist()}]
    assert len(starts) == len(counts)
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        part = numbers[start:end]
        assert part == list(range(part[0], part[0] + len(part)))


class Numbers:
    """A data set of numbers, some of which cannot be read."""

    def __init__(self, size, bad=()):
        self.size, self.bad, self.asked = size, bad, []

    def __len__(self):
        return self.size

    def name(self, number):
        return f"sample-{number}"

    def read(self, number):
        self.asked.append(number)
        if number in self.bad:
            raise OSError("gone")
        return (Sample(number),)


def reader_of(samples, batch_size=2, **arguments):
    context = SourceContext("reader", 0, 1, batch_size, 3)
    return open_reader(context, samples, {**DEFAULTS, **arguments})


def given_by(reader, batches):
    return [sample.outputs[0].value for at in range(batches) for sample in reader.plan(at)]


class Slow(Numbers):
    """Samples that have to be waited for as long as `seconds` says."""

    def __init__(self, size, seconds):
        super().__init__(size)
        self.seconds = seconds
        self.threads = []

    def read(self, number):
        self.threads.append(threading.current_thread())
        time.sleep(self.seconds)
        return super().read(number)


def test_samples_that_have_to_be_waited_for_are_shared_by_threads():
    samples = Slow(40, seconds=0.02)
    reader = reader_of(samples, batch_size=20)
    assert given_by(reader, 2) == list(range(40))
    assert len({*samples.threads}) > 2


def test_samples_that_come_at_once_cost_no_threads_and_slow_ones_are_tried_again(monkeypatch):
    monkeypatch.setattr(stored_samples, "PATIENCE", 0.2)  # on a busy machine, too
    samples = Slow(4, seconds=0)
    reader = reader_of(samples, batch_size=4)
    given_by(reader, 3)
    assert {*samples.threads} == {threading.current_thread()}
    samples.seconds = 0.1
    reader.plan(3)
    samples.seconds, samples.threads = 0, []
    given_by(reader, 40)
    assert samples.threads[-1] is threading.current_thread()


@pytest.mark.parametrize("batch_size", [2, 3, 8])
def test_small_batches_are_shared_by_threads_too(batch_size):
    samples = Slow(40, seconds=0.02)
    given_by(reader_of(samples, batch_size), 4)
    assert len({*samples.threads}) > 1


@pytest.mark.parametrize(("every", "is_shared"), [(10, False), (3, True)])
def test_a_few_samples_that_have_to_be_waited_for_cost_no_threads(monkeypatch, every, is_shared):
    now = 0.0

    class Interrupted(Slow):
        def read(self, number):
            nonlocal now
            now += 0.05 if number % every == 0 else 0
            return super().read(number)

    monkeypatch.setattr(stored_samples, "time", SimpleNamespace(perf_counter=lambda: now))
    samples = Interrupted(40, seconds=0)
    given_by(reader_of(samples, batch_size=20), 2)
    assert ({*samples.threads} != {threading.current_thread()}) == is_shared


@pytest.mark.parametrize("damaged", [{9, 12}, {5, 6, 7, 19}, {19}])
def test_threads_fail_by_the_first_sample_of_the_batch_that_does(damaged):
    class Damaged(Slow):
        def read(self, number):
            time.sleep(0.001 * (20 - number))  # the later ones fail sooner
            if number in damaged:
                raise SourceError(f"sample {number}")
            return super().read(number)

    reader = reader_of(Damaged(20, seconds=0.001), batch_size=20)
    reader._shared = 1
    with pytest.raises(ReadError) as caught:
        reader.plan(0)
    assert caught.value.position == min(damaged)
    assert isinstance(caught.value.error, SourceError)


def test_samples_carry_their_number_in_the_data_set_and_the_epoch():
    reader = reader_of(Numbers(3))
    samples = [sample for batch in range(3) for sample in reader.plan(batch)]
    assert [tuple(sample.identity) for sample in samples] == [
        (0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1),
    ]  # fmt: skip
    assert samples[1].origin == "sample-1"


def test_a_batch_depends_on_its_number_alone():
    through = [reader_of(Numbers(7), random_shuffle=True)] * 9
    for batch, reader in enumerate(through):
        alone = reader_of(Numbers(7), random_shuffle=True)
        assert [s.outputs for s in alone.plan(batch)] == [s.outputs for s in reader.plan(batch)]


def test_a_sample_that_cannot_be_read_is_an_error_that_names_it_or_is_replaced():
    with pytest.raises(ReadError) as caught:
        given_by(reader_of(Numbers(4, bad={1})), 2)
    assert (caught.value.position, caught.value.origin) == (1, "sample-1")
    assert isinstance(caught.value.error, SourceError)
    reader = reader_of(Numbers(4, bad={1, 3}), on_error="replace")
    assert given_by(reader, 2) == [0, 2, 2, 0]
    assert [failure.path for failure in reader.failures] == ["sample-1", "sample-3"]
    with pytest.raises(ReadError, match="none of the 2 samples"):
        given_by(reader_of(Numbers(2, bad={0, 1}), on_error="replace"), 1)


@pytest.mark.parametrize("other", ["random_shuffle", "stick_to_shard"])
def test_shuffle_after_epoch_excludes_other_orders(other, tree):
    with pytest.raises(ArgumentError, match=other):
        read(file_root=tree, shuffle_after_epoch=True, **{other: True})


@pytest.fixture
def tree(tmp_path):
    """Folders of files, each of which has its own path as its content."""
    paths = (
        "b/2.jpg b/1.JPG b/x.txt a/10.png a/9.png a/sub/7.png c/.hidden.jpg .d/1.jpg top.jpg "
        "e/n.txt A/1.jpg"
    )
    for path in [*paths.split(), "b/with space.jpg", "A/é.jpg"]:
        place = tmp_path / "tree" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(path)
    return str(tmp_path / "tree")


def read(batches=None, batch_size=1, **arguments):
    """(content, label) of the samples of an epoch."""
    pipe = pipeline_def(lambda: fn.readers.file(name="reader", **arguments))(
        batch_size=batch_size, num_threads=2
    )
    with pipe:
        size = pipe.epoch_size("reader")
        found = []
        for _ in range(batches or size):
            contents, labels = pipe.run()
            assert [label.shape for label in labels] == [(1,)] * batch_size
            found += [
                (bytes(content.numpy()).decode(), label.item())
                for content, label in zip(contents, labels, strict=True)
            ]
    return found


def test_files_come_by_folder_and_name_with_the_position_of_the_folder(tree):
    assert read(file_root=tree) == [
        (".d/1.jpg", 0), ("A/1.jpg", 1), ("A/é.jpg", 1), ("a/10.png", 2), ("a/9.png", 2),
        ("b/1.JPG", 3), ("b/2.jpg", 3), ("b/with space.jpg", 3), ("c/.hidden.jpg", 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"file_filters": "*.TXT"}, [("b/x.txt", 3), ("e/n.txt", 5)]),
        ({"file_filters": ["*.txt", "1*"], "dir_filters": "[bE]"},
         [("b/1.JPG", 0), ("b/x.txt", 0), ("e/n.txt", 1)]),
        ({"file_filters": ["*.JPG"], "case_sensitive_filter": True}, [("b/1.JPG", 3)]),
        ({"dir_filters": "A", "case_sensitive_filter": True}, [("A/1.jpg", 0), ("A/é.jpg", 0)]),
    ],
)  # fmt: skip
def test_filters_choose_files_and_folders(tree, filters, expected):
    assert read(file_root=tree, **filters) == expected


def test_a_list_of_files_has_labels_or_their_positions(tree):
    names = ["b/2.jpg", "a/9.png"]
    assert read(files=names, file_root=tree) == [("b/2.jpg", 0), ("a/9.png", 1)]
    assert read(files=names, file_root=tree, labels=[5, -7]) == [("b/2.jpg", 5), ("a/9.png", -7)]
    assert read(files=[os.path.join(tree, names[0])]) == [("b/2.jpg", 0)]


def test_a_list_file_is_relative_to_itself_or_the_root(tree, tmp_path):
    text = f"b/2.jpg 3\n\na/9.png  -1  \nb/with space.jpg\t2\n{tree}/e/n.txt 7"
    expected = [("b/2.jpg", 3), ("a/9.png", -1), ("b/with space.jpg", 2), ("e/n.txt", 7)]
    (tmp_path / "tree" / "list.txt").write_text(text)
    (tmp_path / "list.txt").write_text(text)
    assert read(file_list=f"{tree}/list.txt") == expected
    assert read(file_list=str(tmp_path / "list.txt"), file_root=tree) == expected


@pytest.mark.parametrize("line", ["b/2.jpg", "b/2.jpg 1.5", "7", "b/2.jpg one"])
def test_a_line_without_a_label_is_named(tree, tmp_path, line):
    (tmp_path / "list.txt").write_text(f"a/9.png 1\n{line}\n")
    with pytest.raises(ValueError, match=r"list\.txt, line 2"):
        read(file_list=str(tmp_path / "list.txt"), file_root=tree)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "file_root, file_list or files"),
        ({"files": []}, "empty"),
        ({"files": ["a"], "file_list": "b"}, "not both"),
        ({"files": ["a", "b"], "labels": [1]}, "1 labels for 2"),
        ({"file_root": "x", "labels": [1]}, "labels go with files"),
        ({"file_root": "/nowhere"}, "/nowhere"),
        ({"file_list": "/nowhere.txt"}, "/nowhere.txt"),
        ({"files": ["a"], "num_shards": 2}, "too few for 2 shards"),
        ({"files": ["a"], "shard_id": 1}, "shard_id"),
    ],
)
def test_arguments_without_a_meaning_are_named(arguments, message):
    with pytest.raises((ArgumentError, SourceError), match=message):
        read(**arguments)


def test_a_file_that_is_not_there_is_named_when_it_is_read(tree):
    with pytest.raises(OperatorError, match=r"nowhere\.jpg"):
        read(file_root=tree, files=["a/9.png", "nowhere.jpg"])
    found = read(file_root=tree, files=["nowhere.jpg", "a/9.png"], on_error="replace")
    assert found == [("a/9.png", 1), ("a/9.png", 1)]


def test_padding_and_shards_are_those_of_the_epochs(tree):
    names = ["a/9.png", "a/10.png", "b/2.jpg"]
    padded = read(3, 2, files=names, file_root=tree, pad_last_batch=True)
    assert [label for _, label in padded] == [0, 1, 2, 2, 0, 1]
    shard = read(2, 1, files=names, file_root=tree, num_shards=2, shard_id=1, stick_to_shard=True)
    assert [label for _, label in shard] == [1, 2]


def test_a_file_may_be_a_url_or_a_member_of_an_archive(tree, tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(f"{tree}/b/2.jpg", "member.jpg")
    with tarfile.open(tmp_path / "a.tar") as tar:
        (member,) = tar.getmembers()
    item = Item(str(tmp_path / "a.tar"), "member.jpg", member.offset_data, member.size)
    assert read(files=[item, f"file://{tree}/a/9.png"]) == [("b/2.jpg", 0), ("a/9.png", 1)]


@pytest.mark.parametrize("threads", [1, 3])
def test_several_threads_keep_the_order_of_a_batch(tree, threads):
    names = [name for name, _ in read(file_root=tree)]
    pipe = pipeline_def(lambda: fn.readers.file(file_root=tree))(batch_size=9, num_threads=threads)
    with pipe:
        for contents, _ in islice(iter(pipe.run, None), 3):
            assert [bytes(each.numpy()).decode() for each in contents] == names


def read_contents(*paths, dtype=np.uint8):
    encoded = [np.frombuffer(os.fsencode(path), dtype) for path in paths]
    pipe = pipeline_def(lambda: fn.io.file.read(fn.external_source(lambda: encoded)))
    with pipe(batch_size=len(paths)) as running:
        return [bytes(each.numpy()).decode() for each in running.run()[0]]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_io_file_read_takes_paths_as_bytes(tree, dtype):
    paths = (f"{tree}/a/9.png", f"{tree}/A/é.jpg\0")
    assert read_contents(*paths, dtype=dtype) == ["a/9.png", "A/é.jpg"]
    with pytest.raises(OperatorError, match="/nowhere"):
        read_contents(f"{tree}/a/9.png", "/nowhere")


def test_readers_with_one_seed_read_in_one_order(tree):
    def define(seed):
        names = ["a/9.png", "a/10.png", "b/2.jpg", "b/1.JPG"] * 5
        first = fn.readers.file(files=names, file_root=tree, random_shuffle=True, seed=seed)
        second = fn.readers.file(files=names, file_root=tree, random_shuffle=True, seed=seed)
        return first[1], second[1]

    with pipeline_def(lambda: define(4))(batch_size=20) as pipe:
        assert all(one.as_array().tolist() == two.as_array().tolist() for one, two in [pipe.run()])
    with pipeline_def(lambda: define(None))(batch_size=20) as pipe:
        one, two = pipe.run()
        assert one.as_array().tolist() != two.as_array().tolist()


def test_samples_tell_where_they_come_from(tree):
    with pipeline_def(lambda: fn.readers.file(file_root=tree))(batch_size=2) as pipe:
        contents, _ = pipe.run()
        assert [each.source_info() for each in contents] == [".d/1.jpg", "A/1.jpg"]


def test_a_pipeline_goes_on_from_a_checkpoint_of_its_reader(tree):
    def make(**arguments):
        return pipeline_def(lambda: fn.readers.file(file_root=tree, random_shuffle=True))(
            batch_size=4, seed=5, enable_checkpointing=True, **arguments
        )

    def take(pipe, count):
        return [[bytes(each.numpy()) for each in pipe.run()[0]] for _ in range(count)]

    with make() as pipe:
        take(pipe, 3)
        state = pipe.checkpoint()
        expected = take(pipe, 4)
    with make(checkpoint=state) as pipe:
        assert take(pipe, 4) == expected
