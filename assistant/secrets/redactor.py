"""Secrets stay on this machine: what is known to be one is replaced by a named stand-in.

That happens before anything is sent, stored, indexed or logged. A stand-in is put back only in
the arguments of a tool, as it runs. Known are the values the owner registered, the values of
environment variables whose names say so, and what looks like a secret (`detection.py`).
"""

import hashlib
import json
from collections.abc import Mapping
from urllib.parse import quote

from assistant.secrets.detection import Detector
from assistant.secrets.stand_ins import SHORTEST, STAND_IN, stand_ins

Place = tuple[int, int, str]
"""Where a secret stands: first character, end, and its stand-in."""


class Redactor:
    """Replaces secrets by stand-ins such as `[[secret:GITHUB_TOKEN]]`, and back.

    A secret known by its looks alone is named by its kind and the start of its hash, so that the
    same one has the same stand-in in every session.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = {f"[[secret:{name}]]": value for name, value in (values or {}).items()}
        self._spelled = {
            spelling: stand_in
            for stand_in, value in self._values.items()
            for spelling in (value, quote(value, safe=""), json.dumps(value)[1:-1])
            if len(value) >= SHORTEST
        }
        self._detector = Detector(self._spelled)

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

    def found(self, text: str) -> set[str]:
        """The stand-ins of the secrets in a text, not counting stand-ins it holds already."""
        return {stand_in for _, _, stand_in in self.places(text)} - stand_ins(text)

    def places(self, text: str) -> list[Place]:
        """Where secrets stand in a text, in order: first character, end, stand-in."""
        return [
            (start, end, kind if kind.startswith("[[") else self._stand_in(kind, text[start:end]))
            for start, end, kind in self._detector.find(text)
        ]

    def _stand_in(self, kind: str, secret: str) -> str:
        digest = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        stand_in = f"[[secret:{kind}-{digest[:8]}]]"
        self._values[stand_in] = secret
        return stand_in
