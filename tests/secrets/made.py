"""The scored cases: lines with made-up secrets, and innocent lines.

`cases/*.txt` hold templates. `{hex:32}` stands for 32 made-up hexadecimal digits, and so on for
each of `MAKERS`; in the lines with secrets «…» surrounds what must not stay. Values are made anew
from a seed, so that no file of ours holds a thing that looks like a key.
"""

import base64
import json
import random
import re
import string
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).parent / "cases"
HALVES = ("development", "later")
SEEDS = 3
"""Values that each line with a secret is tried with."""
_FIELD = re.compile(r"\{([a-z0-9]+[-@;, ]?)(?::(\d+))?\}", re.IGNORECASE)
_SECRET = re.compile("«(.*?)»", re.DOTALL)
_WORDS = (
    "Sommer",
    "winter",
    "Kitty",
    "hunter",
    "Dragon",
    "blue",
    "Hafen",
    "otter",
    "Porto",
    "Nebel",
)
_PHRASE = ("nine", "tame", "herons", "carry", "amber", "lanterns", "across", "quiet", "rivers")
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_LETTERS = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class Case:
    """A text and the secrets in it; none in an innocent one."""

    kind: str
    text: str
    secrets: tuple[str, ...] = ()

    def leaks(self, redacted: str) -> bool:
        """Whether half of a secret, or more, is still to be read."""
        return any(half in redacted for secret in self.secrets for half in _halves(secret))


def secrets(half: str, seeds: int = SEEDS) -> Iterator[Case]:
    """The lines with secrets of a half, each with several values."""
    for number, line in enumerate(_lines(f"{half}_secrets")):
        kind, _, template = line.partition(" | ")
        for seed in range(seeds):
            filled = _filled(template, random.Random(f"{half} {number} {seed}"))
            found = tuple(_SECRET.findall(filled))
            yield Case(kind, filled.replace("«", "").replace("»", ""), found)


def innocents(half: str) -> Iterator[Case]:
    """The innocent lines of a half."""
    for number, line in enumerate(_lines(f"{half}_innocents")):
        yield Case("innocent", _filled(line, random.Random(f"{half} {number}")))


def _lines(name: str) -> list[str]:
    return (CASES / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")


def _filled(template: str, dice: random.Random) -> str:
    def made(field: re.Match[str]) -> str:
        maker = MAKERS.get(field[1])
        return maker(dice, int(field[2] or 0)) if maker else field[0]

    return _FIELD.sub(made, template.replace("\\\\", "\0").replace("\\n", "\n")).replace("\0", "\\")


def _halves(secret: str) -> tuple[str, str]:
    middle = (len(secret) + 1) // 2
    return secret[:middle], secret[-middle:]


def _of(alphabet: str) -> Callable[[random.Random, int], str]:
    def make(dice: random.Random, count: int) -> str:
        kinds = [
            each for each in (string.digits, string.ascii_letters) if set(each) & set(alphabet)
        ]
        while True:
            made = "".join(dice.choice(alphabet) for _ in range(count))
            if count < 12 or all(set(made) & set(kind) for kind in kinds):
                return made

    return make


def _word(dice: random.Random, _: int) -> str:
    return f"{dice.choice(_WORDS)}{dice.choice([2, 7, 42, 99, 123, 1985, 2024])}"


def _password(symbols: str) -> Callable[[random.Random, int], str]:
    def make(dice: random.Random, count: int) -> str:
        def some(alphabet: str, least: int, most: int) -> str:
            return "".join(dice.choice(alphabet) for _ in range(dice.randint(least, most)))

        word, sign = dice.choice(_WORDS), dice.choice(symbols)
        if count:
            return dice.choice(_LETTERS) + some(_LETTERS + symbols, count - 1, count - 1)
        return dice.choice(
            [
                f"{word}{dice.randint(1980, 2026)}{some(string.ascii_lowercase, 2, 4)}{sign}",
                f"{word}{sign}{dice.randint(10, 9999)}",
                f"{some(_LETTERS, 3, 5)}{sign}{some(_LETTERS, 4, 6)}{dice.randint(1, 99)}",
                f"{some(_LETTERS, 11, 19)}{dice.randint(0, 9)}",
                f"{word.swapcase()}_{dice.choice(_WORDS)}{dice.randint(10, 99)}{sign}",
                f"tr0ub4{some(string.ascii_lowercase, 3, 5)}{sign}{dice.randint(1, 9)}",
            ]
        )

    return make


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _jwt(dice: random.Random, _: int) -> str:
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": str(dice.random()), "iat": 1732183530}]
    head = ".".join(_encoded(json.dumps(each)).rstrip("=") for each in parts)
    return f"{head}.{MAKERS['b62u'](dice, 43)}"


def _azure(dice: random.Random, _: int) -> str:
    return f"{MAKERS['b62'](dice, 3)}8Q~{MAKERS['b62u'](dice, 34)}"


def _mnemonic(dice: random.Random, count: int) -> str:
    from mnemonic import Mnemonic

    words = Mnemonic("english").wordlist
    return " ".join(dice.choice(words) for _ in range(count))


MAKERS: dict[str, Callable[[random.Random, int], str]] = {
    "digits": _of(string.digits),
    "hex": _of("0123456789abcdef"),
    "HEX": _of("0123456789ABCDEF"),
    "b26": _of(string.ascii_lowercase),
    "b32": _of(string.ascii_uppercase + "234567"),
    "b32u": _of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    "bech32": _of("023456789acdefghjklmnpqrstuvwxyz"),
    "salt": _of(_LETTERS + "!#$%&*+,-./:;=?@^_|~"),
    "b36": _of(string.ascii_lowercase + string.digits),
    "b36u": _of(string.ascii_uppercase + string.digits),
    "b58": _of(BASE58),
    "b62": _of(_LETTERS),
    "b62u": lambda dice, count: (
        MAKERS["b62"](dice, count - 3) + _of(_LETTERS + "-_")(dice, 2) + "x"
    ),
    "b64": _of(_LETTERS + "+/"),
    "b64k": _of(_LETTERS + "+/"),
    "b64u": _of(_LETTERS + "-_"),
    "b64url": _of(_LETTERS + "-_"),
    "uuid": lambda dice, _: str(uuid.UUID(int=dice.getrandbits(128), version=4)),
    "pw": _password("!#%*+?_.^$@&-"),
    "pwsym": _password("!#%*+?^$@&-=()"),
    "pw@": _password("!*_.~$+-"),
    "pw;": _password("!#%*+?_.^$@-"),
    "pw,": _password("!#%*+?_.^$@-"),
    "word2": _word,
    "phrase ": lambda dice, _: " ".join(dice.sample(_PHRASE, 4)),
    "phrase-": lambda dice, _: "-".join(dice.sample(_PHRASE, 4)),
    "words": _mnemonic,
    "jwt": _jwt,
    "az": _azure,
    "basic": lambda dice, _: _encoded(f"anna:{MAKERS['pw'](dice, 0)}"),
    "b64pw": lambda dice, _: _encoded(MAKERS["pw"](dice, 0)),
    "b64pem": lambda dice, _: _encoded(
        f"-----BEGIN EC PRIVATE KEY-----\n{MAKERS['b64'](dice, 120)}\n-----END EC PRIVATE KEY-----"
    ),
}
"""Makes a value from a source of chance and a length."""
