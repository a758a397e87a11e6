"""The web through the real command: off until it is set, and no way into memory unreviewed."""

from pathlib import Path

import pytest

from assistant.messages import Reply, ToolCall
from tests.cli.talk.test_ask import command, done
from tests.support.provider import Provider
from tests.support.site import Site, page

TIDES = page("<article><p>The tide at Cascais turns at 14:20 on regatta day.</p></article>")


def calls(*made: tuple[str, dict[str, object]]) -> list[Reply]:
    return [
        Reply(tool_calls=(ToolCall(f"c{n}", name, given),)) for n, (name, given) in enumerate(made)
    ]


def test_a_page_is_read_and_what_it_says_waits_for_the_owner(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Site({"/tides": TIDES}) as site, Provider() as provider:
        read = ("fetch_url", {"url": f"{site.url}/tides"})
        keep = ("remember", {"fact": "The tide at Cascais turns at 14:20"})
        provider.enqueue(*calls(read), "Off.", *calls(read, keep), "It turns at 14:20.")
        assert done(command(place, provider.url, "ask", "when does it turn?"))[1] == "Off.\n"
        offered = [each["function"]["name"] for each in provider.requests[0].body["tools"]]
        assert "fetch_url" not in offered and site.asked == []
        monkeypatch.setenv("ASSISTANT_WEB__FETCH", "true")
        monkeypatch.setenv("ASSISTANT_WEB__ALLOW_PRIVATE", "127.0.0.1")
        assert done(command(place, provider.url, "ask", "when?"))[1] == "It turns at 14:20.\n"
        said = provider.requests[-1].body["messages"]
        results = [each["content"] for each in said if each["role"] == "tool"]
        assert "turns at 14:20 on regatta day" in results[0]
        assert "waits for the owner's review" in results[1]
    assert "14:20" not in (place / "MEMORY.md").read_text()
