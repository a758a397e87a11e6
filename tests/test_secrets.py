import base64
import hashlib
import json
import random
import string
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.backends.fail
import pytest

from assistant import secrets
from assistant.errors import ConfigError, UsageError
from assistant.secrets import Redactor, from_environment, in_all, stand_ins

HEX = "0123456789abcdef"
WORD = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + "234567"


def tokens(seed: int) -> dict[str, str]:
    """One made-up token of each kind, in its provider's format."""
    dice = random.Random(seed)

    def some(count: int, letters: str = WORD) -> str:
        return "".join(dice.choice(letters) for _ in range(count - 1)) + "7"

    def encoded(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    pem = "\n".join(some(64) for _ in range(6))
    return {
        "Anthropic": f"sk-ant-api03-{some(93)}",
        "OpenAI": f"sk-{some(48)}",
        "OpenAI project": f"sk-proj-{some(120)}",
        "OpenRouter": f"sk-or-v1-{some(64, HEX)}",
        "Groq": f"gsk_{some(52)}",
        "xAI": f"xai-{some(80)}",
        "Hugging Face": f"hf_{some(34)}",
        "Replicate": f"r8_{some(37)}",
        "GitHub": f"ghp_{some(36)}",
        "GitHub server": f"ghs_{some(36)}",
        "GitHub fine-grained": f"github_pat_{some(22)}_{some(59)}",
        "GitLab": f"glpat-{some(20)}",
        "Atlassian": f"ATATT3xFfGF0{some(180)}",
        "Slack bot": f"xoxb-{some(12, string.digits)}-{some(12, string.digits)}-{some(24)}",
        "Slack app": f"xapp-1-A{some(10)}-{some(13, string.digits)}-{some(64, HEX)}",
        "Slack webhook": f"https://hooks.slack.com/services/T{some(8)}/B{some(8)}/{some(24)}",
        "Discord bot": f"M{some(25)}.{some(6)}.{some(38)}",
        "Discord webhook": f"https://discord.com/api/webhooks/{some(18, string.digits)}/{some(68)}",
        "Telegram": f"{some(9, string.digits)}:A{some(34)}",
        "AWS access key": f"AKIA{some(16, UPPER)}",
        "AWS secret key": f"aws_secret_access_key = {some(40, WORD + '+/')}",
        "Google API": f"AIza{some(35)}",
        "Google OAuth": f"GOCSPX-{some(28)}",
        "Azure storage": f"DefaultEndpointsProtocol=https;AccountKey={some(86, WORD + '+/')}==",
        "Stripe": f"sk_live_{some(24)}",
        "Stripe restricted": f"rk_test_{some(99)}",
        "Twilio": f"SK{some(32, HEX)}",
        "SendGrid": f"SG.{some(22)}.{some(43)}",
        "Mailgun": f"key-{some(32, HEX)}",
        "Mailchimp": f"{some(32, HEX)}-us12",
        "npm": f"npm_{some(36)}",
        "PyPI": f"pypi-AgEIcHlwaS5vcmc{some(130)}",
        "Docker": f"dckr_pat_{some(27)}",
        "DigitalOcean": f"dop_v1_{some(64, HEX)}",
        "Shopify": f"shpat_{some(32, HEX)}",
        "Databricks": f"dapi{some(32, HEX)}",
        "New Relic": f"NRAK-{some(27, string.ascii_uppercase + string.digits)}",
        "Linear": f"lin_api_{some(40)}",
        "Notion": f"ntn_{some(46)}",
        "Grafana": f"glsa_{some(32)}_{some(8, HEX)}",
        "Vault": f"hvs.{some(90)}",
        "age": f"AGE-SECRET-KEY-1{some(58, string.ascii_uppercase + string.digits)}",
        "JWT": f"{encoded({'alg': 'HS256'})}.{encoded({'sub': some(10)})}.{some(43)}",
        "RSA key": f"-----BEGIN RSA PRIVATE KEY-----\n{pem}\n-----END RSA PRIVATE KEY-----",
        "SSH key": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{pem}\n-----END OPENSSH PRIVATE KEY-----",
        "database URL": f"postgres://app:{some(20)}@db.example.com:5432/app",
        "bearer": f"Authorization: Bearer {some(40)}",
        "basic": f"Authorization: Basic {some(32)}==",
        "assigned password": f'DB_PASSWORD="{some(18)}"',
        "assigned words": "export APP_SECRET=correct-horse-battery-staple-xxxxxxxx",
        "assigned key": f"api_key: {some(32, HEX)}",
    }


def core(token: str) -> str:
    """The part of a token that is nobody's business, which is its end."""
    lines = token.split("\n")
    text = lines[1] if len(lines) > 1 else token.partition("@")[0].rstrip('"=')
    return text[-14:]


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
        for path in sorted(Path(secrets.__file__).parent.rglob("*.py"))
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


def test_the_longer_of_two_values_wins_and_short_ones_are_not_looked_for() -> None:
    redactor = Redactor({"A": "abcdef", "B": "abcdefgh", "C": "ab", "D": ""})
    assert redactor.redact("abcdefgh abcdef ab") == "[[secret:B]] [[secret:A]] ab"


def test_restoring_reaches_into_nested_arguments() -> None:
    redactor = Redactor({"DB": "hunter22"})
    given = {"a": ["[[secret:DB]]", 1, {"b": "x[[secret:DB]]"}], "c": None}
    assert in_all(redactor.restore, given) == {"a": ["hunter22", 1, {"b": "xhunter22"}], "c": None}


def test_what_a_text_holds_can_be_asked() -> None:
    redactor = Redactor({"DB": "hunter22"})
    assert redactor.found("hunter22 and [[secret:OLD]]") == {"[[secret:DB]]"}
    assert redactor.found("nothing") == set()


@pytest.mark.parametrize(
    ("name", "value", "is_key"),
    [
        ("OPENAI_API_KEY", "x" * 20, True),
        ("AWS_SECRET_ACCESS_KEY", "x" * 20, True),
        ("PGPASSWORD", "hunter2hunter2", True),
        ("GITHUB_PAT", "x" * 20, True),
        ("SLACK_TOKENS", "x" * 20, True),
        ("PWD", "/home/anna/project", False),
        ("SSH_AUTH_SOCK", "/tmp/ssh/agent", False),
        ("TOKENIZERS_PARALLELISM", "false-but-long", False),
        ("KEYBOARD_LAYOUT", "german-nodeadkeys", False),
        ("MONKEY", "a banana a day", False),
        ("DEBUG_TOKEN", "1", False),
        ("COMPASS", "north-north-west", False),
    ],
)
def test_variables_are_taken_for_keys_by_their_names(name: str, value: str, is_key: bool) -> None:
    assert (name in from_environment({name: value})) is is_key


def test_redacting_is_fast() -> None:
    """A long transcript costs no more than a few dozen passes of the text."""
    text = "\n".join(ordinary(3, 10_000))
    redactor = Redactor({f"S{number}": f"secret-value-{number}" for number in range(50)})
    began = time.perf_counter()
    redactor.redact(text)
    assert time.perf_counter() - began < 3.0


class Keyring(keyring.backend.KeyringBackend):
    """A keyring of this test alone."""

    priority = 5

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def no_keyring() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def system_keyring() -> Iterator[Keyring]:
    before = keyring.get_keyring()
    kept = Keyring()
    keyring.set_keyring(kept)
    yield kept
    keyring.set_keyring(before)


def test_without_a_keyring_values_are_in_a_file_of_the_owner_alone(
    no_keyring: None, home: Path
) -> None:
    assert secrets.names() == []
    where = secrets.add("DOOR", "open-sesame")
    assert where == str(home / ".config/assistant/secrets.json")
    assert Path(where).stat().st_mode & 0o777 == 0o600
    assert Path(where).parent.stat().st_mode & 0o777 == 0o700
    secrets.add("DOOR", "close-sesame")
    secrets.add("ALPHA", "aaaaaa")
    assert secrets.names() == ["ALPHA", "DOOR"]
    assert secrets.registered() == {"DOOR": "close-sesame", "ALPHA": "aaaaaa"}
    assert secrets.redactor({}).redact("close-sesame") == "[[secret:DOOR]]"
    secrets.remove("DOOR")
    assert secrets.names() == ["ALPHA"]
    assert "close-sesame" not in Path(where).read_text()


def test_with_a_keyring_values_are_in_it_and_the_file_has_names(system_keyring: Keyring) -> None:
    assert secrets.add("DOOR", "open-sesame") == "keyring"
    assert system_keyring.kept == {("assistant", "DOOR"): "open-sesame"}
    assert "open-sesame" not in secrets.store().read_text()
    assert secrets.registered() == {"DOOR": "open-sesame"}
    secrets.remove("DOOR")
    assert system_keyring.kept == {}
    assert secrets.names() == []


def test_a_value_gone_from_the_keyring_is_named(system_keyring: Keyring) -> None:
    secrets.add("DOOR", "open-sesame")
    system_keyring.kept.clear()
    with pytest.raises(ConfigError, match="no longer holds DOOR"):
        secrets.registered()


@pytest.mark.parametrize(("name", "value"), [("a-b", "x" * 9), ("", "x" * 9), ("A", "short")])
def test_what_cannot_be_a_secret_is_refused(no_keyring: None, name: str, value: str) -> None:
    with pytest.raises(UsageError):
        secrets.add(name, value)
    with pytest.raises(UsageError):
        secrets.remove("UNKNOWN")


def test_a_file_that_others_can_read_or_that_is_damaged_is_refused(no_keyring: None) -> None:
    secrets.add("DOOR", "open-sesame")
    secrets.store().chmod(0o644)
    with pytest.raises(ConfigError, match="read by others"):
        secrets.redactor({})
    secrets.store().chmod(0o600)
    secrets.store().write_text("{")
    with pytest.raises(ConfigError, match="damaged"):
        secrets.redactor({})
