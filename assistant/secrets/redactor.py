"""Keeps secrets on this machine: each known secret is replaced by a named stand-in.

This happens before anything is sent, indexed or logged. A stand-in is replaced by its secret only
in the arguments of a tool, as it runs. Known are the values that the owner registered, the values
of environment variables whose names mark them as keys, and any text that looks like a secret
(`detector.py`).
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from unicodedata import normalize
from urllib.parse import quote, quote_plus

from assistant.secrets.detector import Detector
from assistant.secrets.stand_ins import SHORTEST, STAND_IN, Secret, stand_in_of, stand_ins

HEX_ESCAPE = re.compile("%[0-9A-F]{2}")
UNSAFE = re.compile(r"""[][\\ !"$&'()*,;<>?^`{|}]|^[#~]""")
"""Characters that bash's `printf %q` escapes with a backslash."""
B64 = base64.b64encode


class Redactor:
    """Replaces secrets by stand-ins such as `[[secret:GITHUB_TOKEN]]`, and back.

    A secret recognised only by its form is named by its kind and the start of its hash, so that it
    has the same stand-in in every session.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, str] = {}
        self.replace(values or {})

    def replace(self, values: Mapping[str, str]) -> None:
        """Replace the known values with these."""
        self._certain = dict(values)
        self._values |= {stand_in_of(name): value for name, value in values.items()}
        self._detector = Detector(_encoded_forms(self._certain))

    def learn(self, name: str, value: str) -> None:
        """Add a value under this name."""
        self.replace(self._certain | {name: value})

    def redact(self, text: str) -> str:
        """Replace every secret in the text by its stand-in."""
        return hidden(text, self.findings(text))

    def restore(self, text: str) -> str:
        """Replace every known stand-in in the text by its secret."""
        return STAND_IN.sub(lambda match: self._values.get(match[0], match[0]), text)

    def known(self) -> dict[str, str]:
        """Return the known secrets by stand-in."""
        return dict(self._values)

    def new_stand_ins(self, text: str) -> set[str]:
        """Return the stand-ins of the secrets in a text, without stand-ins it already contains."""
        return {finding.stand_in for finding in self.findings(text)} - stand_ins(text)

    def findings(self, text: str) -> list[Secret]:
        """Return the secrets in a text, in order."""
        return [self._finding(text, *span) for span in self._detector.find(text)]

    def lost(self, text: str) -> list[str]:
        """Return the stand-ins in a text whose value is not stored: neither as a registered secret
        nor as a key in the environment."""
        known = {stand_in_of(name) for name in self._certain}
        return sorted(stand_ins(text) - known)

    def _finding(self, text: str, start: int, end: int, kind: str) -> Secret:
        if stand_in_match := STAND_IN.fullmatch(kind):
            return Secret(start, end, stand_in_match[1], True, kind)
        secret = text[start:end]
        digest = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        stand_in = stand_in_of(f"{kind}-{digest[:8]}")
        self._values[stand_in] = secret
        return Secret(start, end, kind, False, stand_in)


def hidden(text: str, findings: Iterable[Secret]) -> str:
    """Replace these secrets, given in order, with their stand-ins."""
    parts, offset = [], 0
    for finding in findings:
        parts += [text[offset : finding.start], finding.stand_in]
        offset = finding.end
    return "".join([*parts, text[offset:]])


def within(findings: Iterable[Secret], start: int, end: int) -> list[Secret]:
    """Return the parts of secrets between two characters, with positions relative to the first."""
    return [
        replace(one, start=max(one.start, start) - start, end=min(one.end, end) - start)
        for one in findings
        if one.start < end and start < one.end
    ]


def _encoded_forms(values: Mapping[str, str]) -> dict[str, str]:
    """Map each form in which a tool may print a value to its stand-in; short values are skipped."""
    return {
        spelling: stand_in_of(name)
        for name, value in values.items()
        if len(value) >= SHORTEST
        for form in {value, *(normalize(name, value) for name in ("NFC", "NFD"))}
        for spelling in (form, *_encodings(form))
    }


def _encodings(value: str) -> Iterator[str]:
    """Yield the value in URLs, JSON (also within JSON), Python, bash, HTML, hex and, at each
    alignment, base64."""
    for inner in (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        yield from (inner, inner.replace("/", "\\/"))
        yield from (json.dumps(inner, ensure_ascii=as_ascii)[1:-1] for as_ascii in (True, False))
    data = value.encode("utf-8", "surrogatepass")
    yield from (ascii(value)[1:-1], repr(value)[1:-1], repr(data)[2:-1])
    yield UNSAFE.sub(r"\\\g<0>", value)
    yield from (value.replace("'", quote_mark) for quote_mark in ("'\\''", "'\"'\"'"))
    yield "".join(map(_quoted_byte, data))
    urls = {quote(value, safe=""), quote(value), quote_plus(value)}
    yield from urls
    yield from (HEX_ESCAPE.sub(lambda byte: byte[0].lower(), url) for url in urls)
    yield html.escape(value)
    yield from (data.hex(), data.hex().upper())
    for offset in range(3):  # up to two preceding bytes share a base64 group with the value
        aligned = data[offset : offset + (len(data) - offset) // 3 * 3]
        if len(aligned) >= SHORTEST:
            yield from (coder(aligned).decode() for coder in (B64, base64.urlsafe_b64encode))
    yield from (coder(data).decode() for coder in (B64, base64.urlsafe_b64encode))


def _quoted_byte(byte: int) -> str:
    """Return a byte as bash quotes it in `$'…'`."""
    if byte < 32 or byte > 126:
        return {9: r"\t", 10: r"\n", 13: r"\r"}.get(byte, f"\\{byte:03o}")
    return f"\\{byte:c}" if byte in b"\\'" else f"{byte:c}"
