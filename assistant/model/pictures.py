"""Pictures attached to a message: recognised by content, converted so that providers accept
them."""

import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.errors import UsageError
from assistant.messages import Picture

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_BYTES = 3_750_000
"""Maximum bytes of a picture: 5 MB in base64, the lowest limit of a provider (Anthropic)."""
LONGEST_EDGE = 8_000
"""Maximum edge in pixels; Anthropic refuses larger pictures."""
FITTED_EDGE = 2_000
"""Maximum edge in pixels after downscaling; models see no more detail."""
SUFFIXES = {"PNG": ".png", "JPEG": ".jpg", "GIF": ".gif", "WEBP": ".webp"}
"""The formats that every provider accepts."""
FOREIGN = (b"BM", b"II*\0", b"MM\0*", b"\0\0\1\0")
"""Magic bytes of bitmaps, TIFFs and icons, which are converted to PNG."""
HEAD = 16
"""Number of bytes that identify a format."""
ORIENTATION, PLACE = 0x0112, 0x8825
"""EXIF tags: the orientation, and the location."""


def picture_of(data: bytes) -> Picture | None:
    """Return the picture in a file; None if the data is not a picture.

    Large pictures are downscaled, rotated ones turned upright, and the location is removed. Raises
    UsageError if it needs converting and cannot be read.
    """
    kind = _kind(data)
    if kind is None:
        return None
    from PIL import Image  # takes 50 ms to import

    fits = kind in SUFFIXES and len(data) <= MOST_BYTES
    try:
        with Image.open(io.BytesIO(data)) as image:
            if fits and not _must_change(image):
                return _picture(data, SUFFIXES[kind], image.size)
            return _reencoded(image)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        if fits:
            return _picture(data, SUFFIXES[kind], (0, 0))  # leave it to the provider
        raise UsageError(
            f"this picture ({kind}) cannot be read", "Save it as PNG or JPEG"
        ) from error


def is_picture(path: Path) -> bool:
    """Return whether a file starts like a picture. A pipe is not opened, since that may never
    return."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return _kind(file.read(HEAD)) is not None
    except (OSError, ValueError):
        return False


def _kind(data: bytes) -> str | None:
    """Return the format identified by the first bytes; HEIC is recognised but cannot be read."""
    head = data[:HEAD]
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if head.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp" and head[8:12] in (b"heic", b"heix", b"mif1", b"avif"):
        return head[8:12].decode().upper()
    return "of another format" if head.startswith(FOREIGN) else None


def _must_change(image: "Image") -> bool:
    exif = image.getexif()
    is_rotated = exif.get(ORIENTATION, 1) != 1
    return is_rotated or bool(exif.get_ifd(PLACE)) or max(image.size) > LONGEST_EDGE


def _reencoded(image: "Image") -> Picture:
    """Return the picture upright, without EXIF data, and downscaled."""
    from PIL import ImageOps

    kind = "JPEG" if image.format == "JPEG" else "PNG"
    upright = ImageOps.exif_transpose(image)
    upright.thumbnail((FITTED_EDGE, FITTED_EDGE))
    data = _saved(upright, kind)
    if len(data) > MOST_BYTES:
        kind, data = "JPEG", _saved(upright.convert("RGB"), "JPEG")
    return _picture(data, SUFFIXES[kind], upright.size)


def _saved(image: "Image", kind: str) -> bytes:
    out = io.BytesIO()
    image.info.pop("exif", None)
    image.save(out, kind, quality=90)
    return out.getvalue()


def _picture(data: bytes, suffix: str, size: tuple[int, int]) -> Picture:
    return Picture(hashlib.sha256(data).hexdigest()[:24] + suffix, *size, data)
