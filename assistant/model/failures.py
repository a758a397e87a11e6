"""What a failed call to a model means: a foreign exception becomes a `ModelError` with its cure.

litellm maps errors by provider, and not always to the same class: a 402, 403 or 413 arrives as a
plain APIError or a BadRequestError, a refused connection as InternalServerError. So the exception
is judged by what lies under it, the HTTP status or the operating system's own error, and by the
provider's words where the status says too little.
"""

import json
import re
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from assistant.errors import ModelError, ModelFailure

OVERFLOW = re.compile(
    r"prompt is too long|request_too_large|exceed(s|ed)? (the )?(model'?s? )?(maximum )?context"
    r"|maximum context length|context_length_exceeded|context[ _]window|context limit"
    r"|available context size|greater than the context length|maximum prompt length"
    r"|input token count.*exceeds|input is too long|exceeded model token limit|too many tokens"
    r"|reduce the length of the messages|request too large",
    re.IGNORECASE,
)
QUOTA = re.compile(
    r"insufficient[ _](quota|balance|credit|funds)|exceeded your current quota|credit balance"
    r"|billing|payment required|out of credits",
    re.IGNORECASE,
)
UNKNOWN_MODEL = re.compile(
    r"LLM Provider NOT provided|model\b.{0,80}(not found|does not exist|not a valid model)",
    re.IGNORECASE,
)
MISSING_KEY = re.compile(
    r"missing .{0,20}(api[ _]key|credentials)|unable to locate credentials", re.IGNORECASE
)
NO_TOOLS = re.compile(
    r"(does(n't| not)|that) support (tool|function)|tools? param requires"
    r"|(tool|function)[ _`]*(choice|use|calling|calls|s)?\b.{0,20} (requires|is not|are not|not) ",
    re.IGNORECASE,
)
"""A provider's way of saying that its model cannot call tools."""
UNKNOWN_PROVIDER = "LLM Provider NOT provided"
"""litellm's words for a name whose provider it cannot tell."""
CHOOSE = "choose another model with `assistant config set model.name …`"
DETAIL_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is reached. `key_name` is the environment variable of its key, if any."""

    model: str
    api_base: str | None = None
    key_name: str = ""

    @property
    def is_ollama(self) -> bool:
        """Served by Ollama, which has its own ways to fail and be helped."""
        return self.model.startswith(("ollama/", "ollama_chat/"))


def classify(error: BaseException, endpoint: Endpoint) -> ModelError:
    """The failure as the rest of the program knows it, with one line and its cure."""
    chain = tuple(_chain(error))
    text = " ".join(str(link) for link in chain)
    status = _status(chain)
    kind = _kind(chain, status, text)
    wish = retry_after(_headers(chain)) if kind in RETRY_NAMED else None
    detail = _detail(str(getattr(error, "original_exception", None) or error))
    return ModelError(
        _message(kind, endpoint, status, chain, detail),
        _cure(kind, endpoint, wish, detail),
        kind=kind,
        retry_after=wish,
    )


RETRY_NAMED = frozenset({ModelFailure.RATE_LIMIT, ModelFailure.SERVER, ModelFailure.TIMEOUT})


def missing_key(endpoint: Endpoint) -> ModelError:
    """The provider wants a key and the environment has none."""
    return ModelError(
        f"{endpoint.model} needs a key, and {endpoint.key_name} is not set",
        f"Set {endpoint.key_name} in the environment, or {CHOOSE}",
        kind=ModelFailure.AUTH,
    )


def silent(endpoint: Endpoint) -> ModelError:
    """The stream ended without a word and without a finish."""
    return ModelError(
        f"{endpoint.model} sent an answer that cannot be read: the stream was empty",
        f"Check that {endpoint.api_base or 'the provider'} speaks this model's format",
        kind=ModelFailure.PROTOCOL,
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The provider's `Retry-After` in seconds: a number or an HTTP date (RFC 9110, 10.2.3)."""
    value = next((headers[name] for name in headers if name.lower() == "retry-after"), "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The exception and what it was made from, outermost first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        inner = getattr(error, "original_exception", None)
        error = inner or error.__cause__ or error.__context__


def _status(chain: Sequence[BaseException]) -> int | None:
    """The HTTP status nearest to the wire: litellm's own outer ones are sometimes made up."""
    for link in reversed(chain):
        status = getattr(link, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def _headers(chain: Sequence[BaseException]) -> Mapping[str, str]:
    for link in chain:
        found = getattr(link, "litellm_response_headers", None)
        found = found or getattr(getattr(link, "response", None), "headers", None)
        if found:
            return dict(found)
    return {}


def _kind(chain: Sequence[BaseException], status: int | None, text: str) -> ModelFailure:
    if not any(type(link).__name__ == "HTTPStatusError" for link in chain):
        transport = _transport(chain)
        if transport is not None:
            return transport
    if UNKNOWN_MODEL.search(text) and status in (400, 404, None):
        return ModelFailure.NOT_FOUND
    if MISSING_KEY.search(text):
        return ModelFailure.AUTH
    if QUOTA.search(text) and status in (400, 403, 429, None):
        return ModelFailure.BILLING
    if OVERFLOW.search(text) and status in (400, 413, 422, 429, 500, None):
        return ModelFailure.OVERFLOW
    return _by_status(status)


def _transport(chain: Sequence[BaseException]) -> ModelFailure | None:
    if any(isinstance(link, TimeoutError) for link in chain):
        return ModelFailure.TIMEOUT
    broken = (ConnectionError, socket.gaierror, ssl.SSLError)
    if any(isinstance(link, broken) for link in chain) or "RemoteProtocolError" in (
        type(link).__name__ for link in chain
    ):
        return ModelFailure.CONNECTION
    if isinstance(chain[-1], KeyError | json.JSONDecodeError | UnicodeDecodeError):
        return ModelFailure.PROTOCOL
    return None


def _by_status(status: int | None) -> ModelFailure:
    match status:
        case 401 | 403:
            return ModelFailure.AUTH
        case 402:
            return ModelFailure.BILLING
        case 404:
            return ModelFailure.NOT_FOUND
        case 408 | 504:
            return ModelFailure.TIMEOUT
        case 413:
            return ModelFailure.OVERFLOW
        case 429:
            return ModelFailure.RATE_LIMIT
        case int() if 400 <= status < 500:
            return ModelFailure.BAD_REQUEST
        case _:
            return ModelFailure.SERVER


def _message(
    kind: ModelFailure,
    endpoint: Endpoint,
    status: int | None,
    chain: Sequence[BaseException],
    detail: str,
) -> str:
    model, code = endpoint.model, f" ({status})" if status else ""
    where = f" at {endpoint.api_base}" if endpoint.api_base else ""
    match kind:
        case ModelFailure.AUTH:
            return f"{model} did not accept the key{code}: {detail}"
        case ModelFailure.BILLING:
            return f"{model} wants to be paid first{code}: {detail}"
        case ModelFailure.RATE_LIMIT:
            return f"{model} gets too many requests{code}: {detail}"
        case ModelFailure.OVERFLOW:
            return f"the conversation is too long for {model}: {detail}"
        case ModelFailure.NOT_FOUND:
            if UNKNOWN_PROVIDER in detail:
                return f"{model!r} names no provider that is known"
            return f"there is no model {model}{where}: {detail}"
        case ModelFailure.CONNECTION:
            return f"{model} cannot be reached{where}: {_detail(str(chain[-1]))}"
        case ModelFailure.TIMEOUT:
            return f"{model} did not answer in time{where}"
        case ModelFailure.PROTOCOL:
            return f"{model} sent an answer that cannot be read: {detail}"
        case ModelFailure.BAD_REQUEST:
            return f"{model} refused the request{code}: {detail}"
        case _:
            return f"{model} failed{code}: {detail}"


def _cure(kind: ModelFailure, endpoint: Endpoint, wish: float | None, detail: str) -> str:
    match kind:
        case ModelFailure.AUTH:
            key = endpoint.key_name or "the provider's key"
            return f"Check {key} in the environment, or {CHOOSE}"
        case ModelFailure.BILLING:
            return f"Check the account at the provider, or {CHOOSE}"
        case ModelFailure.RATE_LIMIT:
            return f"Try again in {wish:.0f} s" if wish else "Wait a moment and try again"
        case ModelFailure.OVERFLOW:
            return "Use /compact, or start a new session"
        case ModelFailure.NOT_FOUND:
            return _cure_unknown(endpoint, detail)
        case ModelFailure.CONNECTION if endpoint.is_ollama:
            return "Is Ollama running? Start it with `ollama serve`"
        case ModelFailure.CONNECTION:
            return "Check the network, and `model.api_base` in `assistant config show`"
        case ModelFailure.TIMEOUT:
            return "Try again, or raise it: `assistant config set model.timeout_seconds …`"
        case ModelFailure.BAD_REQUEST | ModelFailure.PROTOCOL:
            return f"If it happens again, {CHOOSE}"
        case _:
            return f"Try again later, or {CHOOSE}"


def _cure_unknown(endpoint: Endpoint, detail: str) -> str:
    if endpoint.is_ollama:
        return f"Fetch it with `ollama pull {endpoint.model.partition('/')[2]}`"
    if UNKNOWN_PROVIDER in detail:
        return "Name it as provider/model: `assistant config set model.name ollama_chat/qwen3`"
    return CHOOSE.capitalize()


def _detail(text: str) -> str:
    """The provider's own words in one line, out of litellm's wrapping."""
    found = re.search(r'"(?:message|error)":\s*("(?:[^"\\]|\\.)*")', text)
    if found:
        text = _unquoted(found[1])
    text = re.sub(
        r"^(?:[\w.]+(?:Error|Timeout): )+|^\[Errno -?\d+\] |\b\w+Exception(?: \w+)? - ", "", text
    )
    lines: list[Any] = text.strip().splitlines() or ["no reason given"]
    line = re.sub(r"\s+", " ", lines[0]).rstrip(". ")
    return line if len(line) <= DETAIL_LENGTH else line[: DETAIL_LENGTH - 1] + "…"


def _unquoted(literal: str) -> str:
    try:
        return str(json.loads(literal))
    except json.JSONDecodeError:
        return literal.strip('"')
