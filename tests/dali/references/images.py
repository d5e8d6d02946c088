"""Writes images.npz: small image files, and what DALI 2.4 decodes them to on its CPU.

    python images.py files FOLDER     # needs pillow
    python images.py decode FOLDER    # needs nvidia-dali-cuda130==2.4.0

DALI 2.4 crashes on grey JPEGs and on some TIFF files, which are not among these.
"""

import sys
from pathlib import Path

import numpy as np

TYPES = ("RGB", "GRAY", "YCbCr", "ANY_DATA")
IN_ALL_TYPES = ("420.jpg", "rgba.png", "grey16.png", "alpha.webp", "rgba.tiff")  # others: RGB


def make_files(folder):
    from PIL import Image

    y, x = np.mgrid[0:17, 0:24]
    rgb = np.stack([x * 10, y * 14, (x + y) * 6], -1).astype(np.uint8)
    rgb[3:9, 5:15] = 200, 30, 10
    grey, alpha = rgb[..., 1].copy(), (255 - x * 9).astype(np.uint8)
    image, palette = Image.fromarray(rgb), Image.fromarray(rgb).quantize(16)
    rgba = Image.fromarray(np.dstack([rgb, alpha]))
    for number, name in enumerate(("444", "422", "420")):
        image.save(folder / f"{name}.jpg", quality=85, subsampling=number)
    image.save(folder / "progressive.jpg", quality=85, progressive=True)
    image.convert("CMYK").save(folder / "cmyk.jpg", quality=90)
    exif = Image.Exif()
    for number in range(2, 9):
        exif[0x112] = number
        image.save(folder / f"exif{number}.jpg", exif=exif, subsampling=0)
    image.save(folder / "exif8.png", exif=exif)
    image.save(folder / "exif5.tiff", tiffinfo={274: 5})
    palette.save(folder / "palette.png", transparency=3)
    rgba.save(folder / "rgba.png")
    wide = Image.fromarray(grey.astype(np.uint16) * 257 + 13)
    wide.save(folder / "grey16.png")
    wide.save(folder / "grey16.jp2")
    rgba.save(folder / "rgba.tiff")
    palette.save(folder / "palette.tiff")
    image.save(folder / "lzw.tiff", compression="tiff_lzw")
    Image.fromarray(grey.astype(np.float32) / 255).save(folder / "float.tiff")
    image.save(folder / "lossy.webp")
    rgba.save(folder / "alpha.webp", lossless=True)
    image.save(folder / "lossy.jp2", irreversible=True, quality_layers=[20])
    palette.save(folder / "palette.bmp")
    Image.fromarray(grey > 100).save(folder / "bits.bmp")
    Image.fromarray(grey > 100).save(folder / "bits.pbm")
    thousand = (grey.astype(int) * 1000 // 255).astype(">u2")
    (folder / "thousand.pgm").write_bytes(b"P5 24 17 1000\n" + thousand.tobytes())
    text = " ".join(map(str, rgb.reshape(-1).tolist()))
    (folder / "ascii.ppm").write_text(f"P3\n# comment\n24 17\n255\n{text}\n")


def decode(folder):
    from nvidia.dali import fn, pipeline_def, types

    kept = {}
    for path in sorted(folder.iterdir()):
        data = np.fromfile(path, np.uint8)
        kept[path.name] = data
        for name in TYPES if path.name in IN_ALL_TYPES else TYPES[:1]:

            @pipeline_def(batch_size=1, num_threads=1, device_id=None)
            def pipeline(data=data, name=name):
                encoded = fn.external_source(source=lambda: [data], batch=True)
                return fn.decoders.image(encoded, output_type=getattr(types, name))

            running = pipeline()
            running.build()
            kept[f"{path.name} {name}"] = np.array(running.run()[0][0])
    np.savez_compressed(Path(__file__).with_name("images.npz"), **kept)


if __name__ == "__main__":
    {"files": make_files, "decode": decode}[sys.argv[1]](Path(sys.argv[2]))
