import base64
import hashlib
import json
import random
import shlex
import shutil
import subprocess
import unicodedata
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import assistant
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import in_all, stand_ins
from tests.secrets.tokens import core, tokens


@pytest.mark.parametrize("kind", tokens(0))
@pytest.mark.parametrize(
    "setting",
    ["{}", "it is {}.", "export X='{}'", '{{"value": "{}"}}', "see `{}`, please", "<a>{}</a>"],
)
def test_every_kind_of_token_is_replaced_wherever_it_stands(kind: str, setting: str) -> None:
    for seed in range(5):
        token = tokens(seed)[kind]
        text = setting.format(token)
        redactor = Redactor()
        redacted = redactor.redact(text)
        assert core(token) not in redacted
        assert len(stand_ins(redacted)) == 1
        assert redactor.restore(redacted) == text
        assert redactor.redact(redacted) == redacted


def test_many_tokens_in_one_text_are_told_apart_and_restored() -> None:
    text = "\n\n".join(f"{kind}: {token}" for kind, token in tokens(1).items())
    redactor = Redactor()
    redacted = redactor.redact(text)
    assert len(stand_ins(redacted)) >= len(tokens(1)) - 2
    assert redactor.restore(redacted) == text


def test_the_same_token_has_the_same_name_in_every_session() -> None:
    token = tokens(0)["GitHub"]
    assert Redactor().redact(token) == Redactor().redact(f"{token}")
    assert Redactor().redact(token) != Redactor().redact(tokens(1)["GitHub"])


def ordinary(seed: int, count: int) -> Iterator[str]:
    """Lines of everyday work: hashes, identifiers, prose, code, logs, addresses, numbers."""
    dice = random.Random(seed)

    def digest(kind: str) -> str:
        return hashlib.new(kind, dice.randbytes(8)).hexdigest()

    text = (
        "the token of a session is kept in memory while password rules and key bindings are read "
        "from secret santa lists and the author asked whether an access key is needed at the door"
    )
    words = text.split(" ")

    def prose() -> str:
        return " ".join(dice.choice(words) for _ in range(dice.randint(4, 14)))

    makers: list[Callable[[], str]] = [
        prose,
        lambda: f"{prose().capitalize()}: {prose()}.",
        lambda: f"commit {digest('sha1')}",
        lambda: f"{digest('sha1')[:9]} {prose()}",
        lambda: f"sha256:{digest('sha256')}  dist/package-{dice.randint(1, 9)}.tar.gz",
        lambda: f"    --hash=sha256:{digest('sha256')} \\",
        lambda: f"id: {uuid.UUID(int=dice.getrandbits(128))}",
        lambda: f"index {digest('sha1')[:7]}..{digest('sha1')[:7]} 100644",
        lambda: f'etag: W/"{digest("md5")}"',
        lambda: f"token = tokens[{dice.randint(0, 99)}]  # the next token",
        lambda: f"def get_token(password: str, key: int = {dice.randint(0, 9)}) -> str:",
        lambda: "api_key = os.environ['OPENAI_API_KEY']",
        lambda: f"max_tokens: {dice.randint(1, 99999)}",
        lambda: f"password: {dice.choice(['required', 'string', 'Optional[str]', '<redacted>'])}",
        lambda: f"secret={dice.choice(['true', 'None', 'settings.secret', '$SECRET', 'get()'])}",
        lambda: f"https://example.com/{digest('md5')}/page?id={dice.randint(1, 10**9)}",
        lambda: f"ssh-rsa AAAAB3NzaC1yc2E{base64.b64encode(dice.randbytes(90)).decode()} me@home",
        lambda: f"data:image/png;base64,{base64.b64encode(dice.randbytes(60)).decode()}",
        lambda: f"2026-11-{dice.randint(1, 30):02} 12:{dice.randint(10, 59)}:07,123 INFO {prose()}",
        lambda: f"10.0.{dice.randint(0, 255)}.{dice.randint(0, 255)} - - GET /key/{digest('md5')}",
        lambda: f"| {prose()} | {dice.random():.6f} | {dice.randint(0, 10**12)} |",
        lambda: f"import {dice.choice(['secrets', 'tokenize', 'keyword', 'getpass'])}",
        lambda: f"- The door code is {dice.randint(1000, 9999)}, ask Anna",
        lambda: f"git+ssh://git@github.com/a/b.git@{digest('sha1')}",
        lambda: f"0x{digest('md5')[:16]} in _start () from /lib/x86_64-linux-gnu/libc.so.6",
        lambda: f'"integrity": "sha512-{base64.b64encode(dice.randbytes(64)).decode()}",',
        lambda: f'"primary_key": "user_{dice.randint(1, 999)}",',
        lambda: f"Meet at 9:{dice.randint(10, 59)}, call +49 {dice.randint(10**9, 10**10)}",
        lambda: f"registry.example.com/app@sha256:{digest('sha256')}",
        lambda: f"class {dice.choice(['Token', 'Key', 'Secret'])}Store(Base[{digest('md5')[:4]}]):",
    ]
    for _ in range(count):
        yield dice.choice(makers)()


def test_ordinary_lines_are_left_alone() -> None:
    lines = list(ordinary(7, 1000))
    touched = [line for line in lines if Redactor().redact(line) != line]
    assert len(touched) <= 20, touched


def test_this_programs_own_source_is_left_alone() -> None:
    lines = [
        line
        for path in sorted(Path(assistant.__file__).parent.rglob("*.py"))
        for line in path.read_text(encoding="utf-8").split("\n")
    ]
    touched = [line for line in lines if Redactor().redact(line) != line]
    assert len(touched) <= len(lines) // 500, touched


def test_registered_values_are_replaced_in_every_spelling() -> None:
    value = 'pass "word"/ä\n2'
    redactor = Redactor({"DB": value})
    assert redactor.redact(f"x{value}y") == "x[[secret:DB]]y"
    assert redactor.redact(json.dumps({"k": value})) == '{"k": "[[secret:DB]]"}'
    assert redactor.redact("?p=pass%20%22word%22%2F%C3%A4%0A2") == "?p=[[secret:DB]]"
    assert redactor.restore("[[secret:DB]] [[secret:NO]]") == f"{value} [[secret:NO]]"


SPELLINGS: dict[str, Callable[[str], str]] = {
    "JSON in JSON": lambda value: json.dumps({"text": json.dumps({"key": value})}),
    "JSON in plain JSON": lambda value: json.dumps(json.dumps([value]), ensure_ascii=False),
    "ascii": ascii,
    "a list of Python": lambda value: repr([value]),
    "bytes of Python": lambda value: repr([value.encode()]),
    "NFD": lambda value: unicodedata.normalize("NFD", value),
    "JSON of NFD": lambda value: json.dumps(unicodedata.normalize("NFD", value)),
    "shlex": shlex.quote,
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("value", ['Grüße "nach" Köln!', "it's $a `b` #c", "a\\b/c'd\"e"])
def test_a_registered_value_is_found_as_programs_print_it(value: str, spelling: str) -> None:
    text = SPELLINGS[spelling](value)
    redacted = Redactor({"DB": value}).redact(text)
    assert "[[secret:DB]]" in redacted
    assert not [part for part in ("nach", "it", "$a", "b/c") if part in redacted]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("value", ['Grüße "nach" Köln!', "it's $a `b` #c~", "~a,b^c{d}\ne'f\\g"])
def test_a_registered_value_is_found_as_bash_quotes_it(value: str, locale: str) -> None:
    command = ["bash", "-c", 'printf %q "$0"', value]
    printed = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"LC_ALL": locale}
    )
    redacted = Redactor({"DB": value}).redact(printed.stdout)
    assert redacted in ("[[secret:DB]]", "$'[[secret:DB]]'")


def test_the_longer_of_two_values_wins_and_short_ones_are_not_looked_for() -> None:
    redactor = Redactor({"A": "abcdef", "B": "abcdefgh", "C": "ab", "D": ""})
    assert redactor.redact("abcdefgh abcdef ab") == "[[secret:B]] [[secret:A]] ab"


def test_restoring_reaches_into_nested_arguments() -> None:
    redactor = Redactor({"DB": "hunter22"})
    given = {"a": ["[[secret:DB]]", 1, {"b": "x[[secret:DB]]"}], "c": None}
    assert in_all(redactor.restore, given) == {"a": ["hunter22", 1, {"b": "xhunter22"}], "c": None}


def test_what_a_text_holds_can_be_asked() -> None:
    redactor = Redactor({"DB": "hunter22"})
    assert redactor.new_stand_ins("hunter22 and [[secret:OLD]]") == {"[[secret:DB]]"}
    assert redactor.new_stand_ins("nothing") == set()
