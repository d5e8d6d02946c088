"""Images of a batch in files."""

import numpy as np
import pytest
from image_files import picture

from videoloader.dali import fn, pipeline_def
from videoloader.errors import VideoError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(path):
    """The pixels of a PPM or PGM of text."""
    kind, *numbers = path.read_text().split()
    width, height, most, *values = map(int, numbers)
    assert most == 255
    return np.array(values, np.uint8).reshape(height, width, {"P3": 3, "P2": 1}[kind])


def test_a_pipeline_writes_every_image_whether_or_not_it_is_used(folder):
    batches = [
        [picture(7 + n + k, 5, channels) for k, channels in enumerate((3, 1, 3, 3, 1))]
        for n in range(2)
    ]

    @pipeline_def(batch_size=5, num_threads=2, device_id=None, prefetch_queue_depth=1)
    def pipeline():
        data = fn.external_source(source=iter(batches), layout="HWC")
        fn.dump_image(data, suffix="unused", preserve=True)
        return fn.dump_image(data, suffix="seen")

    with pipeline() as pipe:
        for batch in batches:
            (out,) = pipe.run()
            assert out.layout() == "HWC"
            for mine, expected in zip(out, batch, strict=True):
                assert np.array_equal(mine.numpy(), expected)
    names = {f"{k}-{suffix}-0.ppm" for k in range(5) for suffix in ("unused", "seen")}
    assert {path.name for path in folder.iterdir()} == names
    for name in names:
        assert np.array_equal(read(folder / name), batches[1][int(name[0])])


def test_the_text_is_that_of_dali(folder):
    image = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)[..., :3]
    fn.dump_image(image)
    expected = "P3\n3 2\n255\n0 1 2 4 5 6 8 9 10 \n12 13 14 16 17 18 20 21 22 \n"
    assert (folder / "0--0.ppm").read_text() == expected


@pytest.mark.parametrize(
    "image", [picture(4, 5, 4), picture(4, 5).astype(np.float32), picture(4, 5)[..., 0]]
)
def test_what_is_no_image_is_an_error(image, folder):
    with pytest.raises(VideoError, match="dump_image"):
        fn.dump_image(image)
    assert not list(folder.iterdir())
