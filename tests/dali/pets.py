"""A folder of small JPEGs in two classes, whose pixels say which file an image is."""

from pathlib import Path

import numpy as np
from image_files import encoded

__all__ = ["COUNT", "LABELS", "mirrored", "number_of", "pet", "pet_file", "write_pets"]

LABELS = [0] * 11 + [1] * 10
COUNT = len(LABELS)
CLASSES = ("dog", "kitten")


def pet(number):
    """Image `number`: red grows from left to right, green is the number, blue the class.

    What is cut out of it, or resized, still says so. Heights and widths differ.
    """
    height, width = 48 + number, 64 + 2 * (number % 3)
    red = np.broadcast_to(np.linspace(20, 220, width), (height, width))
    green = np.full((height, width), 12 * number)
    blue = np.full((height, width), 40 + 160 * LABELS[number])
    return np.stack([red, green, blue], -1).astype(np.uint8)


def pet_file(number):
    """The bytes of a JPEG of the image."""
    return encoded(pet(number), "jpeg")


def write_pets(folder):
    """One folder for each class; the order of the paths is that of the numbers."""
    for number, label in enumerate(LABELS):
        place = Path(folder, CLASSES[label])
        place.mkdir(exist_ok=True)
        (place / f"{CLASSES[label]}_{number:02}.jpeg").write_bytes(pet_file(number))


def number_of(image):
    """Which file an image (H, W, 3) was, by its middle: turned images have empty corners."""
    image = np.asarray(image, dtype=np.float64)
    height, width = image.shape[:2]
    middle = image[height // 3 : height - height // 3, width // 3 : width - width // 3]
    return round(float(middle[..., 1].mean()) / 12)


def mirrored(image):
    """Whether red falls from left to right."""
    image = np.asarray(image, dtype=np.float64)
    return bool(image[:, 0, 0].mean() > image[:, -1, 0].mean())
