"""Damages videos of many codecs in many containers: frames that FFmpeg marks are errors here too.

    python tests/attacks/damage.py [damages of each kind] [name of a clip ...]

Prints for each clip how many files were damaged, in how many of them FFmpeg reports damage, how
many frames are errors here, and how many frames are given in silence although FFmpeg marks them,
or marks what they are decoded from. Exits with 1 if there is any, or a healthy file has an error.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from marked_damage import CLIPS, WAYS, decode_by_ffmpeg, make_clip, mutate, read_all


def attack(path, count):
    """Damage one clip; whether a frame was given in silence, or a healthy one was not."""
    data = path.read_bytes()
    healthy = decode_by_ffmpeg(data)
    sound = read_all(data)
    expected = [sound.given.get(number) for number in range(sound.index.num_frames)]
    false = len(sound.failed) + (expected != healthy.hashes)
    files = told = errors = 0
    silent = []
    for way in WAYS:
        for seed in range(count):
            changed = mutate(path.name, data, way, seed)
            decode = None if changed is None else decode_by_ffmpeg(changed)
            found = None if decode is None else read_all(changed)
            if found is None:
                continue
            files, told, errors = files + 1, told + decode.is_told, errors + len(found.failed)
            frames = found.silent({*healthy.hashes}, decode)
            silent += [f"{way} {seed}: {sorted(frames)}"] if frames else []
    sys.stdout.write(
        f"{path.name:16} {files:4} files, told by FFmpeg in {told:4}: {errors:5} errors, "
        f"silent in {len(silent)} {'; '.join(silent):.200}, false {false}\n"
    )
    sys.stdout.flush()
    return bool(silent or false)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    names = sys.argv[2:] or list(CLIPS)
    with tempfile.TemporaryDirectory() as folder:
        failed = [name for name in names if attack(make_clip(Path(folder), name), count)]
    sys.exit(f"not told: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
