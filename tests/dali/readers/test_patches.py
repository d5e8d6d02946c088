import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import videoloader as vl

small = st.integers(1, 3)
layouts = st.sampled_from(["FHWC", "FCHW", "CFHW"])


def by_loops(clip, patch):
    """Patches of a clip (F, H, W, C), element by element as the documentation says."""
    frames, height, width, channels = clip.shape
    t, h, w = patch
    rows = np.zeros(
        (frames // t * (height // h) * (width // w), t * h * w * channels), dtype=clip.dtype
    )
    for i in range(frames // t):
        for j in range(height // h):
            for k in range(width // w):
                token = (i * (height // h) + j) * (width // w) + k
                for f in range(t):
                    for y in range(h):
                        for x in range(w):
                            for c in range(channels):
                                element = ((f * h + y) * w + x) * channels + c
                                rows[token, element] = clip[i * t + f, j * h + y, k * w + x, c]
    return rows


@given(st.tuples(small, small, small), st.tuples(small, small, small), layouts)
def test_patches_are_where_the_documentation_says(grid, patch, layout):
    shape = [n * unit for n, unit in zip(grid, patch, strict=True)]
    clip = np.arange(3 * np.prod(shape)).reshape(*shape, 3)
    frames = torch.from_numpy(clip).permute(["FHWC".index(axis) for axis in layout])
    found = vl.patchify(frames, patch, layout=layout)
    assert np.array_equal(found.numpy(), by_loops(clip, patch))


@given(
    st.lists(st.tuples(small, small, small), min_size=1, max_size=4),
    st.tuples(small, small, small),
    layouts,
    st.integers(0, 5),
)
def test_clips_come_back_from_a_pack(grids, patch, layout, padding):
    shapes = [[n * unit for n, unit in zip(grid, patch, strict=True)] for grid in grids]
    clips = [
        torch.randint(256, (*shape, 3)).permute(["FHWC".index(axis) for axis in layout])
        for shape in shapes
    ]
    tokens = [vl.patchify(clip, patch, layout=layout) for clip in clips]
    pack = torch.cat([*tokens, tokens[0].new_zeros(padding, tokens[0].shape[1])])
    for given_shapes in (shapes, torch.tensor(shapes)):
        back = vl.unpatchify(pack, given_shapes, patch, layout=layout)
        assert all(torch.equal(a, b) for a, b in zip(clips, back, strict=True))
        assert all(clip.is_contiguous() for clip in back)


def test_what_does_not_fit_is_refused():
    clip = torch.zeros(4, 3, 32, 32)
    with pytest.raises(vl.errors.ArgumentError, match="no whole number of patches"):
        vl.patchify(clip, (3, 16, 16))
    with pytest.raises(vl.errors.ArgumentError, match="no whole number of patches"):
        vl.patchify(clip, (16, 16))
    tokens = vl.patchify(clip, (2, 16, 16))
    with pytest.raises(vl.errors.ArgumentError, match="too few"):
        vl.unpatchify(tokens, [(4, 32, 32), (2, 16, 16)], (2, 16, 16))
    with pytest.raises(vl.errors.ArgumentError, match="elements"):
        vl.unpatchify(tokens[:, :-1], [(4, 32, 32)], (2, 16, 16))
