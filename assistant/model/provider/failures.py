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
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from assistant.errors import ModelError, ModelFailure
from assistant.model.provider.http.told import Told
from assistant.model.provider.wording import CHOOSE, Endpoint, cure, detail_of, message

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
NO_PICTURES = re.compile(
    r"image.{0,40} (only supported|(is|are) not|un(supported|expected))"
    r"|(support|unknown variant|missing data|accept).{0,40}(image|vision|multimodal|pictures)"
    r"|not a (multimodal|vision)|content.{0,20} must be a string",
    re.IGNORECASE,
)
"""The same of a model that sees no pictures."""


def classify(error: BaseException, endpoint: Endpoint) -> ModelError:
    """The failure as the rest of the program knows it, with one line and its cure."""
    chain = tuple(_chain(error))
    text = " ".join(str(link) for link in chain)
    status = _status(chain)
    kind = _kind(chain, status, text)
    wish = retry_after(_headers(chain)) if kind in RETRY_NAMED else None
    detail = detail_of(str(getattr(error, "original_exception", None) or error))
    return ModelError(
        message(kind, endpoint, status, chain, detail),
        cure(kind, endpoint, wish, detail),
        kind=kind,
        retry_after=wish,
        unserved=any(isinstance(link, ConnectionRefusedError) for link in chain)
        and endpoint.is_here,
    )


def classify_told(told: Told, endpoint: Endpoint) -> ModelError:
    """An error that came in the middle of an answer, as if it had come at its start."""
    detail = detail_of(told.message)
    kind = _by_words(told.message, told.status) or _by_status(told.status)
    return ModelError(
        message(kind, endpoint, told.status, (), detail),
        cure(kind, endpoint, None, detail),
        kind=kind,
    )


RETRY_NAMED = frozenset({ModelFailure.RATE_LIMIT, ModelFailure.SERVER, ModelFailure.TIMEOUT})


def missing_key(endpoint: Endpoint) -> ModelError:
    """The provider wants a key and the environment has none."""
    return ModelError(
        f"{endpoint.model} needs a key, and {endpoint.key_name} is not set",
        f"Set {endpoint.key_name} in the environment, or {CHOOSE}",
        kind=ModelFailure.AUTH,
    )


def broke_off(endpoint: Endpoint) -> ModelError:
    """The stream ended before the first word of the reply, and without a finish."""
    return ModelError(
        f"{endpoint.model} broke off before the first word of its answer",
        cure(ModelFailure.CONNECTION, endpoint, None, ""),
        kind=ModelFailure.CONNECTION,
    )


def silent(endpoint: Endpoint) -> ModelError:
    """What came was no stream that could be read."""
    return ModelError(
        f"{endpoint.model} sent an answer that cannot be read: it is no stream",
        f"Check that {endpoint.api_base or 'the provider'} speaks this model's format",
        kind=ModelFailure.PROTOCOL,
    )


LIMITS = {
    "first_token": ("did not begin to answer in time", "model.first_token_seconds"),
    "answer": ("did not come to the end of its answer in time", "model.answer_seconds"),
}
"""What is said of an answer that ran into a limit, and the setting that is the limit."""


def cut_off(endpoint: Endpoint, limit: str) -> ModelError:
    """The answer ran into a limit of `Watch` and was ended there."""
    if limit not in LIMITS:
        said = f"{endpoint.model} sent an answer that cannot be read: too much without a word"
        return ModelError(said, f"If it happens again, {CHOOSE}", kind=ModelFailure.PROTOCOL)
    said, setting = LIMITS[limit]
    return ModelError(
        f"{endpoint.model} {said}",
        f"Try again, or raise it: `assistant config set {setting} …`",
        kind=ModelFailure.TIMEOUT,
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
    return _by_words(text, status) or _by_status(status)


def _by_words(text: str, status: int | None) -> ModelFailure | None:
    if UNKNOWN_MODEL.search(text) and status in (400, 404, None):
        return ModelFailure.NOT_FOUND
    if MISSING_KEY.search(text):
        return ModelFailure.AUTH
    if QUOTA.search(text) and status in (400, 403, 429, None):
        return ModelFailure.BILLING
    if OVERFLOW.search(text) and status in (400, 413, 422, 429, 500, None):
        return ModelFailure.OVERFLOW
    return None


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
