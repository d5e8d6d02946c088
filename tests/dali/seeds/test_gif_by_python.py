"""A decoder of one's own as a Python function in the graph: the first picture of a GIF."""

from io import BytesIO

import numpy as np
from PIL import Image

from videoloader.dali import fn, ops, types
from videoloader.dali.pipeline import Pipeline

COLORS = ((200, 30, 60), (10, 220, 90), (70, 80, 240))


def gif(color):
    """A GIF of two pictures: one of this color, and a black one."""
    first, second = Image.new("RGB", (40, 30), color), Image.new("RGB", (40, 30))
    file = BytesIO()
    first.save(file, "GIF", save_all=True, append_images=[second])
    return np.frombuffer(file.getvalue(), np.uint8)


class GifPipeline(Pipeline):
    def __init__(self, files):
        super().__init__(len(files), 2, 0, seed=12, exec_async=False, exec_pipelined=False)
        self.jpegs = ops.ExternalSource(source=lambda: files)
        self.decode = ops.PythonFunction(function=self.get_frame_from_gif, num_outputs=1)
        self.res = ops.Resize(resize_x=16, resize_y=12)

    def get_frame_from_gif(self, img_array):
        image = Image.open(BytesIO(img_array.tobytes()))
        return np.array(image.convert("RGB"))

    def define_graph(self):
        images = self.decode(self.jpegs())
        return images, self.res(fn.reinterpret(images, layout="HWC"))


def test_a_python_function_decodes_what_it_is_given():
    with GifPipeline([gif(color) for color in COLORS]) as pipe:
        for _ in range(2):
            images, resized = pipe.run()
            assert images.dtype == types.UINT8
            assert images.shape() == [(30, 40, 3)] * 3
            assert resized.shape() == [(12, 16, 3)] * 3
            for position, color in enumerate(COLORS):
                assert (images.at(position) == color).all()
                assert (resized.at(position) == color).all()


def test_the_decoder_of_images_reads_a_gif_by_itself(decoder_device):
    with Pipeline(3, 2, 0) as pipe:
        files = fn.external_source(source=lambda: [gif(color) for color in COLORS])
        pipe.set_outputs(fn.decoders.image(files, device=decoder_device))
    with pipe:
        (images,) = pipe.run()
    images = images.as_cpu()
    for position, color in enumerate(COLORS):
        assert (images.at(position) == color).all()
        assert images.at(position).shape == (30, 40, 3)
