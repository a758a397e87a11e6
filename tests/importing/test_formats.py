"""What each maker's export holds, as it is found."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from assistant.errors import ImportFailure
from assistant.importing import package
from assistant.importing.formats import Export
from assistant.importing.items import (
    Document,
    ExportedConversation,
    ExportedFact,
    Item,
    Problem,
    Skipped,
)
from assistant.importing.package import Package
from tests.importing.exports import chatgpt, claude, folder, node, simple, zipped

HIDDEN = {"is_visually_hidden_from_conversation": True}


def found(path: Path) -> list[Item]:
    return list(Export(Package(path)).items())


def said(item: Item) -> list[str]:
    assert isinstance(item, ExportedConversation)
    return [each.text for each in item.messages]


def facts(items: list[Item]) -> list[str]:
    return [each.text for each in items if isinstance(each, ExportedFact)]


def test_of_a_folder_no_link_leads_out_and_nothing_hidden_comes_along(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (tmp_path / "outside.md").write_text("Not meant\n")
    (notes / "own.md").write_text("Mine\n")
    (notes / ".hidden.md").write_text("Hidden\n")
    (notes / "same.md").symlink_to("own.md")
    (notes / "loop.md").symlink_to("loop.md")
    (notes / "out.md").symlink_to("../outside.md")
    (notes / "folder").symlink_to(tmp_path)
    outside_links = "it is a link that leads out of the folder"
    assert found(notes) == [
        Problem("folder", outside_links),
        Problem("out.md", outside_links),
        Document("own.md", "Mine\n"),
        Document("same.md", "Mine\n"),
    ]


def test_of_chatgpt_the_branch_that_is_shown_and_what_was_saved(tmp_path: Path) -> None:
    tree = chatgpt(
        "boats",
        node("a", "root", "user", "Which boat?"),
        node("b1", "a", "assistant", "A sloop, dropped."),
        node("b2", "a", "assistant", "A ketch\ue200cite\ue202turn0\ue201."),
        node("t", "b2", "tool", "search results"),
        node("h", "t", "assistant", "hidden", metadata=HIDDEN),
        node("m", "h", "assistant", "Owner has a dog item_id Rex", recipient="bio"),
        node("x", "m", "assistant", {"content_type": "thoughts"}),
        node("c", "x", "user", {"content_type": "multimodal_text", "parts": [
            {"content_type": "image_asset_pointer"}, {"content_type": "audio_transcription",
                                                     "text": "Sails?"}]}),
        node("d", "c", "assistant", {"content_type": "model_editable_context",
             "model_set_context": "1. [2026-01-15]. Lives in Porto\n2. [2026-02-01]. Plays\nGo"}),
        node("e", "d", "assistant", "Two.", create_time=None),
    )  # fmt: skip
    tree |= {"title": None, "create_time": None}
    no_current = simple("late", "One", "Two") | {"current_node": None}
    private = simple("private", "Nothing of this") | {"is_do_not_remember": True}
    path = zipped(
        tmp_path / "export.zip",
        {
            "conversations-000.json": [tree, {"mapping": None}, no_current],
            "conversations-001.json": [private, chatgpt("empty")],
            "user.json": {"email": "a@b.c"},
        },
    )
    items = found(path)
    boats, late = (each for each in items if isinstance(each, ExportedConversation))
    assert said(boats) == ["Which boat?", "A ketch.", "[image]\nSails?", "Two."]
    assert (boats.id, boats.title, boats.time[:10]) == ("boats", "", "2023-11-14")
    assert said(late) == ["One", "Two"]
    assert [each for each in items if isinstance(each, ExportedFact)] == [
        ExportedFact("Owner has a dog item_id Rex", "2023-11-14"),
        ExportedFact("Lives in Porto", "2026-01-15"),
        ExportedFact("Plays Go", "2026-02-01"),
    ]
    (problem,) = (each for each in items if isinstance(each, Problem))
    assert problem.where == "conversations-000.json, item 2" and not problem.cut
    assert [each.why for each in items if isinstance(each, Skipped)] == [
        "marked “do not remember”",
        "nothing said",
    ]


def test_what_is_null_or_bare_text_costs_no_conversation(tmp_path: Path) -> None:
    tree = chatgpt("a", node("u", "root", "user", "One"), node("v", "u", "assistant", "Two"))
    tree["mapping"]["u"]["message"]["content"] = "One"
    tree["mapping"]["v"]["message"]["content"] = {"content_type": "text", "parts": "Two"}
    tree["mapping"]["w"] = None
    talk = claude("b", "One", "Two")
    talk["chat_messages"] = [None, *talk["chat_messages"]]
    talk["chat_messages"][1] |= {"content": "One", "text": None}
    for each in (tree, talk):
        (item,) = found(zipped(tmp_path / "1.zip", {"conversations.json": [each]}))
        assert said(item) == ["One", "Two"]


def test_of_claude_conversations_trees_memories_and_projects(tmp_path: Path) -> None:
    tree = claude("tree", "Q", "A1", "A2", current_leaf_message_uuid="m1")
    for message, parent in zip(tree["chat_messages"], ["-", "m0", "m0"], strict=True):
        message["parent_message_uuid"] = parent
    memories = [{"conversations_memory": "**Work**\n\nBuilds boats.\n\n- Sails on Sundays\n",
                 "project_memories": {"p": "The hull is oak."}}]  # fmt: skip
    project = {
        "uuid": "p",
        "name": "Hull",
        "description": "Oak  hull",
        "prompt_template": "Be brief",
        "docs": [{}, {"filename": "Keel.md", "content": "Oak"}],
    }
    whole = tmp_path / "batch"
    whole.mkdir()
    zipped(whole / "conversations-000.zip", {"conversations.json": [claude("a", "Hi", "Ho"), tree]})
    zipped(whole / "memories-000.zip", {"memories/x.json": memories[0]})
    zipped(whole / "projects-000.zip", {"projects/p.json": project})
    zipped(whole / "light_metadata-000.zip", {"users.json": [{"memory": "mail address"}]})
    (whole / "manifest-1.json").write_text('{"data_files": []}')
    older = {"conversations.json": [claude("a", "Hi", "Ho"), tree], "memories.json": memories,
             "projects.json": [project]}  # fmt: skip
    for path in (whole, zipped(tmp_path / "old.zip", older)):
        items = found(path)
        talk = [each for each in items if isinstance(each, ExportedConversation)]
        assert [said(each) for each in talk] == [["Hi", "Ho"], ["Q", "A1"]]
        assert [each for each in items if isinstance(each, Document)] == [
            Document("Hull/Keel.md", "Oak")
        ]
        assert sorted(facts(items)) == [
            "Builds boats.",
            "Hull: Oak hull",
            "Sails on Sundays",
            "The hull is oak.",
        ]


@pytest.mark.parametrize(
    ("kind", "files", "told"),
    [
        (
            "OpenClaw",
            {
                "workspace/SOUL.md": "Be kind.",
                "workspace/MEMORY.md": "# M\n\n- Has a cat\n- ~~Old~~\n",
                "workspace/memory/2026-01-02.md": "- Bought oars\n",
                "agents/main/sessions/s1.jsonl": '{"type":"session","id":"s1","timestamp":'
                '"2026-01-02T10:00:00Z"}\n{"type":"message","message":{"role":"user","content":'
                '[{"type":"text","text":"Ahoy"}]}}\nbroken\n',
            },
            ["Has a cat", "Bought oars"],
        ),
        ("OpenClaw", {"openclaw.json": "{}", "workspace/MEMORY.md": "- Sails\n"}, ["Sails"]),
        (
            "memsearch",
            {
                ".memsearch/memory/2026-01-02.md": "## Session 10:00\n\n### 10:01\n"
                "<!-- session:a turn:b -->\n- Chose Postgres\n"
            },
            ["Chose Postgres"],
        ),
        (
            "Claude Code",
            {
                "projects/-home-me/memory/MEMORY.md": "- [Tests](tests.md) — how they run\n",
                "projects/-home-me/memory/tests.md": "---\nname: tests\n---\nRun them with nox.\n",
                "CLAUDE.md": "- an instruction\n",
            },
            ["Run them with nox."],
        ),
        ("Codex", {"MEMORY.md": "- Uses uv\n", "memory_summary.md": "- Uses uv, mostly\n"},
         ["Uses uv", "Uses uv, mostly"]),
    ],
)  # fmt: skip
def test_what_other_programs_noted_is_facts(
    tmp_path: Path, kind: str, files: dict[str, str], told: list[str]
) -> None:
    export = Export(Package(folder(tmp_path / "there", files)))
    items = list(export.items())
    assert export.kind == kind
    assert facts(items) == told
    if any(name.endswith(".jsonl") for name in files):
        assert [said(each) for each in items if isinstance(each, ExportedConversation)] == [
            ["Ahoy"]
        ]
        assert any(isinstance(each, Problem) for each in items)


def test_a_folder_of_openclaw_is_told_by_its_path(tmp_path: Path) -> None:
    there = folder(tmp_path / ".openclaw/workspace", {"MEMORY.md": "- Sails\n", "USER.md": "- Kai"})
    export = Export(Package(there))
    assert (export.kind, facts(export.items())) == ("OpenClaw", ["Sails", "Kai"])


def test_a_text_is_a_note_by_itself_or_in_a_folder(tmp_path: Path) -> None:
    notes = folder(tmp_path / "notes", {"Porto.txt": "In May\n"})
    assert found(notes / "Porto.txt") == found(notes) == [Document("Porto.txt", "In May\n")]
    (notes / "budget.xlsx").write_bytes(b"PK")
    (notes / "core").write_bytes(b"\x7fELF\0")
    texts = {"b.org": "* Org\n", "d.rst": "Rst\n", "noext": "Plain\n", "c.html": "<p>Page</p>"}
    folder(notes, texts)
    (notes / "windows.txt").write_text("Käse\n", "utf-16")
    assert found(notes) == [
        *(Skipped("files that are neither markdown nor text", n) for n in ("budget.xlsx", "core")),
        Document("Porto.txt", "In May\n"),
        Document("b.org", "* Org\n"),
        Document("c.html", "Page"),
        Document("d.rst", "Rst\n"),
        Document("noext", "Plain\n"),
        Document("windows.txt", "Käse\n"),
    ]


def test_of_mem0_and_of_a_folder_of_markdown(tmp_path: Path) -> None:
    results = {"results": [{"id": "1", "memory": "Likes tea", "hash": "x"}, {"id": "2"}]}
    (tmp_path / "mem0.json").write_text(json.dumps(results))
    items = found(tmp_path / "mem0.json")
    assert facts(items) == ["Likes tea"] and isinstance(items[1], Problem)
    notes = {"A.md": "a\n", "B/C.md": "c\n", "A.sync-conflict-20260101-120000-AAAAAAA.md": "x"}
    assert [
        each for each in found(folder(tmp_path / "notes", notes)) if isinstance(each, Document)
    ] == [
        Document("A.md", "a\n"),
        Document("B/C.md", "c\n"),
    ]


def test_what_breaks_off_gives_what_came_before(tmp_path: Path) -> None:
    whole = json.dumps([simple("a", "One"), simple("b", "Two"), simple("c", "Three")])
    (tmp_path / "conversations.json").write_text(whole[: whole.index("Three")])
    *items, problem = found(tmp_path / "conversations.json")
    assert [said(each) for each in items] == [["One"], ["Two"]]
    assert isinstance(problem, Problem) and problem.cut and "after 2 items" in problem.why


DAMAGE = {
    "a quote lost": ('"KEEL', "KEEL"),
    "a quote more": ("KEEL", 'KE"EL'),
    "a last quote lost": ('"About 3"', '"About 3'),
    "a brace lost": ('}}, "current', '}, "current'),
    "a brace more": ('}}, "current', '}}}, "current'),
    "a colon lost": ('"parts":', '"parts"'),
    "a comma lost": ('"current_node"', '"a" "current_node"'),
    "an escape": ("KEEL", "\\x41"),
}


@pytest.mark.parametrize("piece", [40, 1 << 20])
@pytest.mark.parametrize("damage", DAMAGE)
def test_an_item_that_is_damaged_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str, piece: int
) -> None:
    monkeypatch.setattr(package, "PIECE", piece)
    talks = [json.dumps(simple(str(n), "KEEL {", 'and {"mapping": 1}')) for n in range(8)]
    talks[3] = talks[3].replace(*DAMAGE[damage])
    (tmp_path / "conversations.json").write_text(f"[{', '.join(talks)}]")
    items = found(tmp_path / "conversations.json")
    kept = [each.id for each in items if isinstance(each, ExportedConversation)]
    assert {*kept} >= {*"01256", "7"} - ({"4"} if damage == "a last quote lost" else set())
    problems = [each for each in items if isinstance(each, Problem)]
    assert problems[0].where.startswith("conversations.json, item")
    assert damage != "a colon lost" or problems[0].why == "Expecting ':' delimiter"
    assert not any(problem.cut for problem in problems)


def test_bad_bytes_and_control_characters_cost_nothing(tmp_path: Path) -> None:
    talks = [json.dumps(simple(str(n), "MARK")).encode() for n in range(10)]
    talks[3] = talks[3].replace(b"MARK", b"\xffKeel")
    talks[5] = talks[5].replace(b"MARK", b"Mast\x01\n")
    (tmp_path / "conversations.json").write_bytes(b"[" + b",".join(talks) + b"]")
    items = found(tmp_path / "conversations.json")
    talked = [said(each)[0] for each in items if isinstance(each, ExportedConversation)]
    assert (len(talked), talked[3], talked[5]) == (10, "\ufffdKeel", "Mast\x01")
    (problem,) = (each for each in items if isinstance(each, Problem))
    assert problem.where == "conversations.json, item 4, 'About 3'" and "UTF-8" in problem.why


def test_a_byte_order_mark_is_no_damage(tmp_path: Path) -> None:
    for encoding in ("utf-16", "utf-16-be"):
        bom = "\ufeff" if encoding == "utf-16-be" else ""
        text = bom + json.dumps([simple("a", "Käse \U0001f600")], ensure_ascii=False)
        (tmp_path / "conversations.json").write_text(text, encoding)
        assert [said(each) for each in found(tmp_path / "conversations.json")] == [
            ["Käse \U0001f600"]
        ]
    told = b"\xef\xbb\xbf" + json.dumps([simple("a", "One")]).encode()
    (tmp_path / "conversations.json").write_bytes(told)
    (tmp_path / "zipped.zip").write_bytes(b"")
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", told)
    for path in ("conversations.json", "zipped.zip"):
        assert [said(each) for each in found(tmp_path / path)] == [["One"]]


def test_what_is_nested_without_end_takes_no_more_memory_than_there_is(tmp_path: Path) -> None:
    deep = tmp_path / "conversations.json"
    deep.write_text(f'[{{"mapping":{"[" * 100_000}{"]" * 100_000}}}]')
    (problem,) = found(deep)
    assert isinstance(problem, Problem) and problem.cut and "nested too deep" in problem.why


def damaged(path: Path, member: str) -> None:
    """Change some bytes of a member of a zip."""
    data = bytearray(path.read_bytes())
    begin = zipfile.ZipFile(path).getinfo(member).header_offset + 30 + len(member)
    data[begin : begin + 4] = bytes(each ^ 0xFF for each in data[begin : begin + 4])
    path.write_bytes(data)


def test_a_damaged_file_stops_no_other(tmp_path: Path) -> None:
    notes = folder(tmp_path / "notes", {"own.md": "Mine\n"})
    (notes / "cut.zip").write_bytes(b"PK\x03\x04 no more of it")
    cut, own = found(notes)
    assert own == Document("own.md", "Mine\n")
    assert isinstance(cut, Problem) and cut.where == "cut.zip" and "not a zip" in cut.why

    packed = zipped(tmp_path / "notes.zip", {"a.md": b"A " * 99, "b.md": b"B\n"})
    damaged(packed, "a.md")
    bad, b = found(packed)
    assert b == Document("b.md", "B\n")
    assert isinstance(bad, Problem) and bad.where == "a.md" and "is damaged" in bad.why

    chats = {f"{name}.json": [simple(name, "One")] for name in "ab"}
    packed = zipped(tmp_path / "chats.zip", chats)
    damaged(packed, "a.json")
    bad, b = found(packed)
    assert said(b) == ["One"]
    assert isinstance(bad, Problem) and bad.where == "a.json" and "is damaged" in bad.why


def test_an_archive_that_is_not_sound_is_refused(tmp_path: Path) -> None:
    good = zipped(tmp_path / "good.zip", {"conversations.json": [simple("a", "One")]})
    cut = tmp_path / "cut.zip"
    cut.write_bytes(good.read_bytes()[:-40])
    escaping = zipped(tmp_path / "up.zip", {"../../evil.json": []})
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b" " * (80 << 20))
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8")
    os.mkfifo(tmp_path / "pipe")
    for path, why in (
        (cut, "truncated, or not a zip"),
        (escaping, "leads out of it"),
        (bomb, "a zip bomb"),
        (tmp_path / "photo.jpg", "not a recognised export"),
        (tmp_path / "nowhere", "nothing at"),
        (tmp_path / "pipe", "is not a file"),
    ):
        with pytest.raises(ImportFailure, match=why):
            found(path)


@pytest.mark.parametrize("lone", [r"\ud83d", r"\ude00", r"\ud83d\ud83d", r"\ud83d\u0041"])
def test_half_a_character_stops_nothing(tmp_path: Path, lone: str) -> None:
    """A parser that stops there would call the rest of the export cut off."""
    said = [simple(str(n), "Which keel?", "MARK \U0001f600 \\\\ud83d") for n in range(10)]
    text = json.dumps(said)
    path = tmp_path / "conversations.json"
    for marks in (lone, lone * 30_000):
        path.write_text(text.replace("MARK", marks))
        found = list(Export(Package(path)).items())
        conversations = [each for each in found if isinstance(each, ExportedConversation)]
        assert len(conversations) == len(found) == 10
        for each in conversations:
            answer = each.messages[1].text
            assert answer.startswith("\ufffd") and answer.endswith("\U0001f600 \\\\ud83d")
            answer.encode()


def test_an_item_that_ends_in_the_next_piece_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package, "PIECE", 20)
    text = json.dumps({"conversations": [simple(str(n), f"\U0001f600 {n}") for n in range(3)]})
    for written in (text, text.encode().decode("unicode_escape", "surrogatepass")):
        (tmp_path / "conversations.json").write_text(written, "utf-8", "surrogatepass")
        items = found(tmp_path / "conversations.json")
        assert [said(each)[0][-1] for each in items] == ["0", "1", "2"]
