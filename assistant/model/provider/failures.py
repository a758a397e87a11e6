"""Classify failed model calls: a foreign exception becomes a `ModelError` with its cure.

litellm maps errors per provider, and not always to the same class: a 402, 403 or 413 arrives as a
plain APIError or a BadRequestError, a refused connection as InternalServerError. So the exception
is judged by its causes, the HTTP status or the operating system's error, and by the provider's
words where the status is ambiguous.
"""

import json
import re
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from assistant.display import shortened
from assistant.errors import ModelError, ModelFailure

WINDOW = re.compile(
    r"context (?:length|size|window)(?: is|:)? ?\(?(\d{3,7})\b|n_ctx\D{1,4}(\d{3,7})"
    r"|> (\d{3,7}) max",
    re.IGNORECASE,
)
"""The tokens of the window, as named by providers that refuse a request."""
NO_TOOLS = re.compile(
    r"(does(n't| not)|that) support (tool|function)|tools? param requires"
    r"|(tool|function)[ _`]*(choice|use|calling|calls|s)?\b.{0,20} (requires|is not|are not|not) ",
    re.IGNORECASE,
)
"""Messages of providers whose model cannot call tools."""
NO_PICTURES = re.compile(
    r"image.{0,40} (only supported|(is|are) not|un(supported|expected))"
    r"|(support|unknown variant|missing data|accept).{0,40}(image|vision|multimodal|pictures)"
    r"|not a (multimodal|vision)|content.{0,20} must be a string",
    re.IGNORECASE,
)
"""Messages of providers whose model cannot see pictures."""
UNKNOWN_PROVIDER = "LLM Provider NOT provided"
"""litellm's message for a name whose provider it does not know."""
RULES: tuple[tuple[ModelFailure, str, frozenset[int | None]], ...] = (
    (
        ModelFailure.NOT_FOUND,
        r"LLM Provider NOT provided|model\b.{0,80}(not found|does not exist|not a valid model)",
        frozenset({400, 404, None}),
    ),
    (
        ModelFailure.AUTH,
        r"missing .{0,20}(api[ _]key|credentials)|unable to locate credentials",
        frozenset({*range(400, 600), None}),
    ),
    (
        ModelFailure.BILLING,
        r"insufficient[ _](quota|balance|credit|funds)|exceeded your current quota|credit balance"
        r"|billing|payment required|out of credits",
        frozenset({400, 403, 429, None}),
    ),
    (
        ModelFailure.OVERFLOW,
        r"prompt is too long|request_too_large|exceed(s|ed)? (the )?(model'?s? )?(maximum )?context"
        r"|maximum context length|context_length_exceeded|context[ _]window|context limit"
        r"|available context size|greater than the context length|maximum prompt length"
        r"|input token count.*exceeds|input is too long|exceeded model token limit|too many tokens"
        r"|reduce the length of the messages|request too large",
        frozenset({400, 413, 422, 429, 500, None}),
    ),
    (ModelFailure.RATE_LIMIT, r"rate_limit|too_many_requests|exhausted", frozenset({None})),
    (ModelFailure.AUTH, r"authentication|api_key|permission", frozenset({None})),
    (ModelFailure.BAD_REQUEST, r"invalid_request|bad_request", frozenset({None})),
    (ModelFailure.AUTH, "", frozenset({401, 403})),
    (ModelFailure.BILLING, "", frozenset({402})),
    (ModelFailure.NOT_FOUND, "", frozenset({404})),
    (ModelFailure.TIMEOUT, "", frozenset({408, 504})),
    (ModelFailure.OVERFLOW, "", frozenset({413})),
    (ModelFailure.RATE_LIMIT, "", frozenset({429})),
    (ModelFailure.BAD_REQUEST, "", frozenset(range(400, 500))),
    (ModelFailure.SERVER, "", frozenset({*range(500, 600), None})),
)
"""Classifies a response by the provider's words if its status is one of these; the first match
wins. None stands for an error without a status."""
CHOOSE = "choose another model with `assistant config set model.name …`"
DETAIL_LENGTH = 200

MESSAGES = {
    ModelFailure.AUTH: (
        "{model} did not accept the key{status}: {detail}",
        "Check {key} in the environment, or " + CHOOSE,
    ),
    ModelFailure.BILLING: (
        "{model} wants to be paid first{status}: {detail}",
        f"Check the account at the provider, or {CHOOSE}",
    ),
    ModelFailure.RATE_LIMIT: (
        "{model} gets too many requests{status}: {detail}",
        "Wait a moment and try again",
    ),
    ModelFailure.OVERFLOW: (
        "the conversation is too long for {model}: {detail}",
        "Use /compact, or start a new session",
    ),
    ModelFailure.NOT_FOUND: ("there is no model {model}{where}: {detail}", CHOOSE.capitalize()),
    ModelFailure.CONNECTION: (
        "{model} cannot be reached{where}: {detail}",
        "Check the network, and `model.api_base` in `assistant config show`",
    ),
    ModelFailure.TIMEOUT: (
        "{model} did not answer in time{where}",
        "Try again, or raise it: `assistant config set model.timeout_seconds …`",
    ),
    ModelFailure.PROTOCOL: (
        "{model} sent an answer that cannot be read: {detail}",
        f"If it happens again, {CHOOSE}",
    ),
    ModelFailure.BAD_REQUEST: (
        "{model} refused the request{status}: {detail}",
        f"If it happens again, {CHOOSE}",
    ),
    ModelFailure.SERVER: ("{model} failed{status}: {detail}", f"Try again later, or {CHOOSE}"),
}
"""What the owner is told of each failure: one line, and its cure."""
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
        detail: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        unserved: bool = False,
    ) -> ModelError:
        """Return the error for a failure of this kind, worded as in MESSAGES."""
        message, cure = MESSAGES[kind]
        if kind is ModelFailure.NOT_FOUND and UNKNOWN_PROVIDER in detail:
            message = "{model!r} names no provider that is known"
            cure = "Name it as provider/model: `assistant config set model.name ollama_chat/qwen3`"
        elif kind is ModelFailure.NOT_FOUND and self.is_ollama:
            cure = f"Fetch it with `ollama pull {self.model.partition('/')[2]}`"
        elif kind is ModelFailure.CONNECTION and self.is_ollama:
            cure = "Is Ollama running? Start it with `ollama serve`"
        elif kind is ModelFailure.RATE_LIMIT and retry_after:
            cure = f"Try again in {retry_after:.0f} s"
        values = {
            "model": self.model,
            "detail": detail,
            "status": f" ({status})" if status else "",
            "where": f" at {self.api_base}" if self.api_base else "",
        }
        return ModelError(
            message.format(**values),
            cure.replace("{key}", self.key_name or "the provider's key"),
            kind=kind,
            retry_after=retry_after,
            unserved=unserved,
        )


@dataclass(frozen=True, slots=True)
class StreamedError:
    """An error in the middle of an answer. `code` holds anything else that names its kind."""

    message: str
    status: int | None = None
    code: str = ""


class RedirectedError(Exception):
    """A provider redirects to `location`. Redirects are not followed: the prompt and the key
    would go where the owner never sent them."""

    def __init__(self, location: str) -> None:
        super().__init__(f"redirected to {location}")
        self.location = location


def classify(error: BaseException, endpoint: Endpoint) -> ModelError:
    """Convert the exception to a ModelError."""
    chain = tuple(_chain(error))
    redirect = next((link for link in chain if isinstance(link, RedirectedError)), None)
    if redirect is not None:
        return ModelError(
            f"{endpoint.model} answers with a redirect to {redirect.location}, and redirects are "
            "not followed",
            "If that is its address, set it: `assistant config set model.api_base …`",
            kind=ModelFailure.NOT_FOUND,
        )
    # The innermost status: litellm's outer ones are sometimes made up.
    codes = (getattr(link, "status_code", None) for link in reversed(chain))
    status = next((code for code in codes if isinstance(code, int)), None)
    kind = None
    if not any(type(link).__name__ == "HTTPStatusError" for link in chain):
        kind = _of_transport(chain)
    kind = kind or _of_response(" ".join(map(str, chain)), status)
    refused = any(isinstance(link, ConnectionRefusedError) for link in chain)
    source = chain[-1] if kind is ModelFailure.CONNECTION else None
    source = source or getattr(error, "original_exception", None) or error
    return endpoint.failed(
        kind,
        detail_of(str(source)),
        status=status,
        retry_after=retry_after(_headers(chain)) if kind in HAVE_RETRY_AFTER else None,
        unserved=refused and endpoint.is_local,
    )


def classify_streamed(error: StreamedError, endpoint: Endpoint) -> ModelError:
    """Convert an error from the middle of an answer as if it had come at the start."""
    kind = _of_response(f"{error.message} {error.code}", error.status)
    return endpoint.failed(kind, detail_of(error.message), status=error.status)


def missing_key(endpoint: Endpoint) -> ModelError:
    """Return the error for a key that is not in the environment."""
    return ModelError(
        f"{endpoint.model} needs a key, and {endpoint.key_name} is not set",
        f"Set {endpoint.key_name} in the environment, or {CHOOSE}",
        kind=ModelFailure.AUTH,
    )


LIMITS = {
    "silence": "fell silent in the middle of its answer",
    "first_word": "did not begin to answer in time",
    "answer": "did not come to the end of its answer in time",
}
"""Messages for an answer that exceeded a limit of `Watch`."""


def cut_off(endpoint: Endpoint, limit: str) -> ModelError:
    """Return the error for an answer that was cut off at a limit of `Watch`."""
    if limit not in LIMITS:
        return endpoint.failed(ModelFailure.PROTOCOL, "too much without a word")
    _, cure = MESSAGES[ModelFailure.TIMEOUT]
    return ModelError(f"{endpoint.model} {LIMITS[limit]}", cure, kind=ModelFailure.TIMEOUT)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Parse the provider's `Retry-After` into seconds: a number or an HTTP date (RFC 9110,
    10.2.3)."""
    value = next((headers[name] for name in headers if name.lower() == "retry-after"), "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def detail_of(text: str) -> str:
    """Return the provider's own message on one line, without litellm's wrapping."""
    if message_match := re.search(r'"(?:message|error)":\s*("(?:[^"\\]|\\.)*")', text):
        try:
            text = str(json.loads(message_match[1]))
        except json.JSONDecodeError:
            text = message_match[1].strip('"')
    text = re.sub(
        r"^(?:[\w.]+(?:Error|Timeout): )+|^\[Errno -?\d+\] |\b\w+Exception(?: \w+)? - ", "", text
    )
    lines = text.strip().splitlines() or ["no reason given"]
    return shortened(re.sub(r"\s+", " ", lines[0]).rstrip(". "), DETAIL_LENGTH)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exception and its causes, outermost first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        original = getattr(error, "original_exception", None)
        error = original or error.__cause__ or error.__context__


def _headers(chain: Sequence[BaseException]) -> Mapping[str, str]:
    for link in chain:
        headers = getattr(link, "litellm_response_headers", None)
        headers = headers or getattr(getattr(link, "response", None), "headers", None)
        if headers:
            return dict(headers)
    return {}


def _of_transport(chain: Sequence[BaseException]) -> ModelFailure | None:
    if any(isinstance(link, TimeoutError) for link in chain):
        return ModelFailure.TIMEOUT
    broken = (ConnectionError, socket.gaierror, ssl.SSLError)
    if any(
        isinstance(link, broken) or type(link).__name__ == "RemoteProtocolError" for link in chain
    ):
        return ModelFailure.CONNECTION
    if isinstance(chain[-1], KeyError | json.JSONDecodeError | UnicodeDecodeError):
        return ModelFailure.PROTOCOL
    return None


def _of_response(text: str, status: int | None) -> ModelFailure:
    """Classify by the provider's words and the status."""
    return next(
        (
            kind
            for kind, words, statuses in RULES
            if status in statuses and re.search(words, text, re.IGNORECASE)
        ),
        ModelFailure.SERVER,
    )
