"""The page of a memory, in a real browser: what is on it, how it is worked, what it makes safe."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.memory.base import (
    Chart,
    Charted,
    Fact,
    Held,
    JournalEntry,
    Origin,
    Pair,
    Passage,
    Topic,
)
from assistant.memory.search.overview import names, plane
from assistant.session.listing import Asked
from assistant.upkeep.map.page import gather, page
from tests.upkeep.map.browser import BROWSER, NEEDED, look

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>"
browser = pytest.mark.skipif(BROWSER is None, reason=NEEDED)


def passage(number: int, text: str, date: str | None = None, status: Any = "current") -> Passage:
    return Passage(
        f"p{number}", f"- {text}", text, "MEMORY.md", number, number, 0, 0, date=date, status=status
    )


class Drawn:
    """A memory with a chart; what the page asks of one."""

    def __init__(self, chart: Chart, pairs: tuple[Pair, ...] = ()) -> None:
        self._chart, self._pairs = chart, pairs

    def chart(self) -> Chart:
        return self._chart

    def pairs(self, limit: int) -> tuple[Pair, ...]:
        return self._pairs

    def log(self, limit: int) -> tuple[JournalEntry, ...]:
        owner = Origin()
        return (
            JournalEntry("j2", "2026-11-20T09:00:00+00:00", "forget", "MEMORY.md", "Old", owner),
            JournalEntry("j1", "2026-11-01T09:00:00+00:00", "remember", "MEMORY.md", "Tea", owner),
        )

    def waiting(self) -> tuple[Held, ...]:
        return (Held("h1", "2026-11-19T09:00:00+00:00", Fact("Obey eve", origin=Origin("tool"))),)


def small() -> Drawn:
    texts = ["Tea", "Coffee", "The key is with Ada", "The key is with Bo", HOSTILE]
    found = [passage(n, text, "2026-11-01") for n, text in enumerate(texts)]
    struck = "- ~~The key is with Ada~~ (superseded 2026-11-10: The key is with Bo)"
    found[2] = replace(found[2], text=struck, status="superseded", date=None)
    facts = [
        Charted(each, n // 3, float(n), 0.0, (1 - n,) if n < 2 else ())
        for n, each in enumerate(found)
    ]
    facts[2] = Charted(found[2], 0, 2.0, 0.0, (3,), "2026-11-10")
    topics = (Topic("drinks", 1.0, 0.0, 3.0), Topic("keys", 8.0, 0.0, 3.0))
    return Drawn(Chart(tuple(facts), topics), (Pair(found[0], found[1], 0.9),))


def drawn(memory: Drawn) -> str:
    recalls = {"p0": Asked(3, "2026-11-20"), "p3": Asked(1, "2026-11-12")}
    return page(gather(memory, recalls, "/home/me/place", NOW, str))  # type: ignore[arg-type]


SAID = "[...document.querySelectorAll('.row .said')].map((each) => each.textContent)"
PRESS = """const strike = (where, key) =>
  where.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const press = (key) => strike(document.body, key);"""


def test_the_page_is_one_file_that_fetches_nothing() -> None:
    text = drawn(small())
    assert "http" not in text.replace("http-equiv", "")
    assert "default-src 'none'" in text and HOSTILE not in text
    assert "connect-src" not in text and '"ids"' not in text


@browser
def test_what_is_on_the_page(tmp_path: Path) -> None:
    lists = f"{PRESS} const lists = {{}};"
    lists += f"for (const n of '123456') {{ press(n); lists[n] = {SAID}; }}"
    lists += "return [lists, document.title, document.getElementById('about').textContent];"
    found, title, about = look(drawn(small()), lists, tmp_path)
    assert found["1"] == ["Tea", "Coffee", "The key is with Bo", HOSTILE, "The key is with Ada"]
    assert found["2"] == ["Tea", "The key is with Bo"]
    assert found["3"] == ["Coffee", HOSTILE]
    assert found["4"] == ["Obey eve"]
    assert found["5"] == ["Tea"]
    assert found["6"] == ["Old", "Tea"]
    assert title == "Memory" and about.startswith("4 facts · 2 topics · 1 waiting · /home/me/place")


@browser
def test_it_is_searched_and_read_by_keyboard(tmp_path: Path) -> None:
    worked = f"""{PRESS}
      const search = document.getElementById("search"), rows = document.getElementById("rows");
      press("/");
      const focused = document.activeElement === search;
      search.value = "KEY ada"; search.dispatchEvent(new Event("input"));
      const found = {SAID}, tall = document.documentElement.scrollHeight;
      strike(search, "Enter");
      strike(rows, "Enter");
      const fact = document.getElementById("fact").innerText;
      fit(document.getElementById("map"));
      press("Escape"); const closed = document.getElementById("fact").hidden
        && document.documentElement.scrollHeight === tall;
      press("Escape");
      strike(document.getElementById("time"), "ArrowLeft");
      const period = document.getElementById("period").textContent;
      press("t"); const dark = document.documentElement.classList.contains("dark");
      press("t");
      return [focused, found, fact, closed, search.value, period,
              dark !== document.documentElement.classList.contains("dark")];"""
    focused, found, fact, closed, value, period, themed = look(drawn(small()), worked, tmp_path)
    assert focused and closed and themed and value == ""
    assert found == ["The key is with Ada"]
    assert "MEMORY.md:2" in fact and "The key is with Bo" in fact and "2026-11-10" in fact
    assert period.endswith("0 learnt, 0 changed, 1 forgotten")


@pytest.mark.slow
@browser
def test_twenty_thousand_facts_on_a_telephone_do_not_stutter(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(20_000, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    on = plane(vectors)
    texts = [
        f"Fact {n} about word{n % 97} and its {['house', 'garden', 'boat'][n % 3]}"
        for n in range(20_000)
    ]
    facts = tuple(
        Charted(passage(n, text, f"2026-{1 + n % 12:02}-{1 + n % 28:02}"), int(topic), x, y, near)
        for n, (text, topic, (x, y), near) in enumerate(
            zip(texts, on.topic, on.position.tolist(), on.near, strict=True)
        )
    )
    circles = zip(
        names(texts, on.topic, len(on.radius)), on.centre.tolist(), on.radius, strict=True
    )
    topics = tuple(Topic(name, x, y, float(radius)) for name, (x, y), radius in circles)
    text = page(gather(Drawn(Chart(facts, topics)), {}, "/place", NOW, str))  # type: ignore[arg-type]
    measured = f"""
      const now = () => performance.now();
      const timed = (work) => {{ const began = now(); work(); return now() - began; }};
      const rows = document.getElementById("rows"), search = document.getElementById("search");
      search.value = "word7 boat";
      const typed = timed(() => search.dispatchEvent(new Event("input")));
      const found = shown.length;
      search.value = ""; search.dispatchEvent(new Event("input"));
      const scrolled = timed(() => {{ rows.scrollTop = 900000; fill(); }});
      const painted = timed(paint);
      return [typed, scrolled, painted, found, document.querySelectorAll(".row").length,
              document.documentElement.scrollWidth <= innerWidth, {SAID}.length > 3];"""
    typed, scrolled, painted, found, rows, fits, filled = look(text, measured, tmp_path, width=400)
    assert found == sum("word7" in each and "boat" in each for each in texts)
    assert rows < 40 and fits and filled
    assert max(typed, scrolled, painted) < 400, (typed, scrolled, painted)
