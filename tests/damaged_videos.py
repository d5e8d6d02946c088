"""Folders of small videos of which some are damaged, and which frames of them."""

import videoloader as vl
from videoloader.demo.videos import encode_video

FRAMES = 12
LOST = {8, 9, 10, 11}
"""Frames that do not decode in a video whose third group of pictures is damaged."""


def make_videos(folder, *, count, damaged=(), unreadable=()):
    """Paths of `count` videos of 12 frames, in groups of 4.

    Args:
        folder: for the videos.
        count: of all.
        damaged: numbers of videos whose third group is damaged.
        unreadable: numbers of videos that do not open.
    """
    folder.mkdir(exist_ok=True)
    sound = folder / "sound.mp4"
    encode_video(sound, frames=FRAMES, size=(128, 96), options={"g": "4", "bf": "0"})
    packet = vl.index_video(sound.read_bytes()).packets[8]
    start, size = int(packet["offset"]), int(packet["size"])
    data = sound.read_bytes()
    sound.unlink()
    paths = [folder / f"{number}.mp4" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_bytes(data)
        if number in damaged:
            path.write_bytes(data[:start] + bytes(size) + data[start + size :])
        if number in unreadable:
            path.write_bytes(b"no video at all")
    return paths
