"""The time of a pipeline, measured by running it."""

import re
from timeit import default_timer as timer

from pets import COUNT

from videoloader.dali import fn, pipeline_def


@pipeline_def
def shuffled_pipeline(image_dir, device):
    jpegs, labels = fn.readers.file(file_root=image_dir, random_shuffle=True, initial_fill=COUNT)
    images = fn.decoders.image(jpegs, device=device)
    return images, labels


def speedtest(pipeline, batch, n_threads, *arguments):
    n_test = 5
    with pipeline(*arguments, batch_size=batch, num_threads=n_threads, device_id=0) as pipe:
        pipe.build()
        for _ in range(2):  # to warm up
            pipe.run()
        t_start = timer()
        sizes = [len(pipe.run()[0]) for _ in range(n_test)]
        t = timer() - t_start
    print(f"Speed: {n_test * batch / t} imgs/s")  # noqa: T201
    return sizes


def test_the_speed_of_decoding_is_printed(pets, decoder_device, capsys):
    sizes = speedtest(shuffled_pipeline, 64, 4, pets, decoder_device)
    assert sizes == [64] * 5  # epochs of 21 images follow each other without a gap
    (speed,) = re.fullmatch(r"Speed: (\S+) imgs/s\n", capsys.readouterr().out).groups()
    assert float(speed) > 100
