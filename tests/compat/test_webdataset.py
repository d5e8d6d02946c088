import io
import pickle
import tarfile

import numpy as np
import pytest
from peer_frames import decoded

import videoloader as vl
from videoloader.compat.webdataset import VideoHandler, decode_video


def test_a_video_becomes_frames_audio_and_info(clip):
    frames, audio, info = decode_video(".front.MP4", clip.read_bytes())
    assert np.array_equal(frames, decoded(clip))
    assert audio.shape == (1, 0)
    assert (info["video_fps"], info["num_frames"]) == (25, 50)
    assert info["frames_indices"] == list(range(50))


@pytest.mark.parametrize("key", [".txt", ".jpg", ".mp4.txt", "mp4x", ".json"])
def test_other_files_are_left_to_other_handlers(key):
    assert decode_video(key, b"anything") is None


def test_a_sampler_and_a_form_may_be_chosen_and_the_handler_pickles(clip):
    handler = VideoHandler(clips=vl.UniformClip(4), layout="FCHW", size=(90, 12))
    handler = pickle.loads(pickle.dumps(handler))
    frames, _, info = handler("mp4", clip.read_bytes())
    assert frames.shape == (4, 3, 90, 12)
    whole, _, _ = VideoHandler(clips=vl.UniformClip(4))("mp4", clip.read_bytes())
    assert np.array_equal(whole, decoded(clip)[info["frames_indices"]])


def test_damaged_bytes_are_an_error():
    with pytest.raises(vl.errors.FormatError):
        decode_video("mp4", b"this is no video" * 10)


def test_webdataset_itself_decodes_with_it(clip, tmp_path):
    wds = pytest.importorskip("webdataset")
    shard = tmp_path / "shard.tar"
    with tarfile.open(shard, "w") as archive:
        for name, data in (("a.mp4", clip.read_bytes()), ("a.txt", b"a label")):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    (sample,) = wds.WebDataset(str(shard), shardshuffle=False).decode(decode_video)
    assert np.array_equal(sample["mp4"][0], decoded(clip))
    assert sample["txt"] == "a label"
