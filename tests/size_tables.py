"""Tables of sizes of videos, and what hypothesis draws of them."""

import numpy as np
from hypothesis import strategies as st

from videoloader.sampling import VideoSizes


def sizes(rows):
    """`VideoSizes` of (height, width, frames, fps)."""
    heights, widths, frames, fps = zip(*rows, strict=True)
    return VideoSizes(
        np.array(heights, np.int32),
        np.array(widths, np.int32),
        np.array(frames, np.int64),
        np.array(fps, np.float64),
    )


videos = st.lists(
    st.tuples(
        st.integers(40, 300),
        st.integers(40, 300),
        st.integers(1, 90),
        st.sampled_from([10, 24, 30]),
    ),
    min_size=1,
    max_size=120,
).map(sizes)
