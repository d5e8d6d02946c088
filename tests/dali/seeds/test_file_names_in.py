"""A pipeline that is given names of files from outside, and reads, decodes and normalises them."""

import numpy as np
from pets import mirrored, number_of, pet_file

from videoloader.dali import fn, pipeline_def, types

MEAN = np.array([0.485 * 255, 0.456 * 255, 0.406 * 255])
STD = np.array([0.229 * 255, 0.224 * 255, 0.225 * 255])


@pipeline_def(num_threads=4, device_id=0)
def rn50_train_pipe(device):
    filepaths = fn.external_source(name="images", no_copy=True)
    jpegs = fn.io.file.read(filepaths)
    images = fn.decoders.image_random_crop(jpegs, device=device, output_type=types.RGB)
    images = fn.resize(images, resize_x=256, resize_y=256)
    return fn.crop_mirror_normalize(
        images,
        crop_h=224,
        crop_w=224,
        mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
        std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        mirror=fn.random.coin_flip(),
    )


def read_filepath(path):
    return np.frombuffer(str(path).encode(), dtype=np.int8)


def test_the_images_of_the_names_come_in_their_order(tmp_path, decoder_device):
    order = [[7, 0, 3, 12], [20, 1, 5, 9], [2, 18, 4, 16]]
    paths = [tmp_path / f"image {number}.jpeg" for number in range(21)]
    for number, path in enumerate(paths):
        path.write_bytes(pet_file(number))
    flips = []
    with rn50_train_pipe(decoder_device, batch_size=4, seed=2) as pipe:
        for numbers in order:
            pipe.feed_input("images", [read_filepath(paths[number]) for number in numbers])
        for numbers in order:
            (images,) = pipe.run()
            assert images.shape() == [(3, 224, 224)] * 4
            assert (images.dtype, images.layout()) == (types.FLOAT, "CHW")
            pixels = images.as_cpu().as_array().transpose(0, 2, 3, 1) * STD + MEAN
            assert [number_of(image) for image in pixels] == numbers
            flips += [mirrored(image) for image in pixels]
    assert {False, True} == set(flips)
