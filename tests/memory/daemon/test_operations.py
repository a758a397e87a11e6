"""Every operation and each of its values arrive unchanged, and nothing else is accepted."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.errors import DaemonError
from assistant.memory.base import (
    Chart,
    Charted,
    DaemonStatus,
    Due,
    Existing,
    Fact,
    Finding,
    Forgotten,
    Held,
    JournalEntry,
    Keeper,
    Located,
    Memory,
    MemoryStatus,
    Origin,
    Pair,
    Passage,
    Query,
    Recall,
    Remembered,
    Returned,
    ServerCollection,
    SourceStatus,
    Topic,
    Upkept,
)
from assistant.memory.daemon import wire
from assistant.memory.daemon.wire import OPERATIONS

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
PASSAGE = st.builds(
    Passage,
    **dict.fromkeys(("id", "text", "plain", "source"), TEXT),
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
    daemon=st.none() | st.builds(DaemonStatus, version=TEXT),
)
FACT = st.builds(Fact, text=TEXT, replaces=st.none() | TEXT, origin=ORIGIN)
FINDING = st.builds(
    Finding, st.sampled_from(["journal", "index", "file"]), TEXT, mended=st.booleans()
)
COLLECTION = st.builds(ServerCollection, TEXT, st.integers())
CHART = st.builds(
    Chart,
    st.tuples(st.builds(Charted, PASSAGE, st.integers(), NUMBER, NUMBER, st.just((1, 2)))),
    st.tuples(st.builds(Topic, TEXT, NUMBER, NUMBER, NUMBER)),
)
REMEMBERED = st.builds(Remembered, text=TEXT, similar=PASSAGES)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "recall": st.builds(Recall, query=TEXT, passages=PASSAGES, near_misses=PASSAGES),
    "core": st.tuples(PASSAGE),
    "existing": st.builds(Existing, passages=PASSAGES, headings=st.tuples(TEXT)),
    "remember": st.tuples(REMEMBERED),
    "locate": st.builds(Located, passages=PASSAGES, exact=st.booleans()),
    "forget": st.builds(Forgotten, entry=TEXT, removed=PASSAGES),
    "purge": st.builds(Forgotten, entry=TEXT, removed=PASSAGES, cleared=st.tuples(TEXT)),
    "status": STATUS,
    "log": st.tuples(ENTRY, ENTRY),
    "undo": st.tuples(ENTRY),
    "mark": st.integers(),
    "rebuild": STATUS,
    "waiting": st.tuples(st.builds(Held, id=TEXT, fact=FACT)),
    "review": st.none() | REMEMBERED,
    "erased": st.tuples(ENTRY),
    "returned": st.tuples(st.builds(Returned, TEXT, TEXT, st.integers(), TEXT, st.booleans())),
    "restore": st.tuples(REMEMBERED),
    "due": st.tuples(st.builds(Due, start=TEXT, end=TEXT, passage=PASSAGE, years=st.integers())),
    "upkeep": st.builds(Upkept, st.integers(), st.integers()),
    "check": st.tuples(FINDING),
    "chart": CHART,
    "unowned": st.tuples(COLLECTION),
    "pairs": st.tuples(st.builds(Pair, earlier=PASSAGE, later=PASSAGE, cosine=NUMBER)),
}
FACTS = st.lists(FACT, max_size=2)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def test_every_method_of_memory_is_an_operation() -> None:
    methods = {name for kind in (Memory, Keeper) for name in vars(kind) if name[0] != "_"}
    assert methods - {"close"} == OPERATIONS.keys() == VALUES.keys()


def test_the_writes_are_those_that_can_be_named() -> None:
    writes = {name for name, operation in OPERATIONS.items() if operation.writes}
    assert writes == {"remember", "forget", "purge", "undo", "mark", "review", "restore"}


@pytest.mark.parametrize("op", sorted(OPERATIONS))
@given(data=st.data())
def test_results_arrive_as_they_were(op: str, data: st.DataObject) -> None:
    value = data.draw(VALUES[op])
    sent = wire.line(wire.result("1", value))
    assert sent.count(b"\n") == 1
    assert OPERATIONS[op].result(wire.parse(sent, wire.Answer).value) == value


def asked(line: bytes) -> tuple[str, dict[str, Any]]:
    """What a daemon makes of a request."""
    request = wire.parse(line, wire.Request)
    return request.id, OPERATIONS[request.op].parameters(request.params)


@given(st.builds(Query, text=TEXT, as_of=st.none() | TEXT), FACTS, PASSAGE)
def test_parameters_arrive_as_they_were(query: Query, facts: list[Fact], passage: Passage) -> None:
    assert asked(OPERATIONS["recall"].request("1", query)) == ("1", {"query": query})
    assert asked(OPERATIONS["remember"].request("1", facts)) == (
        "1",
        {"facts": facts, "request": "1"},
    )
    assert asked(OPERATIONS["forget"].request("1", [passage], request="2")) == (
        "1",
        {"passages": [passage], "request": "2"},
    )
    assert asked(OPERATIONS["purge"].request("1", [passage], past=["x"])) == (
        "1",
        {"passages": [passage], "past": ["x"], "sessions": False, "request": "1"},
    )
    assert asked(OPERATIONS["review"].request("1", "h", accept=True, request=None)) == (
        "1",
        {"id": "h", "accept": True, "text": None, "together": "", "request": "1"},
    )
    assert (
        asked(OPERATIONS["log"].request("1", 3))
        == asked(OPERATIONS["log"].request("1", limit=3))
        == ("1", {"limit": 3})
    )
    assert asked(OPERATIONS["log"].request("1")) == ("1", {"limit": 20})


@pytest.mark.parametrize(
    ("op", "params"),
    [
        ("recall", {}),
        ("recall", {"query": {}}),
        ("recall", {"query": {"text": 1}}),
        ("recall", {"query": {"text": "a", "k": True}}),
        ("recall", {"query": {"text": "a", "k": "8"}}),
        ("recall", {"query": "a"}),
        ("recall", {"query": {"text": "a"}, "more": 1}),
        ("recall", []),
        ("recall", None),
        ("remember", {"facts": {"text": "a"}}),
        ("remember", {"facts": [{"text": "a", "origin": {"entries": "abc"}}]}),
        ("forget", {"passages": [{"id": "1"}]}),
        ("log", {"limit": 1.5}),
    ],
)
def test_parameters_that_do_not_fit_are_refused(op: str, params: Any) -> None:
    with pytest.raises(DaemonError):
        OPERATIONS[op].parameters(json.dumps(params).encode())


@given(st.sampled_from(sorted(OPERATIONS)), JSON)
def test_any_json_is_decoded_or_refused(op: str, data: Any) -> None:
    """Never another error than DaemonError."""
    for decode in (OPERATIONS[op].parameters, OPERATIONS[op].result):
        with contextlib.suppress(DaemonError):
            decode(json.dumps(data).encode())


def test_a_write_is_named_by_its_request() -> None:
    params = {"ids": [], "skip": False, "request": "17"}
    assert asked(OPERATIONS["undo"].request("17")) == ("17", params)
