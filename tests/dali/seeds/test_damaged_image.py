"""One image of a batch that cannot be decoded: its error names it, and the run goes on."""

import pytest
from pets import number_of, pet_file

from videoloader import VideoError
from videoloader.dali import fn, pipeline_def


@pytest.fixture
def folder(tmp_path):
    """Eight images, of which the fourth is cut off."""
    for number in range(8):
        data = pet_file(number)
        path = tmp_path / "pets" / f"{number}.jpeg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data[:100] if number == 3 else data)
    return tmp_path


@pipeline_def(batch_size=2, num_threads=2, device_id=0)
def decoding(folder, device):
    jpegs, _ = fn.readers.file(file_root=folder)
    return fn.decoders.image(jpegs, device=device)


def test_a_damaged_image_costs_its_batch_and_is_named(folder, decoder_device):
    with decoding(folder, decoder_device) as pipe:
        seen = []
        for _ in range(4):
            try:
                (images,) = pipe.run()
            except VideoError as error:
                seen.append(None)
                assert "3.jpeg" in str(error)
            else:
                images = images.as_cpu()
                seen += [number_of(images.at(position)) for position in range(2)]
    assert seen == [0, 1, None, 4, 5, 6, 7]
