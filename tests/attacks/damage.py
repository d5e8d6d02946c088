"""Damages videos of many codecs in many containers: frames that FFmpeg marks are errors here too.

    python tests/attacks/damage.py [damages of each kind] [clip or file ...] [--seed N]

Prints for each clip how many files were damaged, in how many of them FFmpeg reports damage, how
many frames are errors here, and how many frames are given in silence although FFmpeg marks them,
or marks what they are decoded from. *Elsewhere* are files with damage that FFmpeg reports and with
wrong frames that it does not mark. Exits with 1 if a frame is given in silence, or a healthy file
has an error.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from marked_damage import CLIPS, WAYS, decode_by_ffmpeg, make_clip, mutate, read_all


def attack(path, count, first):
    """Damage one clip; whether a frame was given in silence, or a healthy one was not."""
    data = path.read_bytes()
    healthy = decode_by_ffmpeg(data)
    sound = read_all(data)
    expected = [sound.given.get(number) for number in range(sound.index.num_frames)]
    false = len(sound.failed) + (expected != healthy.hashes)
    files = told = errors = 0
    silent, elsewhere = [], []
    for way in WAYS:
        for seed in range(first, first + count):
            changed = mutate(path.name, data, way, seed)
            decode = None if changed is None else decode_by_ffmpeg(changed)
            found = None if decode is None else read_all(changed)
            if found is None:
                continue
            files, told, errors = files + 1, told + decode.is_told, errors + len(found.failed)
            frames = found.silent(healthy, decode)
            silent += [f"{way} {seed}: {sorted(frames)}"] if frames else []
            more = found.wrong({*healthy.hashes}) - frames if decode.is_told else ()
            elsewhere += [f"{way} {seed}: {sorted(more)}"] if more else []
    sys.stdout.write(
        f"{path.name:16} {files:4} files, told by FFmpeg in {told:4}: {errors:5} errors, "
        f"silent in {len(silent)} {'; '.join(silent):.200}, false {false}, "
        f"elsewhere in {len(elsewhere)} {'; '.join(elsewhere):.200}\n"
    )
    sys.stdout.flush()
    return bool(silent or false)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", nargs="?", type=int, default=10)
    parser.add_argument(
        "names", nargs="*", help="clips, or paths of healthy videos (default: all clips)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first damage of each kind")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        names = told.names or list(CLIPS)
        paths = [make_clip(Path(folder), name) if name in CLIPS else Path(name) for name in names]
        failed = [path.name for path in paths if attack(path, told.count, told.seed)]
    sys.exit(f"not told: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
