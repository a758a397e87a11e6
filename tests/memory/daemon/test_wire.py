"""A line is a message of the kind that is expected, or refused; errors arrive as they were."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from assistant.errors import (
    AssistantError,
    ConfigError,
    DaemonError,
    LedgerError,
    ModelError,
    ModelFailure,
)
from assistant.memory.base import Query
from assistant.memory.daemon import wire
from assistant.memory.daemon.wire import OPERATIONS

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def sent(answer: wire.Answer) -> wire.Answer:
    """The answer as the other side reads it."""
    return wire.parse(wire.line(answer), wire.Answer)


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_line_is_a_message_or_refused(data: bytes) -> None:
    for kind in (wire.Request, wire.Answer, wire.Greeting):
        with contextlib.suppress(DaemonError):
            assert isinstance(wire.parse(data, kind), kind)


def test_a_deeply_nested_line_is_refused() -> None:
    for nested in (b"[" * 500_000, b'{"id":"","op":"","params":' + b"[" * 500_000):
        with pytest.raises(DaemonError):
            wire.parse(nested, wire.Request)


def test_text_that_is_not_unicode_is_sent_as_a_question_mark() -> None:
    request = wire.parse(OPERATIONS["recall"].request("1", Query("caf\udce9")), wire.Request)
    assert OPERATIONS["recall"].parameters(request.params) == {"query": Query("caf?")}


def test_a_query_of_100_kb_fits_and_a_request_over_the_limit_does_not() -> None:
    OPERATIONS["recall"].request("1", Query("é" * 50_000))
    with pytest.raises(DaemonError, match="bytes long"):
        OPERATIONS["recall"].request("1", Query("x" * wire.MAX_REQUEST))


def test_an_answer_is_told_from_progress_and_from_a_sign_of_life() -> None:
    alive, told = wire.Answer("1", progress=None), wire.Answer("1", progress=("Indexing", 1, 2))
    assert wire.line(alive) == b'{"id":"1","progress":null}\n'
    assert sent(alive).progress is None
    assert sent(told).progress == ("Indexing", 1, 2)
    done = sent(wire.result("1", True, ("a notice",)))
    assert (done.progress, done.value, done.notices) == (UNSET, b"true", ("a notice",))
    assert sent(wire.result("1", None)).value == b"null"


@pytest.mark.parametrize("kind", [AssistantError, ConfigError, DaemonError, LedgerError])
def test_errors_arrive_with_their_class_message_and_cure(kind: type[AssistantError]) -> None:
    error = raised(wire.refusal(None, kind("it failed", "do this")))
    assert (type(error), error.message, error.cure) == (kind, "it failed", "do this")


def test_an_error_this_side_cannot_make_is_a_daemon_error() -> None:
    failure = ModelError("no key", "set one", kind=ModelFailure.AUTH)
    assert type(raised(wire.refusal("1", failure))) is DaemonError
    assert wire.raised(wire.Failure("SystemExit", "m")).message == "m"


def raised(answer: wire.Answer) -> AssistantError:
    """The error that an answer brings."""
    error = sent(answer).error
    assert isinstance(error, wire.Failure)
    return wire.raised(error)
