"""What every implementation of `Memory` must do. Subclass it and give the fixture `memory`."""

import json
import os
import re
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from assistant.errors import LedgerError, StorageError
from assistant.memory.annotations import CORE
from assistant.memory.base import Fact, Keeper, Mark, Origin, Passage, Query, Secret
from assistant.memory.text.chunk import chunks_of
from assistant.workspace.folder import ALWAYS_FILES, Workspace
from tests.support.odd import deep_folders, leave_odd_entries

FACTS = (
    "The dentist is Dr. Alvarez on Main Street",
    "The door code of the office is 4711",
    "Prefers tea without sugar",
    "Sister Ana breeds sheep by the sea",
    "The car is a blue Skoda from 2014",
)


def remember(memory: Keeper, *texts: str) -> list[str]:
    """Write facts; returns their ids."""
    return [done.id for done in memory.remember([Fact(text) for text in texts])]


def found(memory: Keeper, words: str) -> list[str]:
    """The texts that a recall returns, without the list marker."""
    return [passage.text.removeprefix("- ") for passage in memory.recall(Query(words)).passages]


def save_by_rename(path: Path, text: str) -> None:
    """Save as most editors do: a new file takes the place of the old one."""
    other = path.with_name(f"{path.name}~")
    other.write_text(text, encoding="utf-8")
    other.replace(path)


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


class MemoryContract:
    def test_a_fact_can_be_recalled_when_remember_returns(self, memory: Keeper) -> None:
        ids = remember(memory, *FACTS)
        assert len(set(ids)) == len(FACTS)
        for id_, fact in zip(ids, FACTS, strict=True):
            best = memory.recall(Query(fact)).passages[0]
            assert (best.id, best.text, best.source) == (id_, f"- {fact}", "MEMORY.md")

    def test_a_passage_is_the_files_own_text_at_its_place(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        remember(memory, *FACTS)
        (written,) = memory.remember([Fact("Swims on Tuesdays")])
        best = memory.recall(Query("when does she swim?")).passages[0]
        text = (workspace.root / "MEMORY.md").read_text(encoding="utf-8")
        assert best.text == text[best.start_char : best.end_char] == "- Swims on Tuesdays"
        assert text.splitlines()[best.start_line - 1] == best.text
        assert (best.start_line, best.id) == (written.line, written.id)

    def test_a_fact_that_was_moved_is_of_the_day_it_was_recorded(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        remember(memory, FACTS[0])
        path = workspace.root / "MEMORY.md"
        path.write_text(f"# Memory\n\n## Health\n\n- {FACTS[0]}\n- The optician is Bo\n")
        today = date.today().isoformat()
        asked = Query("the dentist", as_of=today)
        assert [p.date for p in memory.recall(asked).passages if FACTS[0] in p.text] == [today]
        remember(memory, *(f"Dentist number {number} is full" for number in range(12)))
        text = path.read_text()
        path.write_text(re.sub("## (Remembered.*|Auto-captured.*)", "## Dentists", text))
        before = memory.recall(replace(asked, k=1, as_of="2020-01-01"))
        assert [p.text for p in before.passages] == ["- The optician is Bo"]
        assert before.tokens == sum(p.tokens for p in before.passages)

    def test_the_same_fact_is_answered_with_its_place(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        (first,) = memory.remember([Fact("Prefers tea, without sugar.")])
        before = (workspace.root / "MEMORY.md").read_bytes()
        (again,) = memory.remember([Fact("prefers TEA without   sugar")])
        assert (again.status, again.id, again.line) == ("exists", first.id, first.line)
        assert (workspace.root / "MEMORY.md").read_bytes() == before

    def test_a_near_twin_is_written_and_pointed_out(self, memory: Keeper) -> None:
        (first,) = remember(memory, "The door code is 4711")
        remember(memory, "Ana breeds sheep")
        (second,) = memory.remember([Fact("The door code is 4712")])
        assert second.status == "stored"
        assert [passage.id for passage in second.similar] == [first]

    def test_a_fact_of_many_chunks_is_not_similar_to_itself(self, memory: Keeper) -> None:
        story = "The long way round goes " + "over hills and along rivers, " * 400
        for fact in (story, f"Some say {story}"):
            (written,) = memory.remember([Fact(fact)])
            own = (written.source, written.line)
            assert own not in [(near.source, near.start_line) for near in written.similar]

    def test_a_superseded_fact_gives_way_to_its_successor(self, memory: Keeper) -> None:
        (old,) = memory.remember([Fact("Lives in Berlin")])
        (new,) = memory.remember([Fact("Lives in Lisbon", replaces=f"MEMORY.md:{old.line}")])
        assert new.status == "superseded"
        assert found(memory, "Where does she live?") == ["Lives in Lisbon"]
        everything = memory.recall(Query("Where does she live?", include_superseded=True))
        assert [passage.status for passage in everything.passages] == ["current", "superseded"]
        (newer,) = memory.remember([Fact("Lives in Porto", replaces=new.id)])
        assert newer.status == "superseded"
        assert found(memory, "Where does she live?") == ["Lives in Porto"]

    def test_comments_at_the_end_of_a_line_are_read_and_not_written_as_words(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        path = workspace.root / "MEMORY.md"
        line = "- Tante Ursel starb 2019 <!-- core --> <!-- for: cimetière --> <!-- 2019-05-02 -->"
        assert memory.remember([Fact(line)])[0].status == "stored"
        text = path.read_text("utf-8")
        assert (
            "Remembered -- 2019-05-02\n\n- Tante Ursel starb 2019 <!-- for: cimetière -->" in text
        )
        assert "<!-- core -->" in text and "\\<" not in text
        assert memory.remember([Fact(line)])[0].status == "exists"
        assert memory.remember([Fact("Écrit <!-- core --> partout")])[0].status == "stored"
        assert "\\<\\!-- core --> partout" in path.read_text("utf-8")
        memory.remember([Fact("Il lit <!-- core -->", origin=Origin("assistant"))])
        assert "- Il lit\n" in path.read_text("utf-8")
        for struck in ("- ~~Sie lebt~~ <!-- 2019-05-02 -->", "~~Sie lebt <!-- 2019-05-02 -->~~"):
            with pytest.raises(LedgerError, match="struck out"):
                memory.remember([Fact(struck)])

    def test_a_fact_is_found_by_what_it_matters_for_which_is_not_shown(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        remember(memory, *FACTS)
        said, words = "The owner is allergic to nuts", ("restaurants", "flights & more", "quixotry")
        (nuts,) = memory.remember([Fact(said, matters_for=words)])
        line = f"- {said} <!-- for: restaurants, flights more, quixotry -->"
        path = workspace.root / "MEMORY.md"
        assert line in path.read_text("utf-8").splitlines()
        best = memory.recall(Query("quixotry")).passages[0]
        assert (best.id, best.text, best.plain, best.shown) == (nuts.id, line, said, f"- {said}")
        assert memory.remember([Fact(said.upper())])[0].status == "exists"
        before = path.read_bytes()
        (sesame,) = memory.remember([Fact("Allergic to sesame alone", replaces=nuts.id)])
        assert memory.recall(Query("quixotry")).passages[0].id == sesame.id
        memory.forget(memory.locate(sesame.id).passages)
        assert "sesame" not in memory.recall(Query("quixotry")).passages[0].text
        for _ in range(2):
            memory.undo()
        assert path.read_bytes() == before
        path.write_text(path.read_text("utf-8").replace("quixotry", "zeugma"), encoding="utf-8")
        assert [memory.recall(Query("zeugma")).passages[0].plain] == [said]

    def test_facts_are_marked_in_one_write_that_is_taken_back(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        path = workspace.root / "MEMORY.md"
        path.write_bytes(b"# Memory\r\n\r\n- Tea  \r\n  - green\r\n\r\nA long\r\nstory\r\n- Sings")
        before = path.read_bytes()
        tea, story, sings = memory.chart().facts
        marks = [Mark(each.passage, CORE, ("gifts",)) for each in (tea, story, sings)]
        assert memory.mark(marks) == 3
        assert path.read_bytes() == (
            b"# Memory\r\n\r\n- Tea <!-- core --> <!-- for: gifts -->  \r\n  - green\r\n\r\n"
            b"A long <!-- core --> <!-- for: gifts -->\r\nstory\r\n"
            b"- Sings <!-- core --> <!-- for: gifts -->"
        )
        facts = [each.passage for each in memory.chart().facts]
        assert [each.plain for each in facts] == ["Tea\ngreen", "A long story", "Sings"]
        assert memory.mark([Mark(each, CORE) for each in facts]) == 0
        with pytest.raises(LedgerError):  # none of them is as it was shown
            memory.mark(marks[:2])
        assert memory.mark([*marks[:2], Mark(facts[2], "", ())]) == 1
        assert path.read_bytes().endswith(b"\r\n- Sings")
        memory.undo()
        path.write_bytes(path.read_bytes().replace(b"Tea", b"Coffee"))
        assert memory.undo()[0].action == "mark"
        assert path.read_bytes() == (
            before.replace(b"- Tea", b"- Coffee <!-- core --> <!-- for: gifts -->")
        )

    def test_a_purge_takes_what_a_fact_matters_for_along(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        remember(memory, *FACTS)
        fact = Fact("The owner is allergic to nuts", matters_for=("zanzibar",))
        (nuts,) = memory.remember([fact])
        (sesame,) = memory.remember([Fact("Allergic to sesame alone", replaces=nuts.id)])
        memory.purge(memory.locate(sesame.id).passages)
        memory.purge(memory.locate(fact.text).passages)
        memory.close()
        files = [each for each in workspace.root.rglob("*") if each.is_file()]
        assert [each for each in files if b"zanzibar" in each.read_bytes()] == []

    def test_what_exists_near_several_texts_is_told_with_the_owners_headings(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        (workspace.root / "MEMORY.md").write_text("# Memory\n\n## Home\n\n- The boiler is new\n")
        (workspace.root / "HEARTBEAT.md").write_text("- Every Friday, look at the boiler\n")
        remember(memory, "Lives in Lisbon")
        there = memory.existing(["We moved to Lisbon", "the boiler leaks", "and the boiler"], 1)
        assert [each.plain for each in there.passages] == ["Lives in Lisbon", "The boiler is new"]
        assert there.headings == ("Home",) and there.passages[0].date
        assert memory.existing([], 1).passages == ()

    def test_a_captured_fact_goes_under_the_heading_that_fits_by_its_words_or_its_like(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        path = workspace.root / "MEMORY.md"
        path.write_text("# Memory\n\n## Home\n\n- The boiler in the cellar is new\n\n## Lena\n")
        facts = ("Lena swims on Fridays", "The boiler in the cellar is new and leaks", "Sings")
        memory.remember([Fact(each, "Auto-captured", under="") for each in facts])
        under = {each.plain: each.heading[-1] for each in chunks_of(path.read_text(), "MEMORY.md")}
        assert [under[each] for each in facts[:2]] == ["Lena", "Home"]
        assert under["Sings"].startswith("Auto-captured -- ")

    @pytest.mark.parametrize("target", ["MEMORY.md:99", "0123456789abcdef", "NOTES.md:1"])
    def test_nothing_is_superseded_by_a_wrong_name(
        self, memory: Keeper, workspace: Workspace, target: str
    ) -> None:
        before = (workspace.root / "MEMORY.md").read_bytes()
        with pytest.raises(LedgerError) as caught:
            memory.remember([Fact("Lives in Lisbon", replaces=target)])
        assert caught.value.cure
        assert (workspace.root / "MEMORY.md").read_bytes() == before

    def test_a_fact_is_located_by_id_place_and_words(self, memory: Keeper) -> None:
        ids = remember(memory, *FACTS)
        line = memory.locate(ids[1]).passages[0].start_line
        for target in (ids[1], f"MEMORY.md:{line}", FACTS[1].upper(), f"*{FACTS[1]}*"):
            found = memory.locate(target)
            assert ([passage.id for passage in found.passages], found.exact) == ([ids[1]], True)
        for likeness in ("door code", "which code opens the door of the office?"):
            found = memory.locate(likeness)
            assert (found.passages[0].id, found.exact) == (ids[1], False)
        for wrong in ("MEMORY.md:9999", "NOTES.md:1", "0123456789abcdef"):
            assert memory.locate(wrong).passages == (), wrong

    def test_either_spelling_of_an_accent_names_a_file(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        (workspace.root / "memory").mkdir(exist_ok=True)
        (workspace.root / "memory" / "Cafe\u0301.md").write_text("- Closed on Mondays\n")
        (there,) = memory.recall(Query("Mondays", k=1)).passages
        found = memory.locate("memory/Caf\u00e9.md:1")
        assert [each.id for each in found.passages] == [there.id]

    @pytest.mark.parametrize("name", ["memory/FAMILY.MD", "memory/our family.Md"])
    def test_a_file_is_named_whatever_the_case_of_its_ending(
        self, memory: Keeper, workspace: Workspace, name: str
    ) -> None:
        path = workspace.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("- Closed on Mondays\n- Open on Fridays\n", encoding="utf-8")
        assert [each.plain for each in memory.locate(f"{name}:1").passages] == ["Closed on Mondays"]
        (new,) = memory.remember([Fact("Open on Sundays", replaces=f"{name}:2")])
        assert (new.status, "~~Open on Fridays~~" in path.read_text()) == ("superseded", True)

    def test_words_locate_every_fact_that_holds_them(self, memory: Keeper) -> None:
        ids = remember(memory, "Ana likes rye bread", "Ben likes rye bread too", "Likes wheat")
        assert {each.id for each in memory.locate("rye bread").passages} == set(ids[:2])
        assert [each.id for each in memory.locate("ana likes rye bread!").passages] == [ids[0]]

    def test_a_piece_of_a_long_item_goes_by_its_id(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        """It is forgotten, superseded, and superseded by what waits for review."""
        path = workspace.root / "MEMORY.md"
        names = ("anchor", "beacon", "cutter")
        rest = f" lies {'well ' * 190}moored."
        items = (f"- The first {name}{rest} The second {name}{rest}\n" for name in names)
        path.write_text("# Memory\n\n" + "".join(items), encoding="utf-8")
        anchor, beacon, cutter = (self.id_of(memory, f"The second {name}") for name in names)
        memory.remember([Fact("The anchor is sold", replaces=anchor)])
        memory.remember([Fact("The beacon is lit", replaces=beacon, origin=Origin("tool"))])
        done = memory.review(memory.waiting()[0].id, accept=True)
        memory.forget(memory.locate(cutter).passages)
        text = path.read_text("utf-8")
        assert done and done.status == "superseded"
        for struck in ("The second anchor", "The second beacon"):
            assert f"moored. ~~{struck}{rest}~~ (superseded" in text
        assert ["first cutter" in text, "second cutter" in text] == [True, False]

    def id_of(self, memory: Keeper, begins: str) -> str:
        """The id that recall shows for a passage."""
        found = memory.recall(Query(begins, k=20, budget=99_999)).passages
        return next(each.id for each in found if each.text.startswith(begins))

    def test_a_forgotten_fact_is_gone_and_undo_restores_every_byte(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        remember(memory, *FACTS)
        before = (workspace.root / "MEMORY.md").read_bytes()
        gone = memory.forget(memory.locate("door code").passages)
        assert [passage.text for passage in gone.removed] == [f"- {FACTS[1]}"]
        assert FACTS[1] not in found(memory, "the door code of the office")
        assert memory.undo()[0].action == "forget"
        assert (workspace.root / "MEMORY.md").read_bytes() == before
        assert found(memory, FACTS[1])[0] == FACTS[1]

    def test_what_changed_since_it_was_shown_is_not_forgotten(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        remember(memory, *FACTS)
        shown = memory.locate("door code").passages
        path = workspace.root / "MEMORY.md"
        path.write_text(path.read_text("utf-8").replace("4711", "4713"), encoding="utf-8")
        with pytest.raises(LedgerError):
            memory.forget(shown)
        assert "4713" in path.read_text("utf-8")

    def test_a_purged_fact_is_in_no_file_of_the_workspace(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        remember(memory, *FACTS, "The safe's combination is zanzibar-17")
        memory.purge(memory.locate("zanzibar-17").passages)
        assert not any("zanzibar" in text for text in found(memory, "combination of the safe"))
        memory.close()
        holding = [
            path
            for path in workspace.root.rglob("*")
            if path.is_file() and b"zanzibar" in path.read_bytes()
        ]
        assert holding == []

    @pytest.mark.parametrize("what", ["reworded", "forgotten", "deleted by hand"])
    def test_a_purge_matches_by_what_was_written(
        self, memory: Keeper, workspace: Workspace, what: str
    ) -> None:
        safe, path = "The safe's combination is zanzibar-17", workspace.root / "MEMORY.md"
        remember(memory, *FACTS, safe)
        text = path.read_text("utf-8")
        if what == "reworded":
            path.write_text(text.replace("zanzibar-17", "secret"), encoding="utf-8")
            gone = memory.purge(memory.locate("The safe's combination is secret").passages)
        else:
            if what == "forgotten":
                memory.forget(memory.locate(safe).passages)
            else:
                path.write_text(text.replace(f"- {safe}\n", ""), encoding="utf-8")
            assert not memory.locate(safe).exact
            gone = memory.purge((), past=[safe.upper()])
        assert "journal" in gone.cleared
        memory.close()
        files = [each for each in workspace.root.rglob("*") if each.is_file()]
        assert [each for each in files if b"zanzibar" in each.read_bytes()] == []
        assert FACTS[0] in path.read_text("utf-8")

    @pytest.mark.parametrize("returned", [False, True])
    def test_a_purge_takes_what_is_struck_out_too(
        self, memory: Keeper, workspace: Workspace, returned: bool
    ) -> None:
        old, new = "The safe's combination is zanzibar-17", "The safe's combination is lisbon-4"
        remember(memory, old)
        facts = [new, old] if returned else [new]
        for before, fact in zip([old, new], facts, strict=False):
            (passage,) = memory.locate(before).passages
            memory.remember([Fact(fact, replaces=passage.id)])
        found = memory.locate(old)
        assert found.exact
        memory.purge(found.passages)
        memory.close()
        files = [each for each in workspace.root.rglob("*") if each.is_file()]
        left = [each for each in files if b"zanzibar" in each.read_bytes()]
        assert not left, left
        assert "lisbon" in (workspace.root / "MEMORY.md").read_text("utf-8")

    def test_what_a_file_still_says_is_not_purged_as_past(self, memory: Keeper) -> None:
        remember(memory, *FACTS)
        for words in (FACTS[1], "door code of the office"):
            with pytest.raises(LedgerError, match="still says"):
                memory.purge((), past=[words])
        assert memory.locate(FACTS[1]).exact

    def test_a_part_of_a_past_fact_is_not_purged_as_if_it_were_one(self, memory: Keeper) -> None:
        remember(memory, "Client Alpha pays 900 euros")
        memory.forget(memory.locate("Client Alpha pays 900 euros").passages)
        for part in ("Alpha", "client alpha"):
            with pytest.raises(LedgerError, match=r"only a part of .*Client Alpha pays 900 euros"):
                memory.purge((), past=[part])
        assert memory.log(1)[0].text == "Client Alpha pays 900 euros"
        assert memory.purge((), past=["client alpha pays 900 euros"]).cleared
        assert "Alpha" not in " ".join(entry.text for entry in memory.log())

    def test_a_fact_with_a_secret_is_named_by_its_own_words(self, memory: Keeper) -> None:
        fact = "Portal of Brandt: user jw, password: Sommer2026xyz9!"
        memory.remember([Fact(fact, secrets="keep")])
        located = memory.locate(fact)
        assert located.exact and memory.purge(located.passages).purged
        assert not memory.locate(fact).exact

    def test_the_log_names_writes_and_their_origin_newest_first(self, memory: Keeper) -> None:
        origin = Origin("assistant", "s1", ("e1", "e2"))
        memory.remember([Fact("Ana breeds sheep")])
        memory.remember([Fact("Ben sails", origin=origin)])
        memory.forget(memory.locate("Ana breeds sheep").passages)
        memory.undo()
        entries = memory.log()
        assert [(entry.action, entry.text) for entry in entries[-2:]] == [
            ("remember", "Ben sails"),
            ("remember", "Ana breeds sheep"),
        ]
        assert entries[-2].origin == origin
        assert [entry.undone for entry in entries if entry.action == "forget"] == [True]
        assert memory.log(limit=1) == entries[:1]
        (why,) = memory.recall(Query("sails", k=1, why=True)).passages
        assert why.origin == "assistant"

    def test_undo_of_nothing_is_refused(self, memory: Keeper) -> None:
        with pytest.raises(LedgerError):
            memory.undo()

    def test_status_counts_what_the_files_hold(self, memory: Keeper, workspace: Workspace) -> None:
        remember(memory, *FACTS)
        (workspace.root / "memory").mkdir()
        (workspace.root / "memory" / "people.md").write_text("- Ben sails\n", encoding="utf-8")
        state = memory.status()
        counts = {source.source: source.chunks for source in state.sources}
        assert counts == {"MEMORY.md": len(FACTS), "memory/people.md": 1}
        assert (state.chunks, state.embedded_total) == (6, 6)
        assert state.index_bytes > 10_000
        assert state.notices == ()

    def test_rebuilding_embeds_nothing_and_keeps_the_ids(self, memory: Keeper) -> None:
        ids = remember(memory, *FACTS)
        before = memory.status()
        after = memory.rebuild()
        assert (after.chunks, after.embedded_total) == (before.chunks, before.embedded_total)
        assert [memory.locate(fact).passages[0].id for fact in FACTS] == ids

    @pytest.mark.parametrize("save", [Path.write_text, save_by_rename])
    def test_a_line_saved_in_an_editor_is_recalled_at_once(
        self, memory: Keeper, workspace: Workspace, save: object
    ) -> None:
        """25 of 25, without a pause between save and question."""
        assert callable(save)
        path = workspace.root / "MEMORY.md"
        for number in range(25):
            fact = f"The locker number {number} belongs to guest {number * 7919 % 1000}"
            save(path, f"# Memory\n\n- Has a dog\n- {fact}\n")
            recalled = memory.recall(Query(f"locker number {number}", k=5)).passages
            assert f"- {fact}" in [passage.text for passage in recalled]
            assert memory.status().chunks == 2

    @pytest.mark.parametrize("lost", ["index", "index/chroma", "index/catalog.db"])
    def test_a_deleted_index_comes_back_by_itself(
        self, memory: Keeper, workspace: Workspace, lost: str
    ) -> None:
        remember(memory, *FACTS)
        memory.rebuild()
        before = [strip(memory.recall(Query(fact)).passages) for fact in FACTS]
        path = workspace.private / lost
        embedded = memory.status().embedded_total if lost == "index/chroma" else 0
        path.rename(workspace.root.with_name("lost"))  # all at once, whatever is just written there
        assert [strip(memory.recall(Query(fact)).passages) for fact in FACTS] == before
        state = memory.status()
        assert state.chunks == len(FACTS)
        assert state.embedded_total == embedded
        ends = time.monotonic() + 60
        while not memory.status().notices:  # of Chroma a thread tells when it comes to it
            assert time.monotonic() < ends
            time.sleep(0.02)

    @pytest.mark.parametrize(
        "query",
        ["", " \n", "the of and", "?!…", "🦭🦭", "x" * 100_000, "é " * 50_000, "caf\udce9 \udcff",
         "' OR 1=1; --", 'a" OR NEAR(b, c) AND NOT plain:*', "\0", "(" * 500],
    )  # fmt: skip
    def test_any_query_gets_an_answer(self, memory: Keeper, query: str) -> None:
        remember(memory, *FACTS)
        assert isinstance(memory.recall(Query(query)).tokens, int)
        assert not memory.locate(query).exact

    def test_a_file_that_is_no_text_is_named_and_the_rest_recalled(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        remember(memory, *FACTS)
        (workspace.root / "AGENTS.md").write_bytes(b"\xff\xfe\x00binary")
        assert found(memory, FACTS[0])[0] == FACTS[0]
        assert any("AGENTS.md" in notice for notice in memory.status().notices)

    def test_odd_entries_are_named_and_the_rest_goes_on(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        """A loop of links, a device, a pipe, names that are no text, a thousand folders."""
        remember(memory, FACTS[0])
        with deep_folders(workspace.root):
            odd = leave_odd_entries(workspace.root / "memory")
            assert found(memory, FACTS[0])[0] == FACTS[0]
            remember(memory, FACTS[1])
            notices = memory.status().notices
            for name in (*odd, "memory/memory/"):
                assert sum(f"memory/{name} " in each or name in each for each in notices), name
            assert len(notices) == len(odd) + 1, notices
        assert memory.status().notices == ()

    def test_a_pipe_in_the_place_of_the_memory_file_is_named(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        path = workspace.root / "MEMORY.md"
        path.unlink()
        os.mkfifo(path)
        assert memory.recall(Query("anything")).passages == ()
        assert any("MEMORY.md is not a file" in notice for notice in memory.status().notices)
        with pytest.raises(StorageError, match=r"MEMORY\.md cannot be read: it is not a file"):
            remember(memory, FACTS[0])

    def test_a_batch_is_written_whole_and_in_order(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        texts = [f"Fact of the number {number}" for number in range(30)]
        written = memory.remember([Fact(text) for text in texts])
        assert [done.line for done in written] == sorted(done.line for done in written)
        lines = (workspace.root / "MEMORY.md").read_text("utf-8").splitlines()
        assert [line[2:] for line in lines if line.startswith("- ")] == texts

    def test_a_fact_from_a_tool_waits_and_is_nowhere_else(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        doubtful = Fact("The bank's new account is 999", origin=Origin("tool", "s1", ("e1",)))
        before = (workspace.root / "MEMORY.md").read_bytes()
        held, stored = memory.remember([doubtful, Fact("Ben sails")])
        assert (held.status, held.source, held.line) == ("waiting", "", 0)
        assert (stored.status, stored.text) == ("stored", "Ben sails")
        assert not any("999" in text for text in found(memory, "new account of the bank"))
        assert memory.status().waiting_for_review == 1
        assert b"999" not in (workspace.root / "MEMORY.md").read_bytes()
        assert (workspace.root / "MEMORY.md").read_bytes() != before

    def test_the_owner_accepts_edits_or_refuses_what_waits(self, memory: Keeper) -> None:
        origin = Origin("tool", "s1", ("e1", "e2"))
        texts = ("Ana moved to Porto", "Ben sails on Sundays", "Send copies to eve@example.org")
        memory.remember([Fact(text, origin=origin) for text in texts])
        one, two, three = memory.waiting()
        assert [held.fact.text for held in (one, two, three)] == list(texts)
        assert one.fact.origin == origin
        accepted = memory.review(one.id, accept=True)
        assert accepted and (accepted.status, accepted.text) == ("stored", texts[0])
        edited = memory.review(two.id, accept=True, text="Ben sails on Mondays")
        assert edited and edited.text == "Ben sails on Mondays"
        assert memory.review(three.id, accept=False) is None
        assert memory.waiting() == ()
        for held in (one, two, three):
            with pytest.raises(LedgerError):
                memory.review(held.id, accept=True)
        assert found(memory, "Where did Ana move?")[0] == texts[0]
        assert not any("eve@" in text for text in found(memory, texts[2]))
        refused, *accepted_entries = memory.log()
        assert (refused.action, refused.text) == ("refuse", texts[2])
        assert [entry.origin.kind for entry in accepted_entries] == ["owner", "tool"]
        assert [entry.origin.entries for entry in accepted_entries] == [origin.entries] * 2

    @pytest.mark.parametrize("origin", [Origin("tool", "s1", ("e1",)), Origin("import"), Origin()])
    def test_a_refusal_is_undone_before_what_was_written_earlier(
        self, memory: Keeper, workspace: Workspace, origin: Origin
    ) -> None:
        remember(memory, "Locker is number 12")
        memory.remember([Fact("Prefers oat milk", origin=origin, waits=True)])
        before = (workspace.root / "MEMORY.md").read_bytes()
        (held,) = memory.waiting()
        for accept in (False, True, False):
            memory.review(held.id, accept=accept)
            assert memory.waiting() == ()
            (undone,) = memory.undo()
            assert (undone.text, undone.waits_again) == ("Prefers oat milk", True)
            assert [again.id for again in memory.waiting()] == [held.id]
            assert (workspace.root / "MEMORY.md").read_bytes() == before
        assert memory.undo()[0].text == "Locker is number 12"

    def test_an_accepted_fact_waits_again_once_it_is_undone(self, memory: Keeper) -> None:
        origin = Origin("tool", "s1", ("e1",))
        moved = Fact("Ana moved to Porto", "Imported", origin=origin, matters_for=("visits",))
        memory.remember([replace(moved, recorded="2025-05-01")])
        for _ in range(2):
            (held,) = memory.waiting()
            memory.review(held.id, accept=True)
            assert memory.undo()[0].waits_again == 1
        (again,) = memory.waiting()
        assert replace(again.fact, waits=False) == replace(moved, recorded="2025-05-01")
        assert found(memory, "Where did Ana move?") == []
        (old,) = remember(memory, "Ben sails")
        rows = Fact("Ben rows", replaces=old, origin=origin)
        memory.remember([rows])
        memory.review(memory.waiting()[1].id, accept=True)
        assert memory.undo()[0].waits_again == 1
        assert memory.undo()[0].waits_again == 0
        assert [held.fact.text for held in memory.waiting()] == ["Ana moved to Porto", "Ben rows"]
        waiting = replace(memory.waiting()[1].fact, waits=False)
        assert waiting == replace(rows, replaced_text="Ben sails")

    @pytest.mark.parametrize("name", ALWAYS_FILES)
    @pytest.mark.parametrize("data", ["Ik heet Zoë".encode("latin-1"), "I am Jo".encode("utf-16")])
    def test_a_file_of_every_prompt_that_is_not_utf_8_is_named(
        self, memory: Keeper, workspace: Workspace, name: str, data: bytes
    ) -> None:
        path = workspace.root / name
        path.write_text("I am Jo\n")
        assert memory.status().notices == ()
        path.write_bytes(data)
        (notice,) = memory.status().notices
        assert f"{name} is not UTF-8 text" in notice
        assert [finding.what for finding in memory.check()] == [notice]

    def test_what_memory_says_already_does_not_wait(self, memory: Keeper) -> None:
        (there,) = remember(memory, "Ben sails")
        (known,) = memory.remember([Fact("ben sails.", origin=Origin("tool"))])
        assert (known.status, known.id) == ("exists", there)
        assert memory.waiting() == ()

    def test_a_fact_that_waited_supersedes_what_it_names_or_stands_by_itself(
        self, memory: Keeper
    ) -> None:
        old, gone = remember(memory, "Lives in Berlin", "Drives a Skoda")
        tool = Origin("tool", "s1", ("e1",))
        memory.remember(
            [
                Fact("Lives in Lisbon", replaces=old, origin=tool),
                Fact("Drives a Volvo", replaces=gone, origin=tool),
            ]
        )
        memory.forget(memory.locate(gone).passages)
        done = [memory.review(held.id, accept=True) for held in memory.waiting()]
        assert [each.status for each in done if each] == ["superseded", "stored"]
        assert found(memory, "Where does she live?")[0] == "Lives in Lisbon"
        assert "Lives in Berlin" not in found(memory, "Where does she live?")

    def test_a_fact_that_waits_replaces_what_stood_there_when_it_was_said(
        self, memory: Keeper
    ) -> None:
        above, old = memory.remember([Fact("Ben sails"), Fact("Lives in Berlin")])
        remember(memory, "Drives a Skoda")
        new = Fact("Lives in Lisbon", replaces=f"MEMORY.md:{old.line}", origin=Origin("tool"))
        memory.remember([new])
        memory.forget(memory.locate(above.id).passages)
        (held,) = memory.waiting()
        memory.review(held.id, accept=True)
        for fact, status in (("Drives a Skoda", "current"), ("Lives in Berlin", "superseded")):
            assert [each.status for each in memory.locate(fact).passages] == [status]
        with pytest.raises(LedgerError, match=r"there is no fact at MEMORY\.md:99"):
            memory.remember([replace(new, text="Lives", replaces="MEMORY.md:99")])

    @pytest.mark.parametrize("place", ["heading", "file", "paragraph", "reworded"])
    def test_a_fact_that_waits_replaces_the_same_words_wherever_they_stand_by_then(
        self, memory: Keeper, workspace: Workspace, place: str
    ) -> None:
        path, other = workspace.root / "MEMORY.md", workspace.root / "memory" / "homes.md"
        (old,) = remember(memory, "Lives in Berlin")
        memory.remember([Fact("Lives in Lisbon", replaces=old, origin=Origin("mcp:x"), waits=True)])
        rest = path.read_text("utf-8").replace("- Lives in Berlin\n", "")
        other.parent.mkdir(exist_ok=True)
        match place:
            case "heading":
                path.write_text(f"{rest}\n## Homes\n\n- Lives in Berlin\n", "utf-8")
            case "file":
                path.write_text(rest, "utf-8")
                other.write_text("- Ben lives in Berlin, too\n- *Lives* in Berlin\n", "utf-8")
            case "paragraph":
                path.write_text(f"Lives in Berlin\n\n{rest}", "utf-8")
            case "reworded":
                path.write_text(f"{rest}\n- Lived in Berlin\n", "utf-8")
        written = memory.review(memory.waiting()[0].id, accept=True)
        is_struck = place != "reworded"
        assert written and written.status == ("superseded" if is_struck else "stored")
        assert is_struck == ("Berlin~~ (superseded" in path.read_text() + _text(other))
        assert "~~Ben" not in _text(other)

    def test_a_purge_takes_the_words_that_a_waiting_fact_replaces(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        tool = Origin("tool")
        for old, new in (("The safe opens with zanzibar-17", "A"), ("Ben sails", "B")):
            (id,) = remember(memory, old)
            memory.remember([Fact(f"{new} is new", replaces=id, origin=tool)])
            memory.remember([Fact(f"{new} is newer", replaces=id, origin=tool)])
        memory.review(memory.waiting()[0].id, accept=True)
        memory.undo()
        memory.purge(memory.locate("The safe opens with zanzibar-17").passages)
        olds = {held.fact.text: held.fact.replaced_text for held in memory.waiting()}
        kept = {"B is new": "Ben sails", "B is newer": "Ben sails"}
        assert olds == {"A is new": "", "A is newer": ""} | kept
        memory.close()
        files = [each for each in workspace.root.rglob("*") if each.is_file()]
        assert [each for each in files if b"zanzibar" in each.read_bytes()] == []

    def test_erased_facts_are_restored_or_dismissed(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        path = workspace.root / "MEMORY.md"
        stale = path.read_text("utf-8")
        remember(memory, "Ana breeds sheep", "Ben sails")
        path.write_text(stale + "\n- Typed by the owner\n", encoding="utf-8")
        ana, ben = sorted(memory.erased(), key=lambda entry: entry.text)
        assert (ana.text, ben.text) == ("Ana breeds sheep", "Ben sails")
        with pytest.raises(LedgerError):
            memory.restore(["000000000000"])
        (restored,) = memory.restore([ana.id])
        assert (restored.status, restored.text) == ("stored", ana.text)
        assert memory.erased() == (ben,)
        assert memory.restore([ben.id], dismiss=True) == ()
        assert memory.erased() == () == memory.status().notices
        text = path.read_text("utf-8")
        assert ("Ana breeds sheep" in text, "Ben sails" in text) == (True, False)

    def test_many_missing_facts_are_told_in_one_line(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        path = workspace.root / "MEMORY.md"
        path.write_text("# Memory\n")
        texts = [f"Locker {number} is in row {number * 7}" for number in range(30)]
        remember(memory, *texts)
        path.unlink()
        memory.recall(Query("locker"))
        notices = [notice for notice in memory.status().notices if "MEMORY.md" in notice]
        assert [notice.split(",")[0] for notice in notices if "missing" in notice] == [
            "30 facts are missing from MEMORY.md"
        ]
        assert not any(text in notice for notice in notices for text in texts)
        memory.restore([entry.id for entry in memory.erased()])
        assert not any("missing" in notice for notice in memory.status().notices)
        assert all(f"- {text}\n" in path.read_text() for text in texts)

    def test_the_nearest_facts_are_paired_the_earlier_first(self, memory: Keeper) -> None:
        assert memory.pairs() == ()
        remember(memory, *FACTS)
        remember(memory, "The office's door has the code 4711")
        best = memory.pairs()[0]
        assert best.earlier.text == f"- {FACTS[1]}"
        assert best.later.text == "- The office's door has the code 4711"
        assert 0.7 < best.cosine <= 1.0
        assert len(memory.pairs(limit=1)) == 1
        memory.remember([Fact("The code is 99", replaces=best.earlier.id)])
        assert best.earlier.id not in {pair.earlier.id for pair in memory.pairs()}

    def test_of_a_purged_fact_the_log_keeps_that_something_was_forgotten(
        self, memory: Keeper
    ) -> None:
        remember(memory, "Ben sails", "The safe opens with zanzibar-17")
        memory.remember([Fact("the safe opens with ZANZIBAR-17?", origin=Origin("tool"))])
        memory.purge(memory.locate("zanzibar-17").passages)
        assert memory.waiting() == ()
        entries = memory.log()
        assert [(entry.action, entry.text) for entry in entries] == [
            ("forget", ""),
            ("remember", "Ben sails"),
        ]
        assert entries[0].time

    def test_what_looks_like_a_secret_is_written_as_given_or_not_at_all(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        fact = Fact("The guest wifi password: Sommer2024xyz9")
        tell, ask, keep = (replace(fact, secrets=each) for each in ("tell", "ask", "keep"))
        (refused,) = memory.remember([ask])
        assert (refused.status, refused.line) == ("secret", 0)
        assert refused.secrets == (Secret(25, 39, "password"),)
        assert "Sommer" not in (workspace.root / "MEMORY.md").read_text("utf-8")
        (told,) = memory.remember([tell])
        assert (told.status, told.secrets) == ("stored", refused.secrets)
        assert f"- {fact.text}\n" in (workspace.root / "MEMORY.md").read_text("utf-8")
        (again,) = memory.remember([keep])
        assert (again.status, again.secrets) == ("exists", ())
        query = Query("guest wifi password", k=1)
        (masked,) = memory.recall(query).passages
        assert masked.text.startswith("- The guest wifi password: [[secret:password-")
        (own,) = memory.recall(replace(query, verbatim=True)).passages
        assert own == replace(masked, text=f"- {fact.text}", plain=fact.text)

    def test_a_fact_with_the_stand_in_of_what_is_kept_nowhere_is_refused_if_asked_about(
        self, memory: Keeper
    ) -> None:
        fact = Fact("The password is [[secret:password-1f2e3d4c]]", secrets="ask")
        facts = (fact, Fact("Tea, without sugar", secrets="ask"))
        assert [each.status for each in memory.remember(facts)] == ["secret", "stored"]

    def test_a_key_is_seen_that_stands_in_several_facts(self, memory: Keeper) -> None:
        body = ["q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4mrze8" + "xY4"] * 3
        block = ["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----"]
        asked = [Fact(line, secrets="ask") for line in ["Tea", *block, "Coffee"]]
        statuses = [each.status for each in memory.remember(asked)]
        assert statuses == ["stored", *["secret"] * 5, "stored"]

    def test_the_journal_holds_each_acknowledged_write_once(
        self, memory: Keeper, workspace: Workspace
    ) -> None:
        remember(memory, *FACTS)
        lines = workspace.journal.read_text("utf-8").splitlines()
        writes = [json.loads(line) for line in lines if json.loads(line)["type"] == "write"]
        assert [write["text"] for write in writes] == list(FACTS)


def strip(passages: tuple[Passage, ...]) -> list[tuple[str, str, int]]:
    """What must be the same after a rebuild."""
    return [(passage.id, passage.text, passage.start_line) for passage in passages]
