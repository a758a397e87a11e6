"""What share of a talk's requests Claude's prompt cache serves."""

import json
from itertools import accumulate
from pathlib import Path

import pytest

from assistant import Assistant
from assistant.events import Compacted
from assistant.messages import Reply, ToolCall, Usage
from tests.support.provider import Provider, Received

TURNS = 30
LOOKED_BACK = 20
"""Blocks before a mark at which Anthropic looks for what it has cached."""
REACHED = 0.9


def blocks(body: dict[str, object]) -> list[tuple[str, bool]]:
    """The blocks of a request in the order of the cache, each with whether it is marked."""
    found: list[tuple[str, dict[str, object]]] = [("tool", tool) for tool in body["tools"]]  # type: ignore[attr-defined]
    found += [("system", block) for block in body["system"]]  # type: ignore[attr-defined]
    for message in body["messages"]:  # type: ignore[attr-defined]
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [(message["role"], part) for part in parts]
    made = []
    for role, block in found:
        is_marked = "cache_control" in block
        rest = {name: value for name, value in block.items() if name != "cache_control"}
        made.append((role + json.dumps(rest, sort_keys=True), is_marked))
    return made


class Cache:
    """Anthropic's: it keeps the prefix of a request up to each mark, and serves the longest that
    it has."""

    def __init__(self) -> None:
        self.served: list[tuple[int, int]] = []
        """Of each request of the talk the characters served, and all."""
        self._kept: set[str] = set()

    def answer(self, request: Received) -> Reply:
        """Count a request, and answer it."""
        text = json.dumps(request.body)
        if "[BRIEFING]" not in text:  # a compaction's own
            return Reply("They spoke of boats. " * 20)
        found = blocks(request.body)
        prefixes = [*accumulate(block for block, _ in found)]
        marks = [place for place, (_, is_marked) in enumerate(found) if is_marked]
        near = {place - back for place in marks for back in range(LOOKED_BACK) if place >= back}
        served = [len(prefixes[place]) for place in near if prefixes[place] in self._kept]
        self._kept.update(prefixes[place] for place in marks)
        self.served.append((max(served, default=0), len(prefixes[-1])))
        number = len(self.served)
        usage = Usage(len(prefixes[-1]) // 4, 60)
        is_result = "tool_result" in found[-1][0]
        if number % 3 == 0 and not is_result:
            call = ToolCall(f"c{number}", "recall", {"query": f"boat {number}"})
            return Reply("", tool_calls=(call,), usage=usage, finish_reason="tool_calls")
        return Reply(f"Answer {number}: boat {number} lies in the harbour. " * 6, usage=usage)


@pytest.mark.slow
@pytest.mark.parametrize(("window", "compacts"), [(200_000, False), (12_000, True)])
def test_the_cache_serves_nine_tenths_of_a_talk(
    home: Path, monkeypatch: pytest.MonkeyPatch, window: int, compacts: bool
) -> None:
    cache, compacted = Cache(), 0
    with Provider(respond=cache.answer) as provider:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
        monkeypatch.setenv("ASSISTANT_MODEL", "anthropic/claude-sonnet-4-5")
        monkeypatch.setenv("ASSISTANT_API_BASE", provider.root)
        monkeypatch.setenv("ASSISTANT_CONTEXT_WINDOW", str(window))
        with Assistant(home / "workspace", create=True, daemon=False) as assistant:
            facts = (f"- Boat {n} is called Name{n} and lies in harbour {n}" for n in range(60))
            text = "\n".join(["# Memory\n\n## Boats\n", *facts])
            (home / "workspace" / "MEMORY.md").write_text(text, encoding="utf-8")
            for number in range(TURNS):
                asked = f"Where does boat {number} lie, and what did we say of {number + 3}?"
                events = [*assistant.send(f"{asked} I like to hear all the detail there is.")]
                compacted += sum(isinstance(event, Compacted) for event in events)
    assert bool(compacted) == compacts
    served, total = map(sum, zip(*cache.served, strict=True))
    assert served / total >= REACHED
