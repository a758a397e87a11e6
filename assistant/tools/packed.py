"""What is inside packed text: base64 or hex of what gzip, zlib, bzip2 or xz made, or of such text.

Nobody can read a secret there, and every program can unpack it. Pure.
"""

import base64
import binascii
import bz2
import lzma
import re
import zlib
from collections.abc import Iterator

MOST = 1_000_000
"""Characters that come of one packed text, and those of a text that are tried in all."""
PACKED = re.compile(
    r"(?<![A-Za-z0-9+/_-])(?:(?P<hex>(?:1f8b08|789c|78da|425a68|fd377a585a)[0-9a-f\s]{8,1000000})"
    r"|(?P<base64>(?:H4sI|SDRzS|Qlpo|/Td6WFo|eJ[wxyz]|eN[op]|eAE)[A-Za-z0-9+/_=\s-]{8,1000000}))"
)
"""How packed bytes begin, in hex and in base64; SDRzS is the base64 of a base64."""

Unpacked = tuple[int, int, str]
"""Where packed text begins and ends, and what is in it."""


def unpacked(text: str) -> Iterator[Unpacked]:
    """The packed texts within a text. What is cut off is unpacked as far as it goes."""
    at = tried = 0
    while tried < MOST and (found := PACKED.search(text, at)):
        at = found.start() + 4
        tried += len(found[0])
        places = [here for here in range(*found.span()) if not text[here].isspace()]
        data = _bytes("".join(text[here] for here in places), in_hex=bool(found["hex"]))
        inner, used = _inside(data)
        if inner:
            letters = used * 2 if found["hex"] else -(-used * 4 // 3)
            at = places[min(letters, len(places)) - 1] + 1
            yield found.start(), at, inner.decode("utf-8", "replace")


def _bytes(written: str, *, in_hex: bool) -> bytes:
    """What is written, as far as it can be read."""
    whole = len(written) // 4 * 4
    try:
        if in_hex:
            return bytes.fromhex(written[:whole])
        return base64.b64decode(written[:whole].translate(str.maketrans("-_", "+/")))
    except (ValueError, binascii.Error):
        return b""


def _inside(data: bytes) -> tuple[bytes, int]:
    """What packed bytes hold, and how many of them hold it; nothing if they are not packed."""
    if data.startswith(b"H4sI"):
        return data, len(data)
    try:
        if data.startswith(b"BZh"):
            bunzip = bz2.BZ2Decompressor()
            return bunzip.decompress(data, MOST), len(data) - len(bunzip.unused_data)
        if data.startswith(b"\xfd7zXZ"):
            unxz = lzma.LZMADecompressor()
            return unxz.decompress(data, MOST), len(data) - len(unxz.unused_data)
        inflate = zlib.decompressobj(wbits=47)  # gzip's or zlib's, by its head
        return inflate.decompress(data, MOST), len(data) - len(inflate.unused_data)
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error):
        return b"", 0
