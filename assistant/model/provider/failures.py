"""Classifies failed model calls: a foreign exception becomes a `ModelError` with its cure.

litellm maps errors per provider, and not always to the same class: a 402, 403 or 413 arrives as a
plain APIError or a BadRequestError, a refused connection as InternalServerError. So the exception
is classified by its causes: the HTTP status or the operating system's error, and the provider's
message if the status is ambiguous.
"""

import json
import math
import re
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from assistant.display import shortened
from assistant.errors import ModelError, ModelFailure
from assistant.tables import table_of

_DATA: Mapping[str, Any] = table_of(__file__)


def _compiled(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern.replace("\n", ""), re.IGNORECASE)


def _statuses(text: str) -> frozenset[int | None]:
    """Return the statuses in `400 500-599 none`; None stands for an error without a status."""
    bounds = (part.partition("-") for part in text.split())
    ranges = (
        (None,) if first == "none" else range(int(first), int(last or first) + 1)
        for first, _, last in bounds
    )
    return frozenset(chain.from_iterable(ranges))


@cache
def _rules() -> "list[tuple[ModelFailure, re.Pattern[str], frozenset[int | None]]]":
    return [
        (ModelFailure(rule["kind"]), _compiled(rule.get("words", "")), _statuses(rule["statuses"]))
        for rule in _DATA["rule"]
    ]


WINDOW = _compiled(_DATA["window"])
"""Finds the size of the context window in a provider's refusal."""
NO_KEY = _compiled(_DATA["no_key"])
"""Messages for a missing key, of providers and of their clients."""
NO_TOOLS = _compiled(_DATA["no_tools"])
NO_PICTURES = _compiled(_DATA["no_pictures"])
"""Messages of providers whose model cannot call tools, or see pictures."""
UNKNOWN_PROVIDER = "LLM Provider NOT provided"
"""litellm's message for a name whose provider it does not know."""
DETAIL_LENGTH = 200
HAVE_RETRY_AFTER = frozenset({ModelFailure.RATE_LIMIT, ModelFailure.SERVER, ModelFailure.TIMEOUT})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is reached. `key_name` is the environment variable of its key, if any."""

    model: str
    api_base: str | None = None
    key_name: str = ""

    @property
    def is_ollama(self) -> bool:
        """Whether Ollama serves it, which has its own failures and cures."""
        return self.model.startswith(("ollama/", "ollama_chat/"))

    @property
    def is_local(self) -> bool:
        """Whether this machine serves it."""
        if self.api_base is None:
            return self.is_ollama
        return urlsplit(self.api_base).hostname in ("localhost", "127.0.0.1", "::1")

    def failed(
        self,
        kind: ModelFailure,
        detail: str = "",
        *,
        case: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        unserved: bool = False,
    ) -> ModelError:
        """Return the error for a failure of this kind, with the message for `case` if there is
        one."""
        messages = _DATA["message"]
        case = case or kind
        if kind is ModelFailure.NOT_FOUND and UNKNOWN_PROVIDER in detail:
            case = "no_provider"
        elif self.is_ollama and f"{case}_on_ollama" in messages:
            case = f"{case}_on_ollama"
        values = {
            "model": self.model,
            "name": self.model.partition("/")[2],
            "detail": detail,
            "key": self.key_name or "the provider's key",
            "status": f" ({status})" if status else "",
            "where": f" at {self.api_base}" if self.api_base else "",
        }
        cure = messages[case]["cure"].format(**values)
        return ModelError(
            messages[case]["text"].format(**values),
            f"Try again in {retry_after:.0f} s"
            if kind is ModelFailure.RATE_LIMIT and retry_after
            else cure,
            kind=kind,
            retry_after=retry_after,
            unserved=unserved,
        )


@dataclass(frozen=True, slots=True)
class StreamedError:
    """An error in the middle of a response. `code` holds any other identifier of its kind."""

    message: str
    status: int | None = None
    code: str = ""


class RedirectedError(Exception):
    """A provider redirects to `location`.

    Redirects are not followed: the prompt and the key would go where the owner never sent them.
    """

    def __init__(self, location: str) -> None:
        super().__init__(f"redirected to {location}")
        self.location = location


def classify(error: BaseException, endpoint: Endpoint) -> ModelError:
    """Convert the exception to a ModelError."""
    causes = tuple(_causes(error))
    redirect = next((link for link in causes if isinstance(link, RedirectedError)), None)
    if redirect is not None:
        return endpoint.failed(ModelFailure.NOT_FOUND, redirect.location, case="redirect")
    # The innermost status: litellm's outer ones are sometimes invented.
    codes = (getattr(link, "status_code", None) for link in reversed(causes))
    status = next((code for code in codes if isinstance(code, int)), None)
    text, kind, case = " ".join(map(str, causes)), None, ""
    if not any(type(link).__name__ == "HTTPStatusError" for link in causes):
        kind = _of_transport(causes)
        case = "unasked" if kind is None and NO_KEY.search(text) else ""
    kind = kind or _of_response(text, status)
    refused = any(isinstance(link, ConnectionRefusedError) for link in causes)
    source = causes[-1] if kind is ModelFailure.CONNECTION else None
    source = source or getattr(error, "original_exception", None) or error
    return endpoint.failed(
        kind,
        detail_of(str(source)),
        case=case,
        status=status,
        retry_after=retry_after(_headers(causes)) if kind in HAVE_RETRY_AFTER else None,
        unserved=refused and endpoint.is_local,
    )


def classify_streamed(error: StreamedError, endpoint: Endpoint) -> ModelError:
    """Convert an error from the middle of a response like one at its start."""
    kind = _of_response(f"{error.message} {error.code}", error.status)
    return endpoint.failed(kind, detail_of(error.message), status=error.status)


def cut_off(endpoint: Endpoint, limit: str) -> ModelError:
    """Return the error for a response that was cut off at a limit of `Watch`."""
    if limit == "size":
        return endpoint.failed(ModelFailure.PROTOCOL, "too much data")
    return endpoint.failed(ModelFailure.TIMEOUT, case=limit)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of the provider's `Retry-After`; None if it is not a number."""
    value = next((headers[name] for name in headers if name.lower() == "retry-after"), "")
    with suppress(ValueError):
        if math.isfinite(seconds := float(value)):
            return max(0.0, seconds)
    return None


def detail_of(text: str) -> str:
    """Return the provider's own message on one line, without litellm's wrapping."""
    if message_match := re.search(r'"(?:message|error)":\s*("(?:[^"\\]|\\.)*")', text):
        try:
            text = str(json.loads(message_match[1]))
        except json.JSONDecodeError:
            text = message_match[1].strip('"')
    text = re.sub(
        r"^(?:[\w.]+(?:Error|Timeout): )+|^\[Errno -?\d+\] |\b\w+Exception(?: \w+)? - "
        r"|Error code: \d+(?: - )?|\. Handle with `litellm\.\w+`\.?",
        "",
        text,
    ).strip()
    text = re.sub(r"""^b(['"])(.*)\1$""", r"\2", text)
    if text.startswith("<"):
        return "it is a web page"
    lines = text.strip().splitlines() or ["no reason given"]
    return shortened(re.sub(r"\s+", " ", lines[0]).rstrip(". "), DETAIL_LENGTH)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exception and its causes, outermost first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        original = getattr(error, "original_exception", None)
        error = original or error.__cause__ or error.__context__


def _headers(causes: Sequence[BaseException]) -> Mapping[str, str]:
    for link in causes:
        headers = getattr(link, "litellm_response_headers", None)
        headers = headers or getattr(getattr(link, "response", None), "headers", None)
        if headers:
            return dict(headers)
    return {}


def _of_transport(causes: Sequence[BaseException]) -> ModelFailure | None:
    if any(isinstance(link, TimeoutError) for link in causes):
        return ModelFailure.TIMEOUT
    broken = (ConnectionError, socket.gaierror, ssl.SSLError)
    if any(
        isinstance(link, broken) or type(link).__name__ == "RemoteProtocolError" for link in causes
    ):
        return ModelFailure.CONNECTION
    if isinstance(causes[-1], KeyError | json.JSONDecodeError | UnicodeDecodeError):
        return ModelFailure.PROTOCOL
    return None


def _of_response(text: str, status: int | None) -> ModelFailure:
    """Classify an error by the provider's message and the status."""
    if NO_KEY.search(text):
        return ModelFailure.AUTH
    return next(
        (kind for kind, words, statuses in _rules() if status in statuses and words.search(text)),
        ModelFailure.SERVER,
    )
