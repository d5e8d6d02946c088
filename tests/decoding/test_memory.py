import gc
import threading

import pytest
import torch

from videoloader.decoding.memory import Recycler

SHAPE = (4, 512, 512)


def empty(recycler, shape=SHAPE, dtype=torch.float32):
    return recycler.empty(shape, dtype=dtype, device="cpu")


def test_memory_is_used_again_when_nobody_holds_it():
    recycler = Recycler(keep=2)
    first = empty(recycler)
    address = first.data_ptr()
    del first
    assert empty(recycler).data_ptr() == address


@pytest.mark.parametrize(
    "hold",
    [
        lambda tensor: tensor[1:2, 3],
        lambda tensor: tensor.numpy()[2:],
        lambda tensor: tensor.view(torch.uint8),
        lambda tensor: tensor.untyped_storage(),
        lambda tensor: memoryview(tensor.numpy()),
        lambda tensor: torch.from_dlpack(tensor),
    ],
)
def test_memory_is_never_used_again_while_anybody_holds_a_part_of_it(hold):
    recycler = Recycler(keep=2)
    tensor = empty(recycler)
    address = tensor.data_ptr()
    part = hold(tensor)
    del tensor
    gc.collect()
    others = [empty(recycler) for _ in range(3)]
    assert all(other.data_ptr() != address for other in others)
    del part
    gc.collect()
    assert empty(recycler).data_ptr() == address


def test_what_it_gives_is_what_torch_gives():
    tensor = empty(Recycler(keep=1), (3, 700, 600), torch.float16)
    assert (tensor.shape, tensor.dtype) == ((3, 700, 600), torch.float16)
    assert tensor.is_contiguous()
    assert tensor.fill_(2).sum(dtype=torch.float64).item() == 2 * tensor.numel()
    assert empty(Recycler(keep=1), (2, 0)).shape == (2, 0)


def test_it_keeps_no_more_than_it_is_told():
    recycler = Recycler(keep=2)
    tensors = [empty(recycler) for _ in range(5)]
    addresses = {tensor.data_ptr() for tensor in tensors}
    del tensors
    assert len(recycler._free) == 2
    assert {block.ctypes.data for block in recycler._free} <= addresses


@pytest.mark.parametrize(("size", "kept"), [((1 << 20) - 1, 0), (1 << 20, 1)])
def test_memory_is_kept_from_one_mebibyte_on(size, kept):
    recycler = Recycler(keep=2)
    empty(recycler, (size,), torch.uint8)  # and dropped at once
    assert len(recycler._free) == kept


def test_a_block_of_another_size_is_let_go():
    recycler = Recycler(keep=2)
    empty(recycler)  # and dropped at once
    larger = empty(recycler, (8, 512, 512))
    assert larger.numel() == 8 * 512 * 512
    assert not recycler._free


def test_threads_never_share_a_block():
    recycler = Recycler(keep=4)
    clashes = []

    def work(number):
        for _ in range(50):
            tensor = empty(recycler, (300, 1000), torch.int32).fill_(number)
            if (tensor != number).any():
                clashes.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not clashes
