"""Secrets stay on this machine: what is known to be one is replaced by a named stand-in.

That happens before anything is sent, stored, indexed or logged. A stand-in is put back only in
the arguments of a tool, as it runs. Known are the values the owner registered, the values of
environment variables whose names say so, and tokens by their format. The formats are our own
table: detect-secrets, the library for it, scans files for a report and does not rewrite text, and
its entropy rules strike the hashes and identifiers that ordinary work is full of.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assistant import storage
from assistant.config import config_file
from assistant.errors import ConfigError, UsageError

SERVICE = "assistant"
"""Under which the system's keyring keeps our values."""
SHORTEST = 6
"""Characters of a secret; shorter values stand in ordinary text by chance."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
STAND_IN = re.compile(r"\[\[secret:([\w-]+)\]\]")
KEY_NAME = re.compile(
    r"(?:(?:^|_)(?:KEY|PASS|PASSPHRASE|PWD|CREDENTIAL|AUTH|PAT)|APIKEY|PASSWORD|PASSWD|SECRET|TOKEN)"
    r"S?(?:_|$)",
    re.IGNORECASE,
)
"""An environment variable of such a name holds a key."""


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of token. Group 1 of `pattern`, if any, is the secret.

    Text without the `mark`, or in which `hint` finds nothing, is not searched: it is quick.
    """

    name: str
    mark: str
    pattern: re.Pattern[str]
    hint: re.Pattern[str] | None = None

    def may_be_in(self, text: str) -> bool:
        """Whether it is worth a search."""
        return self.mark in text and (self.hint is None or self.hint.search(text) is not None)


_WORD = r"[\w-]"
_LETTERS = r"[A-Za-z0-9]"


def _format(name: str, mark: str, rest: str, *, inside: str = _LETTERS) -> Format:
    """A token of `mark`, then `rest`, and no `inside` before it.

    What comes before is looked at after the mark: a pattern that starts with letters is searched
    for ten times as fast.
    """
    mark_itself = re.escape(mark)
    return Format(name, mark, re.compile(f"{mark_itself}(?<!{inside}{mark_itself}){rest}"))


_HEX = r"[0-9a-f]"
FORMATS = (
    _format("anthropic-key", "sk-ant-", _WORD + "{20,}"),
    _format("openai-key", "sk-", r"(?!ant-)(?:[a-z]+\d?-)*(?=[\w-]*\d)[\w-]{20,}"),
    _format("groq-key", "gsk_", _LETTERS + "{40,}"),
    _format("xai-key", "xai-", _LETTERS + "{40,}"),
    _format("perplexity-key", "pplx-", _LETTERS + "{40,}"),
    _format("replicate-token", "r8_", _LETTERS + "{30,}"),
    _format("huggingface-token", "hf_", _LETTERS + "{30,}"),
    _format("github-token", "gh", r"[pousr]_[A-Za-z0-9]{30,}", inside=r"\w"),
    _format("github-pat", "github_pat_", r"\w{22,}"),
    _format("gitlab-token", "gl", r"(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w.-]{20,}", inside=r"\w"),
    _format("bitbucket-token", "ATBB", _LETTERS + "{28,}"),
    _format("atlassian-token", "ATATT3", r"[\w=-]{50,}"),
    _format("slack-token", "xox", r"[abeoprs](?:\.xox[bp])?-[\w-]{10,}", inside=r"\w"),
    _format("slack-app-token", "xapp-", r"\d-[\w-]{20,}"),
    _format("slack-webhook", "hooks.slack.com/", r"(?:services|workflows)/([\w/]{20,})"),
    Format(
        "discord-webhook",
        "/api/webhooks/",
        re.compile(r"discord(?:app)?\.com/api/webhooks/(\d+/[\w-]{40,})"),
    ),
    Format(
        "discord-token",
        ".",
        re.compile(r"(?<![\w.-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}(?!\w)"),
        hint=re.compile(r"\.[\w-]{6}\.[\w-]{27}"),
    ),
    Format(
        "telegram-token",
        ":",
        re.compile(r"(?<![\w.])\d{8,10}:[A-Za-z][\w-]{34}(?![\w-])"),
        hint=re.compile(r":[A-Za-z][\w-]{34}"),
    ),
    _format("aws-access-key", "A", r"(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}(?!\w)", inside=r"\w"),
    _format("google-api-key", "AIza", _WORD + "{35}"),
    _format("google-oauth-secret", "GOCSPX-", _WORD + "{20,}"),
    _format("google-oauth-token", "ya29.", r"[\w.-]{20,}"),
    _format("google-refresh-token", "1//0", _WORD + "{30,}"),
    Format(
        "azure-storage-key", "AccountKey=", re.compile(r"AccountKey=([A-Za-z0-9+/]{60,}={0,2})")
    ),
    Format("stripe-key", "k_", re.compile(r"[rsp]k_(?<!\w\wk_)(?:live|test)_[A-Za-z0-9]{16,}")),
    _format("webhook-secret", "whsec_", r"[A-Za-z0-9+/=]{20,}"),
    _format("twilio-key", "SK", _HEX + r"{32}(?!\w)", inside=r"\w"),
    _format("sendgrid-key", "SG.", r"[\w-]{16,}\.[\w-]{16,}"),
    _format("mailgun-key", "key-", _HEX + r"{32}(?!\w)"),
    Format("mailchimp-key", "-us", re.compile(r"(?<!\w)[0-9a-f]{32}-us\d{1,2}(?!\w)")),
    _format("npm-token", "npm_", _LETTERS + "{36}"),
    _format("pypi-token", "pypi-", _WORD + "{50,}"),
    _format("rubygems-key", "rubygems_", _HEX + "{40,}"),
    _format("docker-token", "dckr_pat_", _WORD + "{20,}"),
    Format("digitalocean-token", "_v1_", re.compile(r"(?<!\w)do[opr]_v1_[0-9a-f]{64}")),
    _format("shopify-token", "shp", r"(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}", inside=r"\w"),
    _format("square-token", "sq0", r"(?:atp|csp|idp)-[\w-]{22,}", inside=r"\w"),
    _format("databricks-token", "dapi", _HEX + r"{32}(?:-\d)?(?!\w)"),
    _format("newrelic-key", "NRAK-", "[A-Z0-9]{27}"),
    _format("linear-key", "lin_api_", _LETTERS + "{32,}"),
    _format("notion-token", "ntn_", _LETTERS + "{40,}"),
    _format("notion-secret", "secret_", _LETTERS + r"{43}(?!\w)"),
    _format("postman-key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    _format("grafana-token", "glsa_", r"\w{32,}"),
    _format("doppler-token", "dp.", r"(?:pt|st|ct|sa)\.[\w.-]{40,}"),
    _format("vault-token", "hv", r"[sbr]\.[\w-]{24,}", inside=r"\w"),
    Format(
        "terraform-token",
        ".atlasv1.",
        re.compile(r"(?<!\w)[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}"),
    ),
    _format("age-key", "AGE-SECRET-KEY-1", "[0-9A-Z]{50,}"),
    _format("airtable-token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _format("figma-token", "figd_", _WORD + "{30,}"),
    _format("supabase-token", "sbp_", _HEX + "{40}"),
    _format("pulumi-token", "pul-", _HEX + r"{40}(?!\w)"),
    _format("tailscale-key", "tskey-", _WORD + "{16,}"),
    _format("sentry-token", "sntrys_", r"[\w+/=.-]{30,}"),
    _format("jwt", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    Format(
        "private-key",
        "PRIVATE KEY",
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:[\w+/=\s\\,:.()-]{40,}?"
            r"-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]{64,})"
        ),
    ),
    Format("url-password", "://", re.compile(r"://[^\s/:@]*:([^\s/:@\[\]]{3,})@[\w.-]")),
    Format(
        "authorization",
        "uthorization",
        re.compile(r"uthorization[\"']?\s*[:=]\s*[\"']?(?:Bearer|Basic|Token)\s+([\w+/=.~-]{8,})"),
    ),
    Format(
        "assigned-variable",
        "=",
        re.compile(
            r"(?<![\w\[])(?:[A-Z][A-Z0-9_]*_)?(?:\w*PASSWORD|PASSWD|SECRET|TOKEN|\w*KEY)="
            r"[\"']?([^\s\"'$<>(){}\[\];,]{8,})"
        ),
    ),
    Format(
        "assigned-secret",
        "",
        re.compile(
            r"(?i)(?<!\[)(?:api_?-?key|access_?-?key|secret|token|passw(?:or)?d|passphrase)"
            r"[\"']?\s*(?:=|:|=>)\s*[\"']?"
            r"((?=[^\s\"']*[0-9])(?=[^\s\"']*[A-Za-z])[A-Za-z0-9+/_.~!@#%^&*=-]{10,})"
        ),
        hint=re.compile(r"[=:>]\s*[\"']?(?=[^\s\"']*[0-9])[A-Za-z0-9+/_.~!@#%^&*=-]{10}"),
    ),
)


class Redactor:
    """Replaces secrets by stand-ins such as `[[secret:GITHUB_TOKEN]]`, and back.

    A token known by its format alone is named by its kind and the start of its hash, so that the
    same token has the same stand-in in every session.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = {f"[[secret:{name}]]": value for name, value in (values or {}).items()}
        spelled = {
            spelling: stand_in
            for stand_in, value in self._values.items()
            for spelling in (value, quote(value, safe=""), json.dumps(value)[1:-1])
            if len(value) >= SHORTEST
        }
        longest_first = sorted(spelled, key=len, reverse=True)
        self._spelled = spelled
        self._seen: dict[str, str] = {}
        self._known = re.compile("|".join(map(re.escape, longest_first))) if spelled else None

    def redact(self, text: str) -> str:
        """The text with every secret replaced by its stand-in."""
        if self._known:
            text = self._known.sub(lambda match: self._spelled[match[0]], text)
        for kind in FORMATS:
            if kind.may_be_in(text):
                text = kind.pattern.sub(partial(self._stand_in, kind.name), text)
        return text

    def restore(self, text: str) -> str:
        """The text with every stand-in that is known here replaced by its secret."""
        return STAND_IN.sub(lambda match: self._values.get(match[0], match[0]), text)

    def found(self, text: str) -> set[str]:
        """The stand-ins of the secrets in a text, not counting stand-ins it holds already."""
        return stand_ins(self.redact(text)) - stand_ins(text)

    def places(self, text: str) -> list[tuple[int, int, str]]:
        """Where secrets stand in a text, in order: first character, end, stand-in."""
        redacted = self.redact(text)
        if redacted == text:
            return []
        names = stand_ins(redacted)
        known = {**self._spelled, **self._seen}
        spellings = sorted((each for each in known if known[each] in names), key=len, reverse=True)
        anyone = re.compile("|".join(map(re.escape, spellings)))
        return [(match.start(), match.end(), known[match[0]]) for match in anyone.finditer(text)]

    def _stand_in(self, kind: str, match: re.Match[str]) -> str:
        secret = match[1] if match.re.groups else match[0]
        digest = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        stand_in = f"[[secret:{kind}-{digest[:8]}]]"
        self._values[stand_in] = secret
        self._seen[secret] = stand_in
        return match[0].replace(secret, stand_in)


def in_all(change: Callable[[str], str], value: Any) -> Any:
    """The value with every string of its nested lists and mappings changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: in_all(change, each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [in_all(change, each) for each in value]
    return value


def stand_ins(text: str) -> set[str]:
    """The stand-ins in a text."""
    return {match[0] for match in STAND_IN.finditer(text)}


def redactor(environ: Mapping[str, str] = os.environ) -> Redactor:
    """A redactor of the registered secrets and the environment's. Raises ConfigError."""
    return Redactor(from_environment(environ) | registered())


class Standing:
    """The redactor of a process that stays: made again once a secret is registered or removed."""

    def __init__(self) -> None:
        self._made: tuple[tuple[int, int] | None, Redactor] | None = None

    def __call__(self) -> Redactor:
        """The redactor as of now. Raises ConfigError."""
        try:
            found = store().stat()
            seen = (found.st_ino, found.st_mtime_ns)
        except FileNotFoundError:
            seen = None
        if self._made is None or self._made[0] != seen:
            self._made = (seen, redactor())
        return self._made[1]


def from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The values of the variables whose names say that they are keys, paths left out."""
    return {
        name: value
        for name, value in environ.items()
        if KEY_NAME.search(name) and len(value) >= 8 and not value.startswith(("/", "~/"))
    }


def store() -> Path:
    """The file of the registered names, and of their values where there is no keyring."""
    return config_file().parent / "secrets.json"


def names() -> list[str]:
    """The names of the registered secrets, sorted."""
    return sorted(_read())


def registered() -> dict[str, str]:
    """The registered secrets. Raises ConfigError if the keyring does not give one up."""
    return {
        name: _from_keyring(name) if value is None else value for name, value in _read().items()
    }


def add(name: str, value: str) -> str:
    """Register a secret, or replace its value; returns where it is kept, `keyring` or the file.

    Raises UsageError for a name or a value that cannot be one.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a secret", "Use letters, digits and underscores")
    if len(value) < SHORTEST:
        raise UsageError(
            f"a secret of fewer than {SHORTEST} characters would be found in ordinary text",
            "Give the whole value",
        )
    kept = _to_keyring(name, value)
    _write({**_read(), name: None if kept else value})
    return "keyring" if kept else str(store())


def remove(name: str) -> None:
    """Forget a registered secret. Raises UsageError if there is none of that name."""
    values = _read()
    if name not in values:
        raise UsageError(f"there is no secret {name!r}", "Run `assistant secrets list`")
    if values.pop(name) is None:
        _drop_from_keyring(name)
    _write(values)


def _read() -> dict[str, str | None]:
    """Name → value, None for a value in the keyring."""
    try:
        data = storage.read(store())
    except FileNotFoundError:
        return {}
    if stat.S_IMODE(store().stat().st_mode) & 0o077:
        raise ConfigError(f"{store()} can be read by others", f"Run `chmod 600 {store()}`")
    try:
        values = json.loads(data)["secrets"]
        return {str(name): value if value is None else str(value) for name, value in values.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{store()} is damaged", "Correct it, or delete it") from error


def _write(values: Mapping[str, str | None]) -> None:
    storage.private_directory(store().parent)
    storage.replace(store(), json.dumps({"version": 1, "secrets": values}, indent=2).encode())


def _to_keyring(name: str, value: str) -> bool:
    """Whether the system has a keyring, and it took the value."""
    import keyring  # 0.1 s, and it may ask the owner to unlock: only where a secret is kept
    from keyring.errors import KeyringError

    try:
        if keyring.get_keyring().priority < 1:
            return False
        keyring.set_password(SERVICE, name, value)
    except (KeyringError, RuntimeError):
        return False
    return True


def _from_keyring(name: str) -> str:
    import keyring
    from keyring.errors import KeyringError

    try:
        value = keyring.get_password(SERVICE, name)
    except (KeyringError, RuntimeError) as error:
        raise ConfigError(f"the keyring does not open: {error}", "Unlock it") from error
    if value is None:
        raise ConfigError(
            f"the keyring no longer holds {name}", f"Run `assistant secrets add {name}`"
        )
    return value


def _drop_from_keyring(name: str) -> None:
    import keyring
    from keyring.errors import KeyringError, PasswordDeleteError

    try:
        keyring.delete_password(SERVICE, name)
    except PasswordDeleteError:
        return  # it is gone already
    except (KeyringError, RuntimeError) as error:
        raise ConfigError(f"the keyring does not open: {error}", "Unlock it") from error
