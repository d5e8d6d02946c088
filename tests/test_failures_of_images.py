"""`on_error` of a pipeline where images and sounds are decoded: what a damaged one costs."""

import io
import wave

import cv2
import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator, LastBatchPolicy
from videoloader.demo.videos import encode_video

CUT, NO_IMAGE = 2, 4
SIZE = (40, 56)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Six images, each of one grey; one is cut off behind its header, one is no image."""
    folder = tmp_path_factory.mktemp("images")
    made = []
    for number in range(6):
        data = cv2.imencode(".png", np.full((*SIZE, 3), 40 * number + 10, np.uint8))[1].tobytes()
        data = {CUT: data[:60], NO_IMAGE: b"no image at all"}.get(number, data)
        made.append(str(folder / f"{number}.png"))
        (folder / f"{number}.png").write_bytes(data)
    return made


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sounds")
    made = []
    for number in range(4):
        file = io.BytesIO()
        with wave.open(file, "wb") as out:
            out.setparams((2, 2, 8000, 0, "NONE", ""))
            out.writeframes(np.full((100 + number, 2), number, np.int16).tobytes())
        data = b"no sound" if number == 1 else file.getvalue()
        made.append(str(folder / f"{number}.wav"))
        (folder / f"{number}.wav").write_bytes(data)
    return made


def images(paths, decode=None, *, batch_size=6, debug=False, **options):
    @pipeline_def(batch_size=batch_size, num_threads=2, debug=debug, seed=5, **options)
    def definition():
        encoded, number = fn.readers.file(files=paths, labels=list(range(len(paths))))
        before = number + 100
        image = fn.decoders.image(encoded) if decode is None else decode(encoded)
        return fn.crop(image, crop=(20, 20)), number, before, number * 2

    return definition()


def greys(images):
    return [int(image.float().mean().round()) for image in images]


def values(output):
    return [each.item() for each in output]


@pytest.mark.parametrize("cut", [CUT, NO_IMAGE])
def test_an_image_that_fails_ends_its_batch_by_default(paths, cut):
    with images([paths[cut], paths[0]], batch_size=1) as pipe:
        with pytest.raises(vl.errors.OperatorError, match=f"{cut}.png"):
            pipe.run()
        assert greys(pipe.run()[0]) == [10]


def test_an_image_that_fails_is_left_out_with_all_that_belongs_to_it(paths):
    with images(paths, on_error="skip") as pipe:
        for _ in range(2):
            found, numbers, before, doubled = pipe.run()
            assert greys(found) == [10, 50, 130, 210]
            assert values(numbers) == [0, 1, 3, 5]
            assert values(before) == [100, 101, 103, 105]
            assert values(doubled) == [0, 2, 6, 10]
        assert {(each.sample, each.path, each.action) for each in pipe.failures} == {
            (CUT, paths[CUT], "skip"),
            (NO_IMAGE, paths[NO_IMAGE], "skip"),
        }


def test_the_next_image_of_the_batch_stands_for_one_that_fails(paths):
    with images(paths, on_error="replace") as pipe:
        found, numbers, before, doubled = pipe.run()
        assert greys(found) == [10, 50, 130, 130, 210, 210]
        assert values(numbers) == [0, 1, 3, 3, 5, 5]
        assert values(before) == [100, 101, 103, 103, 105, 105]
        assert values(doubled) == [0, 2, 6, 6, 10, 10]
        assert {failure.sample for failure in pipe.failures} == {CUT, NO_IMAGE}
        assert pipe.stats().errors >= 2


def test_the_first_image_of_the_batch_stands_for_the_last(paths):
    with images([*paths[:4], paths[NO_IMAGE]], batch_size=5, on_error="replace") as pipe:
        assert values(pipe.run()[1]) == [0, 1, 3, 3, 0]


def test_a_masked_image_is_black_and_has_its_own_size_or_that_of_another(paths, tmp_path):
    wide = str(tmp_path / "wide.jpg")
    noise = np.random.default_rng(0).integers(0, 255, (30, 90, 3), np.uint8)
    data = cv2.imencode(".jpg", noise)[1].tobytes()
    (tmp_path / "wide.jpg").write_bytes(data[: len(data) // 2])
    mixed = [paths[NO_IMAGE], wide, paths[1]]

    @pipeline_def(batch_size=3, num_threads=1, on_error="mask")
    def definition():
        encoded, number = fn.readers.file(files=mixed, labels=[7, 8, 9])
        return fn.decoders.image(encoded), number

    with definition() as pipe:
        found, numbers = pipe.run()
        assert found.shape() == [(*SIZE, 3), (30, 90, 3), (*SIZE, 3)]
        assert greys(found) == [0, 0, 50]
        assert values(numbers) == [7, 8, 9]
        assert {failure.action for failure in pipe.failures} == {"mask"}


def test_where_no_size_is_known_a_masked_image_is_an_error_that_says_so(paths):
    with (
        images([paths[NO_IMAGE]], batch_size=1, on_error="mask") as pipe,
        pytest.raises(vl.errors.OperatorError, match=r'4\.png.*size is unknown.*on_error="skip"'),
    ):
        pipe.run()


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_where_nothing_of_a_batch_decodes_it_fails(paths, policy):
    with (
        images([paths[NO_IMAGE], paths[CUT]], batch_size=2, on_error=policy) as pipe,
        pytest.raises(vl.errors.OperatorError, match=r"\.png"),
    ):
        pipe.run()


def test_too_many_images_that_fail_end_the_run(paths):
    with (
        images(paths, on_error="replace", max_errors=1) as pipe,
        pytest.raises(vl.errors.TooManyFailuresError),
    ):
        pipe.run()


def test_random_windows_are_those_of_a_batch_without_failures(paths):
    """The draws of a sample depend on no other."""

    def crops(policy, files):
        def decode(encoded):
            return fn.decoders.image_random_crop(encoded, seed=3)

        @pipeline_def(batch_size=6, num_threads=1, on_error=policy)
        def definition():
            encoded, number = fn.readers.file(files=files, labels=list(range(6)))
            return decode(encoded), number

        with definition() as pipe:
            found, numbers = pipe.run()
            return dict(zip(values(numbers), found.shape(), strict=True))

    sound = [paths[0] if number in (CUT, NO_IMAGE) else paths[number] for number in range(6)]
    whole, left = crops("raise", sound), crops("skip", paths)
    assert left == {number: whole[number] for number in (0, 1, 3, 5)}


def test_sounds_that_fail_are_left_out_replaced_or_empty(sounds):
    def run(policy):
        @pipeline_def(batch_size=4, num_threads=1, on_error=policy)
        def definition():
            encoded, number = fn.readers.file(files=sounds, labels=list(range(4)))
            return (*fn.decoders.audio(encoded), number)

        with definition() as pipe:
            samples, rates, numbers = pipe.run()
            return [tuple(each.shape) for each in samples], values(rates), values(numbers)

    lengths = [(100, 2), (101, 2), (102, 2), (103, 2)]
    kept = [lengths[0], *lengths[2:]]
    assert run("skip") == (kept, [8000] * 3, [0, 2, 3])
    assert run("replace") == ([lengths[0], lengths[2], *lengths[2:]], [8000] * 4, [0, 2, 2, 3])
    assert run("mask") == ([lengths[0], (0, 1), *lengths[2:]], [8000, 0, 8000, 8000], [0, 1, 2, 3])
    with pytest.raises(vl.errors.OperatorError, match=r"1\.wav"):
        run("raise")


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_beside_conditionals_leaving_images_out_is_refused_when_the_pipeline_is_built(
    paths, policy
):
    @pipeline_def(batch_size=6, num_threads=1, enable_conditionals=True, on_error=policy)
    def definition():
        encoded, number = fn.readers.file(files=paths, labels=list(range(6)))
        image = fn.decoders.image(encoded)
        if number[0] > 2:
            image = fn.flip(image)
        return image

    pipe = definition()
    with pytest.raises(
        vl.errors.ArgumentError, match=f'decoders.image.*on_error="{policy}".*"mask"'
    ):
        pipe.build()


def test_beside_conditionals_images_are_masked(paths):
    @pipeline_def(batch_size=6, num_threads=1, enable_conditionals=True, on_error="mask")
    def definition():
        encoded, number = fn.readers.file(files=paths, labels=list(range(6)))
        if number[0] > 2:
            image = fn.decoders.image(encoded)
        else:
            image = fn.decoders.image(encoded, output_type=vl.dali.types.GRAY)
            image = fn.cat(image, image, image, axis=2)
        return image

    with definition() as pipe:
        assert greys(pipe.run()[0]) == [10, 50, 0, 130, 0, 210]
        assert {failure.sample for failure in pipe.failures} == {CUT, NO_IMAGE}


def test_in_debug_mode_images_are_masked_but_not_left_out(paths):
    with images(paths, debug=True, on_error="mask") as pipe:
        assert greys(pipe.run()[0]) == [10, 50, 0, 130, 0, 210]
    with (
        images(paths, debug=True, on_error="skip") as pipe,
        pytest.raises(vl.errors.ArgumentError, match="debug mode"),
    ):
        pipe.run()


def test_a_stand_in_is_a_copy_that_may_be_changed(paths):
    """Functions of users may write to what they get."""

    def add(image):
        image += 1
        return image

    def decode(encoded):
        return fn.torch_python_function(fn.decoders.image(encoded), function=add)

    with images(paths, decode, on_error="replace") as pipe:
        assert greys(pipe.run()[0]) == [11, 51, 131, 131, 211, 211]


def test_clips_of_a_reader_go_along_with_images_that_are_replaced(paths, demo_folder):
    """A clip that another batch decodes comes twice, too."""
    video = str(demo_folder / "h264.mp4")

    @pipeline_def(batch_size=6, num_threads=2, on_error="replace")
    def definition():
        encoded, _ = fn.readers.file(files=paths, labels=list(range(6)))
        image = fn.decoders.image(encoded)
        _, numbers = fn.readers.video(
            filenames=[video], sequence_length=2, enable_frame_num="scalar"
        )
        return image, numbers

    with definition() as pipe:
        for batch in range(3):
            found, numbers = pipe.run()
            first = 12 * batch
            assert greys(found) == [10, 50, 130, 130, 210, 210]
            expected = [first + 2 * place for place in (0, 1, 3, 3, 5, 5)]
            assert [int(each) for each in torch.stack(list(numbers)).ravel()] == expected


@pytest.mark.parametrize(
    ("policy", "epoch"), [("skip", [[0, 1, 3], [5]]), ("replace", [[0, 1, 3, 3], [5, 5]])]
)
def test_an_epoch_of_an_iterator_has_what_is_left_of_its_samples(paths, policy, epoch):
    @pipeline_def(batch_size=4, num_threads=1, on_error=policy)
    def definition():
        encoded, number = fn.readers.file(
            files=paths, labels=list(range(6)), name="Reader", pad_last_batch=False
        )
        return fn.decoders.image(encoded), number

    with definition() as pipe:
        iterator = GenericIterator(
            pipe,
            ["image", "number"],
            reader_name="Reader",
            last_batch_policy=LastBatchPolicy.PARTIAL,
            auto_reset=True,
        )
        found = [batch[0]["number"].flatten().tolist() for batch in iterator]
        assert found == epoch


def test_of_two_readers_the_file_that_failed_is_named(paths, sounds):
    """Also where a sample goes through an operator before it is decoded."""

    @pipeline_def(batch_size=4, num_threads=1, prefetch_queue_depth=1, on_error="skip")
    def definition():
        encoded, _ = fn.readers.file(files=paths[:4])
        image = fn.decoders.image(fn.copy(encoded))
        sound, _ = fn.decoders.audio(fn.copy(fn.readers.file(files=sounds)[0]))
        return image, sound

    with definition() as pipe:
        pipe.run()
        assert {failure.path for failure in pipe.failures} == {paths[CUT], sounds[1]}


def test_an_error_names_no_file_of_another_reader(paths):
    @pipeline_def(batch_size=2, num_threads=1)
    def definition():
        good, _ = fn.readers.file(files=paths[:2])
        bad, _ = fn.readers.file(files=[paths[1], paths[NO_IMAGE]])
        return fn.decoders.image(good), fn.decoders.video(bad, frames=[0])

    with definition() as pipe, pytest.raises(vl.errors.OperatorError) as caught:
        pipe.run()
    assert paths[NO_IMAGE] in str(caught.value)
    assert paths[1] not in str(caught.value)


def test_an_error_of_a_reader_of_videos_names_its_own_file_alone(tmp_path):
    good, bad = (encode_video(tmp_path / f"{name}.mp4", frames=4) for name in ("good", "bad"))
    key = vl.index_video(bad).packets[0]
    with bad.open("r+b") as file:
        file.seek(int(key["offset"]) + 4)
        file.write(bytes(int(key["size"]) - 4))

    @pipeline_def(batch_size=1, num_threads=1)
    def definition():
        return tuple(fn.readers.video(filenames=[path], sequence_length=2) for path in (good, bad))

    with definition() as pipe, pytest.raises(vl.errors.OperatorError, match=r"bad\.mp4") as caught:
        pipe.run()
    assert "good.mp4" not in str(caught.value)
