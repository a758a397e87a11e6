"""The wire carries every value of the protocol unchanged, and refuses every other."""

import contextlib
import json
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.errors import (
    AssistantError,
    ConfigError,
    DaemonError,
    LedgerError,
    ModelError,
    ModelFailure,
)
from assistant.memory.base import (
    DaemonStatus,
    Fact,
    Forgotten,
    Held,
    JournalEntry,
    Memory,
    MemoryStatus,
    Origin,
    Pair,
    Passage,
    Query,
    Recall,
    Remembered,
    SourceStatus,
)
from assistant.memory.daemon import wire

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
PASSAGE = st.builds(
    Passage,
    **dict.fromkeys(("id", "text", "source"), TEXT),
    **dict.fromkeys(("heading", "mentions"), st.lists(TEXT, max_size=2).map(tuple)),
    score=NUMBER,
    signals=st.dictionaries(TEXT, NUMBER, max_size=2),
    status=st.sampled_from(["current", "superseded"]),
    date=st.none() | TEXT,
)
PASSAGES = st.lists(PASSAGE, max_size=2).map(tuple)
ORIGIN = st.builds(Origin, kind=TEXT, session=st.none() | TEXT, entries=st.tuples(TEXT))
ENTRY = st.builds(JournalEntry, text=TEXT, origin=ORIGIN)
STATUS = st.builds(
    MemoryStatus,
    sources=st.tuples(st.builds(SourceStatus, source=TEXT)),
    notices=st.tuples(TEXT),
    daemon=st.none() | st.builds(DaemonStatus, version=TEXT, uptime_s=NUMBER),
)
FACT = st.builds(Fact, text=TEXT, replaces=st.none() | TEXT, origin=ORIGIN)
REMEMBERED = st.builds(Remembered, text=TEXT, similar=PASSAGES)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "recall": st.builds(Recall, query=TEXT, passages=PASSAGES, near_misses=PASSAGES),
    "remember": st.tuples(REMEMBERED),
    "locate": PASSAGES,
    "forget": st.builds(Forgotten, entry=TEXT, removed=PASSAGES),
    "status": STATUS,
    "log": st.tuples(ENTRY, ENTRY),
    "undo": ENTRY,
    "rebuild": STATUS,
    "waiting": st.tuples(st.builds(Held, id=TEXT, fact=FACT)),
    "review": st.none() | REMEMBERED,
    "erased": st.tuples(ENTRY),
    "restore": st.tuples(REMEMBERED),
    "pairs": st.tuples(st.builds(Pair, earlier=PASSAGE, later=PASSAGE, cosine=NUMBER)),
}
FACTS = st.lists(FACT, max_size=2)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def test_every_method_of_memory_is_an_operation() -> None:
    methods = {name for name in vars(Memory) if not name.startswith("_")}
    assert methods - {"close"} == wire.OPERATIONS == VALUES.keys()


@pytest.mark.parametrize("op", sorted(wire.OPERATIONS))
@given(data=st.data())
def test_results_arrive_as_they_were(op: str, data: st.DataObject) -> None:
    value = data.draw(VALUES[op])
    sent = wire.line(id="1", result=value)
    assert sent.count(b"\n") == 1
    assert wire.result(op, wire.parse(sent)["result"]) == value


@given(st.builds(Query, text=TEXT, as_of=st.none() | TEXT), FACTS, PASSAGE)
def test_parameters_arrive_as_they_were(query: Query, facts: list[Fact], passage: Passage) -> None:
    for op, params in (
        ("recall", {"query": query}),
        ("remember", {"facts": tuple(facts)}),
        ("forget", {"passages": (passage,), "purge": True}),
        ("review", {"id": "1", "accept": True, "text": None}),
        ("restore", {"ids": ("1", "2"), "dismiss": True}),
        ("log", {"limit": 3}),
        ("log", {}),
    ):
        message = wire.parse(wire.request("1", op, params))
        assert wire.parameters(message["op"], message["params"]) == params


@pytest.mark.parametrize(
    ("op", "params"),
    [
        ("recall", {}),
        ("recall", {"query": {}}),
        ("recall", {"query": {"text": 1}}),
        ("recall", {"query": {"text": "a", "k": True}}),
        ("recall", {"query": {"text": "a", "k": "8"}}),
        ("recall", {"query": {"text": "a", "evil": 1}}),
        ("recall", {"query": "a"}),
        ("recall", {"query": {"text": "a"}, "more": 1}),
        ("recall", []),
        ("recall", None),
        ("remember", {"facts": {"text": "a"}}),
        ("remember", {"facts": [{"text": "a", "origin": {"entries": "abc"}}]}),
        ("forget", {"passages": [{"id": "1"}]}),
        ("log", {"limit": 1.5}),
        ("close", {}),
        ("__init__", {}),
        ("", {}),
    ],
)
def test_parameters_that_do_not_fit_are_refused(op: str, params: Any) -> None:
    with pytest.raises(DaemonError):
        wire.parameters(op, params)


@given(st.sampled_from(sorted(wire.OPERATIONS)), JSON)
def test_any_json_is_decoded_or_refused(op: str, data: Any) -> None:
    """Never another error than DaemonError, and never a value of the wrong type."""
    try:
        wire.parameters(op, data)
        wire.result(op, data)
    except DaemonError:
        return
    assert data in ({}, []) or "limit" in data


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_line_is_an_object_or_refused(data: bytes) -> None:
    with contextlib.suppress(DaemonError):
        assert isinstance(wire.parse(data), dict)


def test_a_deeply_nested_line_is_refused() -> None:
    with pytest.raises(DaemonError):
        wire.parse(b"[" * 500_000)


def test_text_that_is_not_unicode_is_sent_as_a_question_mark() -> None:
    message = wire.parse(wire.request("1", "recall", {"query": Query("caf\udce9")}))
    assert message["params"]["query"]["text"] == "caf?"


def test_a_query_of_100_kb_fits_and_a_request_over_the_limit_does_not() -> None:
    wire.request("1", "recall", {"query": Query("é" * 50_000)})
    with pytest.raises(DaemonError, match="bytes long"):
        wire.request("1", "recall", {"query": Query("x" * wire.MAX_REQUEST)})


@pytest.mark.parametrize("kind", [AssistantError, ConfigError, DaemonError, LedgerError])
def test_errors_arrive_with_their_class_message_and_cure(kind: type[AssistantError]) -> None:
    sent = wire.parse(wire.line(error=wire.error(kind("it failed", "do this"))))
    error = wire.raised(sent["error"])
    assert (type(error), error.message, error.cure) == (kind, "it failed", "do this")


def test_an_error_this_side_cannot_make_is_a_daemon_error() -> None:
    sent = wire.error(ModelError("no key", "set one", kind=ModelFailure.AUTH))
    assert type(wire.raised(sent)) is DaemonError
    assert wire.raised({"kind": "SystemExit", "message": "m"}).message == "m"


def test_the_schema_needs_no_type_the_decoder_does_not_know() -> None:
    """A new field of another kind in base.py fails here, not at a user's."""
    for op in wire.OPERATIONS:
        for kind in get_type_hints(getattr(Memory, op)).values():
            with pytest.raises(DaemonError):
                wire.decode(kind, object())
