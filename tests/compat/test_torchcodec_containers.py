"""torchcodec's `get_container_metadata` against PyAV's reading of the header."""

import av
import pytest
from audio_files import make_signal, write_sound

from videoloader.compat.torchcodec.decoders import (
    AudioDecoder,
    AudioStreamHeaderMetadata,
    ContainerMetadata,
    VideoDecoder,
    VideoStreamHeaderMetadata,
    get_container_metadata,
)
from videoloader.demo.videos import encode_video


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("container") / "a.mp4"
    return write_sound(path, make_signal(), 44100, "aac", with_video=True)


def test_every_stream_is_listed_with_its_kind(path):
    found = get_container_metadata(path)
    assert isinstance(found, ContainerMetadata)
    with av.open(str(path)) as container:
        assert [s.media_type for s in found.streams] == [s.type for s in container.streams]
        assert [s.stream_index for s in found.streams] == [0, 1]
        assert found.duration_seconds_from_header == container.duration / 1e6
        assert found.bit_rate_from_header == container.bit_rate
    sound = found.streams[found.best_audio_stream_index]
    video = found.streams[found.best_video_stream_index]
    assert isinstance(sound, AudioStreamHeaderMetadata)
    assert isinstance(video, VideoStreamHeaderMetadata)
    for header, decoder in ((sound, AudioDecoder(path)), (video, VideoDecoder(path))):
        for name in vars(header):
            assert getattr(header, name) == getattr(decoder.metadata, name), name
    assert "best_audio_stream_index" in repr(found)


def test_a_turned_video_has_the_size_of_its_frames(tmp_path):
    path = encode_video(tmp_path / "turned.mp4", frames=3, size=(64, 48), rotation=90)
    found = get_container_metadata(path.read_bytes())
    assert (found.streams[0].width, found.streams[0].height) == (48, 64)
    assert found.streams[0].rotation == VideoDecoder(path).metadata.rotation
    assert found.best_audio_stream_index is None


def test_what_is_no_media_file_is_a_runtime_error(tmp_path):
    with pytest.raises(RuntimeError):
        get_container_metadata(b"no media file" * 9)
    with pytest.raises(OSError, match="none"):
        get_container_metadata(tmp_path / "none.mp4")
