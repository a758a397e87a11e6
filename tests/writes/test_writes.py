"""The write-side figures: nothing doubled, stale, looped or refused, and each defence is needed."""

import pytest

from assistant.memory.embedding import compile
from assistant.memory.embedding.embedder import Embedder
from assistant.settings.sections import EmbeddingSettings, MemorySettings
from assistant.workspace.folder import Workspace
from tests.writes.chats import Chats, live_in_chats
from tests.writes.talks import hold, talks
from tests.writes.world import year
from tests.writes.year import SWITCHES, Figures, Switch, live

SAMPLE = 0.08
INVENTED = 1
"""The model's one hallucination is kept, once: nothing tells it from what it has worked out."""
SUFFERS = {"lookup": 1, "same": 0, "supersede": 1, "echo": 2, "likeness": 3}
"""Which of the four rates a defence keeps down."""
RECALLABLE = 0.99
"""The share of what a chat said that the next must know."""
LARGEST = 30_000
"""Bytes of MEMORY.md at the end of the year."""
KEPT, WAITING = 0.98, 0.02
"""Of what an owner says, the share that is kept, and the most that may wait for them."""


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return compile.load(EmbeddingSettings())


@pytest.mark.parametrize(
    ("whole", "echoes"),
    [(0, 5), pytest.param(MemorySettings().whole, 1, marks=pytest.mark.slow)],
)
def test_a_sample_of_the_year_scores_nought(
    workspace: Workspace, embedder: Embedder, whole: int, echoes: int
) -> None:
    """What stands whole in the prompt is seldom repeated: few passages come with a message."""
    _assert_flawless(live(year(3, SAMPLE), workspace, embedder, whole=whole), echoes)


@pytest.mark.slow
@pytest.mark.parametrize("off", SWITCHES)
def test_it_scores_badly_without_a_defence(
    workspace: Workspace, embedder: Embedder, off: Switch
) -> None:
    found = live(year(3, SAMPLE), workspace, embedder, off)
    assert found.rates[SUFFERS[off]] > 0.02, found


@pytest.mark.slow
def test_what_a_short_chat_said_is_known_in_the_next(
    workspace: Workspace, embedder: Embedder
) -> None:
    _assert_left_their_mark(live_in_chats(year(3, SAMPLE / 2), workspace, embedder), 30)


def test_of_sixty_chats_what_was_said_is_kept_rightly(
    workspace: Workspace, embedder: Embedder
) -> None:
    found = hold(talks(), workspace, embedder)
    assert found.facts > 45
    assert len(found.lost) + len(found.waiting) <= found.facts * (1 - KEPT), found
    assert len(found.waiting) <= found.facts * WAITING, found
    assert not found.misdated and not found.beside, found
    assert not found.planted and not found.overwritten, found


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_year_of_short_chats_leaves_its_mark(workspace: Workspace, embedder: Embedder) -> None:
    _assert_left_their_mark(live_in_chats(year(), workspace, embedder), 300)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_year_with_a_thousand_near_twins_scores_nought(
    workspace: Workspace, embedder: Embedder
) -> None:
    found = live(year(), workspace, embedder)
    assert found.said > 1_300
    _assert_flawless(found)


def _assert_left_their_mark(found: Chats, chats: int) -> None:
    assert found.chats >= chats, found
    assert found.recallable >= RECALLABLE, found
    assert (found.year.duplicates, found.year.loops) == (0, 0), found
    assert found.requests <= found.chats, found  # the longest takes one


def _assert_flawless(found: Figures, echoes: int = 10) -> None:
    assert found.rates == (0, 0, 0, 0), found
    assert found.true <= found.facts <= found.true + INVENTED, found
    assert found.echoes > echoes and found.asked > 3, found
    assert found.size <= LARGEST, found
