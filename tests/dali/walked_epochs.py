"""Epochs of an iterator, by walking through tagged samples: the oracle for their arithmetic."""

import itertools
import math

from videoloader.dali.plugin.epoch_plan import LastBatchPolicy

FILL, DROP, PARTIAL = LastBatchPolicy.FILL, LastBatchPolicy.DROP, LastBatchPolicy.PARTIAL


def shard_of(shard, size, num_shards):
    """The samples of a shard, by the formula of DALI's documentation."""
    first = math.floor(shard * size / num_shards)
    return list(range(first, math.floor((shard + 1) * size / num_shards)))


class Walk:
    """The streams of all shards, batch by batch: tagged samples (epoch, sample, is it padding)."""

    def __init__(self, size, batch_size, num_shards, stick, pad):
        self.size, self.batch_size, self.num_shards = size, batch_size, num_shards
        self.stick, self.pad = stick, pad
        self._streams = [self._stream(number) for number in range(num_shards)]
        self._ahead = [[] for _ in self._streams]

    def shards(self, epoch):
        return [
            shard_of((number + (0 if self.stick else epoch)) % self.num_shards, *self._whole)
            for number in range(self.num_shards)
        ]

    @property
    def _whole(self):
        return self.size, self.num_shards

    def _stream(self, number):
        for epoch in itertools.count():
            shards = self.shards(epoch)
            length = max(map(len, shards))
            while length % self.batch_size:
                length += 1
            yield from ((epoch, sample, False) for sample in shards[number])
            if self.pad:
                yield from [(epoch, shards[number][-1], True)] * (length - len(shards[number]))

    def peek(self):
        for number, stream in enumerate(self._streams):
            while len(self._ahead[number]) < self.batch_size:
                self._ahead[number].append(next(stream))
        return [list(ahead) for ahead in self._ahead]

    def take(self):
        batch = self.peek()
        self._ahead = [[] for _ in self._streams]
        return batch

    def epoch(self, epoch, policy):
        """The batches of an epoch, by shard: what a pipeline for each shard gives."""
        sizes = [len(shard) for shard in self.shards(epoch)]
        given = [[] for _ in sizes]
        batches = []
        if policy is FILL:
            while any(part[0][0] <= epoch for part in self.peek()):
                batches.append(self.take())
            return batches
        if policy is PARTIAL:
            while any(len(got) < size for got, size in zip(given, sizes, strict=True)):
                batch = self.take()
                for got, part, size in zip(given, batch, sizes, strict=True):
                    part[:] = part[: size - len(got)]
                    got += part
                batches.append(batch)
            return batches
        while all(len(got) + self.batch_size <= min(sizes) for got in given):
            batches.append(self.take())
            for got, part in zip(given, batches[-1], strict=True):
                got += part
        if self.pad:
            while any(part[0][0] <= epoch for part in self.peek()):
                self.take()
        elif any(len(got) < min(sizes) for got in given):
            self.take()
        return batches


def walked(reader, policy, count):
    """The first epochs that are not wholly read ahead: (number, samples by batch and shard).

    `reader` is (size, batch_size, num_shards, stick_to_shard, pad_last_batch).
    """
    walk = Walk(*reader)
    epochs = ((epoch, walk.epoch(epoch, policy)) for epoch in itertools.count())
    found = (pair for pair in epochs if pair[1] or policy is not FILL)
    return [(epoch, samples(batches)) for epoch, batches in itertools.islice(found, count)]


def samples(batches):
    """Tagged samples without their tags."""
    return [[[sample for _, sample, _ in part] for part in batch] for batch in batches]
