"""Reads how many pixels an image has from its header: a small file may unpack to more than a device holds."""

from __future__ import annotations

MOST_PIXELS = 4096
"""In a row, and in a column: as fine as the coordinates of a map."""
SIGNATURES = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff"}
"""How files begin, by kind."""
_NO_FRAMES = (0xC4, 0xC8, 0xCC)  # among the markers of frames
_ALONE = (0x01, *range(0xD0, 0xD8))
_ENDS = (0x00, 0xD8, 0xD9, 0xDA)


def read_size(image: bytes) -> tuple[int, int]:
    """The width and the height of a PNG or JPEG file; zeros where its header does not say them.

    >>> read_size(b"\\x89PNG\\r\\n\\x1a\\n" + b"\\0\\0\\0\\x0dIHDR" + b"\\0\\0\\0\\x07" + b"\\0\\0\\0\\x05")
    (7, 5)
    >>> read_size(b"\\xff\\xd8\\xff\\xc0" + b"\\0\\x0b\\x08" + b"\\0\\x05" + b"\\0\\x07")
    (7, 5)
    """
    if image.startswith(SIGNATURES["png"]):
        if image[12:16] != b"IHDR" or len(image) < 24:
            return 0, 0
        return _number(image, 16, 4), _number(image, 20, 4)
    return _read_frame(image)


def _read_frame(image: bytes) -> tuple[int, int]:
    """The size that the first frame of a JPEG file has; its segments are skipped by their lengths."""
    at = 2
    while image[at : at + 1] == b"\xff":
        while image[at : at + 1] == b"\xff":
            at += 1
        kind, at = _number(image, at, 1), at + 1
        if kind in _ALONE:
            continue
        length = _number(image, at, 2)
        if kind in _ENDS or len(image) < at + 7 or length < 2:
            break
        if 0xC0 <= kind <= 0xCF and kind not in _NO_FRAMES:
            return _number(image, at + 5, 2), _number(image, at + 3, 2)
        at += length
    return 0, 0


def _number(image: bytes, start: int, length: int) -> int:
    return int.from_bytes(image[start : start + length], "big")
