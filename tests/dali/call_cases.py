"""Calls of operators in a graph, as expressions, whose results on DALI's CPU are stored.

`B(layout, *samples)` is a batch, `F(*samples)` one with values for each frame, `R(*shape)` are
numbers drawn by the shape, uint8 with `"u1"`. A result is for each output its element type, layout
and samples; None where the call is an error.
"""

import numpy as np

__all__ = ["CASES", "result"]

_BATCH = 4

_CLIPS = "B('FHWC', R(2, 6, 7, 3, 'u1'), R(3, 5, 9, 3, 'u1'))"
_POINTS = "B('FNX', R(2, 5, 3), R(3, 4, 3))"
_MATRICES = "fn.per_frame(B('', R(2, 2, 3), R(3, 2, 3)))"
_PICTURE = "B('HWC', R(6, 7, 3, 'u1'))"
_BAYER = "B('FHW', R(2, 6, 8, 'u1'), R(3, 4, 6, 'u1'))"

CASES = (
    # Values for each frame.
    f"fn.coord_transform({_POINTS}, M=F(R(2, 3, 3), R(3, 3, 3)))",
    f"fn.coord_transform({_POINTS}, MT=F(R(2, 3, 4), R(3, 3, 4)))",
    f"fn.coord_transform({_POINTS}, M=2.0, T=F(R(2, 3), R(3, 3)))",
    f"fn.coord_transform({_POINTS}, M=F(R(2), R(3)), T=F(R(2), R(3)))",
    f"fn.coord_transform({_POINTS}, M=F(R(4, 3, 3), R(4, 3, 3)))",
    "fn.transforms.rotation(angle=F(R(2), R(3)), center=F(R(2, 2), R(3, 2)))",
    "fn.transforms.rotation(angle=F(R(2), R(3)), center=F(R(2, 2), R(2, 2)))",
    "fn.transforms.rotation(angle=B('', R(), R()), axis=F(R(2, 3), R(3, 3)))",
    "fn.transforms.translation(offset=F(R(2), R(3)))",
    f"fn.transforms.translation({_MATRICES}, offset=[1.0, 2], reverse_order=True)",
    "fn.transforms.scale(scale=F(R(2, 1), R(3, 1)), ndim=2)",
    "fn.transforms.shear(angles=F(R(2, 2), R(3, 2)))",
    "fn.transforms.shear(shear=F(R(2, 3, 2), R(3, 3, 2)))",
    "fn.transforms.crop(to_start=F(R(2, 2), R(3, 2)), to_end=[3.0, 4])",
    f"fn.transforms.combine({_MATRICES}, B('', R(2, 3), R(2, 3)), {_MATRICES})",
    f"fn.filter({_CLIPS}, B('FHW', R(2, 3, 3), R(3, 3, 3)))",
    f"fn.filter({_CLIPS}, B('', R(3, 3), R(3, 3)), anchor=F(I([0, 1], [1, 1]), I([1, 0])))",
    f"fn.filter({_CLIPS}, B('', R(3, 3), R(3, 3)), F(U(0, 1), U(1, 1, 0)), border='constant')",
    f"fn.debayer({_BAYER}, blue_position=F(I([0, 1], [1, 0]), I([0, 0])), algorithm=OCV)",
    f"fn.debayer({_BAYER}, blue_position=1, algorithm=OCV)",
    # Shapes and sizes of arguments.
    "fn.transforms.scale(scale=[1.0, 2], ndim=3)",
    "fn.transforms.shear(shear=B('', R(3, 2)))",
    "fn.transforms.shear(angles=[91.0, 2])",
    "fn.transforms.translation(offset=[])",
    "fn.coord_transform(B('', R(5, 3)), M=[])",
    "fn.coord_transform(B('', R(5, 3)), M=B('', R(3, 4)))",
    "fn.coord_flip(B('', R(4, 2)), layout='xx')",
    f"fn.erase({_PICTURE}, anchor=B('', [[1.0], [2]]), shape=B('', [[2.0, 3]]))",
    f"fn.slice({_PICTURE}, B('', I([1], [2])), B('', I([2, 3])))",
    f"fn.rotate({_PICTURE}, angle=B('', [[90.0]]))",
    f"{_PICTURE}[np.array([1])]",
    f"{_PICTURE}[:, types.Constant(np.array(2)) :]",
    "fn.bbox_paste(B('', [[0.1, 0.2, 0.3, 0.4]]), paste_x=2.0, ratio=2.0)",
    f"fn.crop({_PICTURE}, crop=[0.3, 2.7])",
    "fn.crop(B('HWC', R(6, 7, 3), R(5, 4, 3)), crop=[0.3, 2.7])",
    f"fn.resize({_PICTURE}, size=[3.0, 5], max_size=-1)",
    "fn.resize(B('HWC', R(6, 7, 3)), size=[3.0, 5], mode='not_smaller', max_size=[-1.0, 4])",
    "fn.to_decibels(B('', [0.0, 1e-30, 1]), multiplier=5.0)",
    # Element types.
    "types.Constant([1.5, 2.5, -1.5, 300.7, -40000.0], dtype=types.INT16)",
    "types.Constant(np.array([1.5, 2.5, -1.5, 300.7], np.float32), dtype=types.UINT8)",
    "types.Constant([300, -2], dtype=types.UINT8)",
    "types.Constant(2.5, dtype=types.INT8, device='cpu')",
    "types.Constant([0.4, 0.6], dtype=types.BOOL)",
    "fn.cast(B('', R(2, 3)), dtype=int(types.FLOAT16))",
    "fn.cast(B('', R(2, 3)), dtype=99)",
    # Layouts, and data without one.
    "fn.gaussian_blur(B('', R(6)), sigma=1.0)",
    "fn.equalize(B('', R(6, 7, 'u1')))",
    "fn.slice(B('', R(6, 7)), start=[1], shape=[3], axis_names='H')",
    "fn.slice(B('', R(2, 6, 7, 3)), [0.1, 0.2], [0.5, 0.3])",
    "fn.crop(B('', R(2, 6, 7, 3)), crop=[3, 4])",
    "fn.brightness(B('DHWC', R(2, 3, 4, 2, 'u1')), brightness=1.5)",
    "fn.hsv(B('DHWC', R(2, 3, 4, 3, 'u1')), hue=40.0, saturation=0.7)",
    "fn.color_twist(B('DHWC', R(2, 3, 4, 3, 'u1')), hue=20.0, contrast=1.3)",
    "fn.saturation(B('DHWC', R(2, 3, 4, 3)), saturation=0.3)",
    "fn.brightness(B('HWC', np.zeros((0, 7, 3), np.uint8)), brightness=1.5)",
    "fn.cat(B('', R(2, 3)), B('XY', R(2, 3)), axis=0)",
    "fn.cat(B('', R(2, 3)), B('XY', R(2, 3)), axis_name='X')",
    "fn.stack(B('', R(2, 3)), B('XY', R(2, 3)), axis_name='Z')",
    "fn.one_hot(B('', I(0, 1)), num_classes=3, axis_name='C')",
    "fn.one_hot(B('', I(1)[0]), num_classes=3, axis=2)",
    "fn.sequence_rearrange(B('', R(6)), new_order=[0, 0])",
    "fn.element_extract(B('F', R(4)), element_map=[0])",
    "fn.debayer(B('HW', R(5, 8, 'u1')), blue_position=[0, 1], algorithm=OCV)",
    "fn.debayer(B('CHW', R(1, 6, 8, 'u1')), blue_position=[0, 1], algorithm=OCV)",
    "fn.debayer(B('HW', R(6, 8, 'u1')), blue_position=[0, 1], algorithm='default_npp')",
)


def _draw(*shape):
    *sides, kind = shape if shape and isinstance(shape[-1], str) else (*shape, "f4")
    rng = np.random.default_rng(sum((axis + 1) * side for axis, side in enumerate(sides)))
    drawn = rng.random(sides) * (255 if kind == "u1" else 1)
    return np.asarray(drawn, kind)


def result(case, fn, types, pipeline):
    """What a call gives in a pipeline of DALI or of this library."""

    def batch(layout, *samples):
        arrays = [np.asarray(x, None if hasattr(x, "dtype") else np.float32) for x in samples]
        return fn.external_source(lambda: arrays, batch=True, layout=layout or None)

    names = {
        "fn": fn,
        "types": types,
        "np": np,
        "R": _draw,
        "OCV": "bilinear_ocv",
        "B": batch,
        "F": lambda *samples: fn.per_frame(batch("", *samples)),
        "I": lambda *values: np.array(values, np.int32),
        "U": lambda *values: np.array(values, np.uint8),
    }
    pipe = pipeline(batch_size=_BATCH, num_threads=1, device_id=None, seed=1)
    try:
        with pipe:
            made = eval(case, names)
            pipe.set_outputs(*(made if isinstance(made, list | tuple) else (made,)))
        pipe.build()
        outputs = pipe.run()
    except (ValueError, RuntimeError, TypeError):
        return None
    return [
        (
            str(output.dtype).rpartition(".")[2],
            output.layout(),
            [np.array(output.at(position)) for position in range(len(output))],
        )
        for output in outputs
    ]
