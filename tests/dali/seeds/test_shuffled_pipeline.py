"""Images of both classes in a batch: `random_shuffle`."""

from pets import COUNT, LABELS, number_of, pet

from videoloader.dali import fn, pipeline_def

MAX_BATCH_SIZE = 8


@pipeline_def
def shuffled_pipeline(image_dir):
    jpegs, labels = fn.readers.file(file_root=image_dir, random_shuffle=True, initial_fill=COUNT)
    images = fn.decoders.image(jpegs, device="cpu")
    return images, labels


def batches(image_dir, count, **arguments):
    arguments = {"batch_size": MAX_BATCH_SIZE, "num_threads": 1, "device_id": 0, **arguments}
    with shuffled_pipeline(image_dir, **arguments) as pipe:
        pipe.build()
        return [pipe.run() for _ in range(count)]


def numbers(image_dir, count=1, **arguments):
    found = []
    for images, labels in batches(image_dir, count, **arguments):
        for position in range(len(images)):
            number = number_of(images.at(position))
            assert images.at(position).shape == pet(number).shape
            assert labels.at(position).tolist() == [LABELS[number]]
            found.append(number)
    return found


def test_the_first_batch_has_dogs_and_kittens(pets):
    shown = numbers(pets, seed=1234)
    assert {LABELS[number] for number in shown} == {0, 1}
    assert len(set(shown)) == MAX_BATCH_SIZE  # no image twice


def test_an_epoch_has_every_image_once(pets):
    shown = numbers(pets, count=3, batch_size=7, seed=1234)
    assert shown != sorted(shown)
    assert sorted(shown) == list(range(COUNT))


def test_the_seed_decides_the_order(pets):
    assert numbers(pets, seed=1234) == numbers(pets, seed=1234, num_threads=3)
    assert numbers(pets, seed=1234) != numbers(pets, seed=1)
