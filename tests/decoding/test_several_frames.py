"""Packets that hold several frames each: AV1 temporal units and VP9 superframes that show two."""

import io
import struct

import av
import numpy as np
import pytest

import videoloader as vl
from videoloader.demo.videos import encode_video

FRAMES = 12


def paired(path, join):
    """An IVF file with the packets of another, two of them in each."""
    data, table = path.read_bytes(), vl.index_video(path).packets
    packets = [data[row["offset"] : row["offset"] + row["size"]] for row in table]
    made = data[:32]
    for number in range(0, len(packets) - 1, 2):
        packet = join(packets[number], packets[number + 1])
        made += struct.pack("<IQ", len(packet), number) + packet
    return made


def in_one_unit(first, second):
    return first + second[2:]  # without its temporal delimiter


def in_one_superframe(first, second):
    """VP9 (annex B): the frames, and an index with the size of each between two markers."""
    marker = bytes([0b110 << 5 | 1 << 3 | 1])  # sizes of two bytes, two frames
    return first + second + marker + struct.pack("<HH", len(first), len(second)) + marker


# Encoder, its options for streams without hidden frames, and how two packets become one.
KINDS = {
    "av1": ("libsvtav1", {"svtav1-params": "pred-struct=1", "preset": "12"}, in_one_unit),
    "vp9": ("libvpx-vp9", {"deadline": "realtime", "lag-in-frames": "0"}, in_one_superframe),
}


@pytest.fixture(scope="module", params=KINDS)
def video(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("several") / "clip.ivf"
    encoder, options, join = KINDS[request.param]
    encode_video(path, codec=encoder, frames=FRAMES, size=(64, 64), options=options)
    return paired(path, join)


@pytest.fixture(scope="module")
def pictures(video):
    with av.open(io.BytesIO(video)) as container:
        return [frame.to_ndarray() for frame in container.decode(video=0)]


def planes_of(surface):
    return np.concatenate([plane.ravel() for plane in surface.planes])


@pytest.mark.parametrize("wanted", [range(FRAMES), [1], [7, 3, 7, 2], [11, 0]])
def test_frames_of_one_packet_are_told_apart(video, pictures, wanted):
    with vl.Video(video) as opened:
        assert len(opened) == len(pictures) == FRAMES > len(opened.index.packets)
        found = dict(opened.decode(list(wanted)))
    assert found.keys() == set(wanted)
    for number, surface in found.items():
        assert planes_of(surface).tolist() == pictures[number].ravel().tolist()


def test_their_index_is_stored_and_their_data_set_reads(tmp_path, video, pictures):
    (tmp_path / "clip.ivf").write_bytes(video)
    with vl.index_dataset(tmp_path / "clip.ivf", tmp_path / "set.parquet", 0) as dataset:
        assert dataset[0].num_frames == FRAMES
        with vl.Video(dataset.source(0), index=dataset[0]) as opened:
            ((_, surface),) = opened.decode([5])
    assert planes_of(surface).tolist() == pictures[5].ravel().tolist()
    vl.index_video(video).save(tmp_path / "clip.index")
    assert vl.VideoIndex.load(tmp_path / "clip.index").pts.tolist() == times_of(video)


def times_of(video):
    with av.open(io.BytesIO(video)) as container:
        return [frame.pts for frame in container.decode(video=0)]
