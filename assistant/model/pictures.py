"""Pictures that go with a message: known by what is in them, made so that providers take them."""

import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.errors import UsageError
from assistant.messages import Picture

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_BYTES = 3_750_000
"""Bytes of a picture: 5 MB in base64, the least that a provider allows (Anthropic)."""
LONGEST_EDGE = 8_000
"""Pixels; beyond it Anthropic refuses a picture."""
FITTED_EDGE = 2_000
"""Pixels of one that had to be made smaller; models look at no more."""
SUFFIXES = {"PNG": ".png", "JPEG": ".jpg", "GIF": ".gif", "WEBP": ".webp"}
"""The formats that every provider takes."""
FOREIGN = (b"BM", b"II*\0", b"MM\0*", b"\0\0\1\0")
"""How a bitmap, a TIFF and an icon begin; they are made PNG."""
HEAD = 16
"""Bytes that tell a format."""
ORIENTATION, PLACE = 0x0112, 0x8825
"""What a camera notes (EXIF): how it was held, and where."""


def picture_of(data: bytes) -> Picture | None:
    """The picture that a file holds; None if it begins as no picture does.

    A large one is made smaller, one that lies on its side is turned, and where it was taken stays
    here. Raises UsageError if it would have to be made another and cannot be read.
    """
    kind = _kind(data)
    if kind is None:
        return None
    from PIL import Image  # 50 ms, for those who show one

    fits = kind in SUFFIXES and len(data) <= MOST_BYTES
    try:
        with Image.open(io.BytesIO(data)) as image:
            if fits and not _must_change(image):
                return _named(data, SUFFIXES[kind], image.size)
            return _made_anew(image)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        if fits:
            return _named(data, SUFFIXES[kind], (0, 0))  # its provider is to judge it
        raise UsageError(
            f"this picture ({kind}) cannot be read", "Save it anew as PNG or JPEG"
        ) from error


def is_picture(path: Path) -> bool:
    """Whether a file begins as a picture does."""
    try:
        with path.open("rb") as file:
            return _kind(file.read(HEAD)) is not None
    except (OSError, ValueError):
        return False


def _kind(data: bytes) -> str | None:
    """The format by the first bytes; that of a phone's HEIC is known, and read by nobody here."""
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
    noted = image.getexif()
    turned = noted.get(ORIENTATION, 1) != 1
    return turned or bool(noted.get_ifd(PLACE)) or max(image.size) > LONGEST_EDGE


def _made_anew(image: "Image") -> Picture:
    """The picture upright, without a camera's notes, and not larger than a model looks at."""
    from PIL import ImageOps

    kind = "JPEG" if image.format == "JPEG" else "PNG"
    upright = ImageOps.exif_transpose(image)
    upright.thumbnail((FITTED_EDGE, FITTED_EDGE))
    data = _saved(upright, kind)
    if len(data) > MOST_BYTES:
        kind, data = "JPEG", _saved(upright.convert("RGB"), "JPEG")
    return _named(data, SUFFIXES[kind], upright.size)


def _saved(image: "Image", kind: str) -> bytes:
    out = io.BytesIO()
    image.info.pop("exif", None)
    image.save(out, kind, quality=90)
    return out.getvalue()


def _named(data: bytes, suffix: str, size: tuple[int, int]) -> Picture:
    return Picture(hashlib.sha256(data).hexdigest()[:24] + suffix, *size, data)
