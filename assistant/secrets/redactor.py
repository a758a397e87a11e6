"""Secrets stay on this machine: what is known to be one is replaced by a named stand-in.

That happens before anything is sent, indexed or logged. A stand-in is put back only in the
arguments of a tool, as it runs. Known are the values the owner registered, the values of
environment variables whose names say so, and what looks like a secret (`detector.py`).
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

from assistant.secrets.detector import Detector
from assistant.secrets.stand_ins import SHORTEST, STAND_IN, stand_in_of, stand_ins

HEX_ESCAPE = re.compile("%[0-9A-F]{2}")
B64 = base64.b64encode

Place = tuple[int, int, str]
"""Where a secret stands: first character, end, and its stand-in."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret in a text, from its first character to its end.

    It is `certain` if the owner registered it or the environment says so; then `kind` is its name.
    Otherwise it only looks like one, of this kind.
    """

    start: int
    end: int
    kind: str
    certain: bool
    stand_in: str


class Redactor:
    """Replaces secrets by stand-ins such as `[[secret:GITHUB_TOKEN]]`, and back.

    A secret known by its looks alone is named by its kind and the start of its hash, so that the
    same one has the same stand-in in every session.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._certain = dict(values or {})
        self._values = {stand_in_of(name): value for name, value in self._certain.items()}
        self._detector = Detector(_spellings(self._certain))

    def learn(self, name: str, value: str) -> None:
        """Know one more value from now on, by this name."""
        self._certain[name] = self._values[stand_in_of(name)] = value
        self._detector = Detector(_spellings(self._certain))

    def redact(self, text: str) -> str:
        """The text with every secret replaced by its stand-in."""
        parts, at = [], 0
        for start, end, stand_in in self.places(text):
            parts += [text[at:start], stand_in]
            at = end
        return "".join([*parts, text[at:]]) if parts else text

    def restore(self, text: str) -> str:
        """The text with every stand-in that is known here replaced by its secret."""
        return STAND_IN.sub(lambda match: self._values.get(match[0], match[0]), text)

    def known(self) -> dict[str, str]:
        """Each secret that is known so far, by its stand-in."""
        return dict(self._values)

    def new_stand_ins(self, text: str) -> set[str]:
        """The stand-ins of the secrets in a text, not counting stand-ins it holds already."""
        return {stand_in for _, _, stand_in in self.places(text)} - stand_ins(text)

    def places(self, text: str) -> list[Place]:
        """Where secrets stand in a text, in order: first character, end, stand-in."""
        return [(finding.start, finding.end, finding.stand_in) for finding in self.findings(text)]

    def findings(self, text: str) -> list[Finding]:
        """The secrets in a text, in order."""
        return [self._finding(text, *span) for span in self._detector.find(text)]

    def lost(self, text: str) -> list[str]:
        """The stand-ins in a text that stand for nothing which is kept: no registered secret, and
        no key of the environment."""
        kept = {stand_in_of(name) for name in self._certain}
        return sorted(stand_ins(text) - kept)

    def _finding(self, text: str, start: int, end: int, kind: str) -> Finding:
        if known := STAND_IN.fullmatch(kind):
            return Finding(start, end, known[1], True, kind)
        secret = text[start:end]
        digest = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        stand_in = stand_in_of(f"{kind}-{digest[:8]}")
        self._values[stand_in] = secret
        return Finding(start, end, kind, False, stand_in)


def _spellings(values: Mapping[str, str]) -> dict[str, str]:
    """Map each way that a tool may print a value to its stand-in; short values are left out."""
    return {
        spelling: stand_in_of(name)
        for name, value in values.items()
        if len(value) >= SHORTEST
        for spelling in (value, *_encodings(value))
    }


def _encodings(value: str) -> Iterator[str]:
    """The value in URLs, JSON, HTML, hex and, at each alignment, base64."""
    escaped = json.dumps(value)[1:-1]
    urls = {quote(value, safe=""), quote(value), quote_plus(value)}
    yield from urls
    yield from (HEX_ESCAPE.sub(lambda byte: byte[0].lower(), url) for url in urls)
    yield from (escaped, escaped.replace("/", "\\/"), json.dumps(value, ensure_ascii=False)[1:-1])
    yield html.escape(value)
    data = value.encode("utf-8", "surrogatepass")
    yield from (data.hex(), data.hex().upper())
    for offset in range(3):  # how many of its bytes share a group with what stands before it
        whole = data[offset : offset + (len(data) - offset) // 3 * 3]
        if len(whole) >= SHORTEST:
            yield from (coder(whole).decode() for coder in (B64, base64.urlsafe_b64encode))
    yield from (coder(data).decode() for coder in (B64, base64.urlsafe_b64encode))
