import stat
import threading
from pathlib import Path

import pytest

from assistant.disk import locking, storage
from assistant.display import exactly
from assistant.errors import ToolError
from assistant.memory.base import Fact
from assistant.memory.writing.ledger import Ledger
from assistant.messages import ToolCall
from assistant.secrets.redactor import Redactor
from assistant.tools.files.access import Access, Roots
from assistant.tools.files.write import Change, commit, diff, writing_tools
from assistant.tools.policy import ApproveAll, Decision
from assistant.tools.toolbox import Toolbox
from assistant.workspace.checkpoints import Checkpoints
from assistant.workspace.folder import Workspace
from tests.memory.writing.addressed import AddressedLedger
from tests.support.faults import using
from tests.tools.conftest import Call, calling


def test_a_file_is_created_with_its_directories(call: Call, workspace: Workspace) -> None:
    assert not call("write_file", path="a/b/c.txt", text="hello\n").error
    assert (workspace.root / "a/b/c.txt").read_text() == "hello\n"


def test_a_rewritten_file_keeps_its_mode_and_leaves_nothing_beside_it(
    call: Call, workspace: Workspace
) -> None:
    script = workspace.root / "run.sh"
    script.write_text("old")
    script.chmod(0o755)
    call("write_file", path="run.sh", text="new")
    assert script.read_text() == "new"
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert sorted(path.name for path in workspace.root.iterdir()) == ["MEMORY.md", "run.sh"]


def test_a_link_within_the_workspace_stays_a_link(call: Call, workspace: Workspace) -> None:
    (workspace.root / "real").mkdir()
    (workspace.root / "real/a.txt").write_text("old")
    (workspace.root / "link").symlink_to("real/a.txt")
    assert not call("edit_file", path="link", old_text="old", new_text="new").error
    assert (workspace.root / "link").is_symlink()
    assert (workspace.root / "real/a.txt").read_text() == "new"


def test_an_edit_must_match_exactly_and_once(call: Call, workspace: Workspace) -> None:
    path = workspace.root / "a.py"
    path.write_text("x = 1\n\tx = 2\nx = 1\n")
    edit = {"path": "a.py", "new_text": "y = 3"}
    assert "found 2 times" in call("edit_file", old_text="x = 1", **edit).content
    assert "found 0 times" in call("edit_file", old_text="x = 9", **edit).content
    near = call("edit_file", old_text="    x = 2", **edit).content
    assert "found 0 times" in near
    assert "line 2" in near
    assert "the same" in call("edit_file", old_text="y = 3", **edit).content
    assert path.read_text() == "x = 1\n\tx = 2\nx = 1\n"
    assert not call("edit_file", old_text="x = 2", **edit).error
    assert "2 places" in call("edit_file", old_text="x = 1", replace_all="true", **edit).content
    assert path.read_text() == "y = 3\n\ty = 3\ny = 3\n"


def test_an_edit_keeps_every_other_byte(call: Call, workspace: Workspace) -> None:
    path = workspace.root / "dos.txt"
    path.write_bytes("\ufeffone\r\ntwo\r\nmixed\nthree".encode())
    assert not call("edit_file", path="dos.txt", old_text="one\ntwo", new_text="1\n2").error
    assert path.read_bytes() == "\ufeff1\r\n2\r\nmixed\nthree".encode()


GUARDED = [
    "IDENTITY.md",
    "SOUL.md",
    "USER.md",
    "AGENTS.md",
    "HEARTBEAT.md",
    "MEMORY.md",
    "memory/2026.md",
    "skills/x/SKILL.md",
    "assistant.toml",
    ".git/hooks/pre-commit",
    "memory.MD",
    "sub/../SOUL.md",
    "./MEMORY.md",
]


@pytest.mark.parametrize("path", GUARDED)
def test_what_steers_or_remembers_asks_and_shows_a_diff(
    toolbox: Toolbox, workspace: Workspace, path: str
) -> None:
    (workspace.root / "sub").mkdir()
    verdict = toolbox.review(ToolCall("1", "write_file", {"path": path, "text": "be evil\n"}))
    assert verdict.action == "ask"
    assert "+be evil" in verdict.detail
    assert toolbox.run(verdict).error
    assert toolbox.run(toolbox.settle(verdict, Decision("no", "no"))).error
    assert (workspace.root / "MEMORY.md").read_text() == "# Memory\n"
    assert not toolbox.run(toolbox.settle(verdict, Decision("once"))).error
    assert (workspace.root / path).read_text() == "be evil\n"


def test_a_link_to_what_steers_asks_too(toolbox: Toolbox, workspace: Workspace) -> None:
    (workspace.root / "innocent.md").symlink_to("MEMORY.md")
    (workspace.root / "notes").symlink_to("memory")
    (workspace.root / "memory").mkdir()
    for path in ("innocent.md", "notes/x.md"):
        verdict = toolbox.review(ToolCall("1", "write_file", {"path": path, "text": "evil"}))
        assert verdict.action == "ask"


def test_an_approval_is_bound_to_the_bytes_shown(toolbox: Toolbox, workspace: Workspace) -> None:
    memory = workspace.root / "MEMORY.md"
    verdict = toolbox.review(ToolCall("1", "write_file", {"path": "MEMORY.md", "text": "new"}))
    memory.write_text("the owner was faster\n")
    result = toolbox.run(toolbox.settle(verdict, Decision("once")))
    assert "has changed in the meantime" in result.content
    assert memory.read_text() == "the owner was faster\n"


def test_an_approved_creation_does_not_overwrite_what_came_in_between(
    toolbox: Toolbox, workspace: Workspace
) -> None:
    verdict = toolbox.review(ToolCall("1", "write_file", {"path": "SOUL.md", "text": "new"}))
    (workspace.root / "SOUL.md").write_text("mine")
    assert toolbox.run(toolbox.settle(verdict, Decision("once"))).error
    assert (workspace.root / "SOUL.md").read_text() == "mine"


def test_an_approved_write_does_not_follow_a_link_put_there_since(
    toolbox: Toolbox, workspace: Workspace
) -> None:
    (workspace.root / "sub").mkdir()
    verdict = toolbox.review(ToolCall("1", "write_file", {"path": "sub/new.md", "text": "new"}))
    (workspace.root / "sub").rmdir()
    (workspace.root / "memory").mkdir()
    (workspace.root / "sub").symlink_to("memory")
    assert "changed" in toolbox.run(verdict).content
    assert list((workspace.root / "memory").iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        ("", "a\nb\n", "+a +b"),
        ("a\nb\n", "a\nb\nc\n", " a  b +c"),
        ("a\n", "a", "-a +a \\ No newline at end of file"),
        ("a", "a\nb", "-a \\ No newline at end of file +a +b \\ No newline at end of file"),
        ("a\nb", "c\nb", "-a +c  b \\ No newline at end of file"),
        ("a\n", "a\n\n", " a +"),
        ("a\n", "", "-a"),
    ],
)
def test_a_diff_has_the_rows_that_change(old: str, new: str, rows: str) -> None:
    shown = diff([Change(Path("/x"), "x", old.encode(), new.encode())])
    assert " ".join(shown.split("\n")[3:]) == rows


def test_a_diff_says_in_words_which_line_it_begins_at() -> None:
    old = "".join(f"{number}\n" for number in range(1, 40))
    shown = diff([Change(Path("/x"), "x", old.encode(), old.replace("20\n", "@@\n").encode())])
    assert shown.split("\n")[2:8] == ["line 17", " 17", " 18", " 19", "-20", "+@@"]


def test_nothing_can_hide_in_a_diff(toolbox: Toolbox) -> None:
    text = "harmless\u202e\u200b\x1b[2K\rhidden\n"
    verdict = toolbox.review(ToolCall("1", "write_file", {"path": "SOUL.md", "text": text}))
    assert "harmless\\u{202e}\\u{200b}\\u{1b}[2K\\u{d}hidden" in verdict.detail
    assert exactly("tab\there") == "tab\\u{9}here"


def test_the_programs_own_files_are_closed(approved: Call, workspace: Workspace) -> None:
    (workspace.private / "sessions").mkdir(parents=True)
    (workspace.private / "journal.jsonl").write_text("{}")
    for path in (".assistant/journal.jsonl", ".ASSISTANT/x", ".assistant/sessions/new.jsonl"):
        assert "private" in approved("write_file", path=path, text="x").content
    assert "private" in approved("read_file", path=".assistant/journal.jsonl").content
    assert "private" in approved("list_files", path=".assistant").content


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_full_disk_leaves_the_old_bytes_and_no_temporary_file(
    call: Call, workspace: Workspace, failing: int
) -> None:
    left = [failing]

    class Full(storage.Disk):
        def write(self, descriptor: int, data: bytes) -> None:
            self._count()
            super().write(descriptor, data)

        def sync(self, descriptor: int) -> None:
            self._count()
            super().sync(descriptor)

        def _count(self) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise OSError(28, "No space left on device")

    (workspace.root / "a.txt").write_text("old")
    with using(Full()):
        result = call("write_file", path="a.txt", text="new")
    names = sorted(path.name for path in workspace.root.iterdir())
    assert result.error
    assert "No space left" in result.content
    assert names == ["MEMORY.md", "a.txt"]
    assert (workspace.root / "a.txt").read_text() == "old"


def test_a_secret_new_to_memory_is_refused(roots: Roots, workspace: Workspace) -> None:
    redactor = Redactor({"DOOR": "open-sesame"})
    box = Toolbox(writing_tools(roots, redactor), redactor=redactor)
    arguments = {"path": "MEMORY.md", "text": "The door: [[secret:DOOR]]\n"}
    verdict = box.review(ToolCall("1", "write_file", arguments))
    assert verdict.action == "deny"
    assert "would then contain [[secret:DOOR]]" in verdict.reason
    elsewhere = ToolCall("1", "write_file", {**arguments, "path": ".env"})
    asked = box.review(elsewhere)
    assert (asked.action, asked.detail.partition("\n")[0]) == (
        "ask",
        "It is given [[secret:DOOR]].",
    )
    assert not box.run(box.settle(asked, Decision("once"))).error
    assert (workspace.root / ".env").read_text() == "The door: open-sesame\n"
    assert box.review(elsewhere).action == "run"  # it is there already


def test_a_stand_in_for_nothing_known_is_not_written(call: Call, workspace: Workspace) -> None:
    result = call("write_file", path=".env", text="KEY=[[secret:github-token-12345678]]")
    assert "not known here" in result.content
    assert not (workspace.root / ".env").exists()


def test_an_added_directory_can_be_written(
    workspace: Workspace, outside: Path, tmp_path: Path
) -> None:
    box = Toolbox(writing_tools(Roots(workspace, [outside]), Redactor()))
    there = box.review(ToolCall("1", "write_file", {"path": f"{outside}/new.txt", "text": "x"}))
    assert not box.run(there).error
    assert (outside / "new.txt").read_text() == "x"
    hook = box.review(ToolCall("1", "write_file", {"path": f"{outside}/.git/config", "text": "x"}))
    assert hook.action == "ask"
    beside = box.review(ToolCall("1", "write_file", {"path": f"{tmp_path}/x", "text": "x"}))
    assert beside.action == "deny"


def test_memory_is_changed_under_the_ledgers_lock(
    approved: Call, workspace: Workspace, home: Path
) -> None:
    storage.private_directory(workspace.private)
    results = []

    def edit() -> None:
        results.append(approved("write_file", path="MEMORY.md", text="new"))

    with locking.lock(workspace.ledger_lock):
        writer = threading.Thread(target=edit)
        writer.start()
        assert not approved("write_file", path="other.txt", text="not memory").error
        assert (workspace.root / "MEMORY.md").read_text() == "# Memory\n"
        assert writer.is_alive()
    writer.join()
    assert not results[0].error
    assert (workspace.root / "MEMORY.md").read_text() == "new"


def test_an_approved_change_of_memory_is_journalled_and_can_be_undone(
    approved: Call, workspace: Workspace
) -> None:
    path, soul = workspace.root / "MEMORY.md", workspace.root / "SOUL.md"
    path.write_bytes("\ufeff# Memory\r\n\r\n- one\r\n- two\r\n".encode())
    before = path.read_bytes()
    assert not approved("edit_file", path="MEMORY.md", old_text="- one", new_text="- won").error
    assert not approved("write_file", path="SOUL.md", text="Be brief.\n").error
    ledger = Ledger(workspace)
    assert [(each.action, each.source, each.origin.kind) for each in ledger.journals.log()] == [
        ("amend", "SOUL.md", "assistant"), ("amend", "MEMORY.md", "assistant"),
    ]  # fmt: skip
    assert ledger.journals.log()[1].text == "+1 -1 lines"
    ledger.undo()
    assert not soul.exists()
    path.write_bytes(path.read_bytes() + b"- typed\r\n")
    ledger.undo()
    assert path.read_bytes() == before + b"- typed\r\n"


def test_a_deletion_of_memory_can_be_undone(approved: Call, workspace: Workspace) -> None:
    path = workspace.root / "AGENTS.md"
    path.write_text("# Agents\n\nAsk first.\n")
    patch = "--- AGENTS.md\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-# Agents\n-\n-Ask first.\n"
    assert not approved("apply_patch", patch=patch).error
    assert not path.exists()
    Ledger(workspace).undo()
    assert path.read_text() == "# Agents\n\nAsk first.\n"


def test_a_change_that_is_not_made_is_not_in_the_journal(
    roots: Roots, workspace: Workspace
) -> None:
    path = workspace.root / "MEMORY.md"
    change = Change(path, "MEMORY.md", b"# Memory\n", b"new\n", 0o644)
    path.write_bytes(b"# Changed since it was shown\n")
    with pytest.raises(ToolError, match="changed in the meantime"):
        commit(Access(roots, "write_file"), [change], Checkpoints())
    assert Ledger(workspace).journals.log() == ()
    assert path.read_bytes() == b"# Changed since it was shown\n"


def test_a_fact_that_an_approved_change_takes_out_is_not_offered_again(
    approved: Call, workspace: Workspace
) -> None:
    ledger = AddressedLedger(workspace)
    ledger.remember([Fact("Likes tea"), Fact("Has a dog")])
    old = "- Likes tea\n- Has a dog\n"
    assert not approved("edit_file", path="MEMORY.md", old_text=old, new_text="").error
    path = workspace.root / "MEMORY.md"
    path.write_text(path.read_text() + "typed\n")
    ledger.observe("MEMORY.md")
    assert ledger.erased() == ()


def test_what_git_runs_in_another_directory_is_not_journalled(
    workspace: Workspace, outside: Path
) -> None:
    box = Toolbox(writing_tools(Roots(workspace, [outside]), Redactor()))
    path = outside / ".git/config"
    assert not calling(box, ApproveAll())("write_file", path=str(path), text="x").error
    assert path.read_text() == "x"
    assert Ledger(workspace).journals.log() == ()


@pytest.mark.parametrize(
    "path",
    [
        *(".envrc", "a/.vscode/tasks.json", "a/.git/config", ".MCP.json", "a/claude.md"),
        *(".zed/settings.json", ".never-heard-of-it", "a/.github/copilot-instructions.md"),
        *("x.code-workspace", "mise.toml", "lefthook.yml", "opencode.json"),
    ],
)
def test_what_others_execute_asks_and_says_why(toolbox: Toolbox, path: str) -> None:
    verdict = toolbox.review(ToolCall("1", "write_file", {"path": path, "text": "x"}))
    assert verdict.action == "ask"
    assert verdict.detail.startswith("Other programs run what ")


@pytest.mark.parametrize("path", [".gitignore", "a/.gitkeep", ".venv/x", "bin/x", "config"])
def test_what_nothing_executes_does_not_ask(toolbox: Toolbox, path: str) -> None:
    verdict = toolbox.review(ToolCall("1", "write_file", {"path": path, "text": "x"}))
    assert verdict.action == "run"


@pytest.mark.parametrize("path", [".gitconfig", ".config/fish/config.fish", ".gitignore", "bin/ls"])
def test_whatever_is_hidden_in_an_added_home_asks(
    workspace: Workspace, home: Path, path: str
) -> None:
    for added in (home, home.parent):
        box = Toolbox(writing_tools(Roots(workspace, [added]), Redactor()))
        asked = box.review(ToolCall("1", "write_file", {"path": str(home / path), "text": "x"}))
        plain = box.review(ToolCall("1", "write_file", {"path": str(home / "a/b"), "text": "x"}))
        assert (asked.action, plain.action) == ("ask", "run")


def test_a_workspace_below_a_hidden_folder_of_an_added_home_is_written_as_ever(
    home: Path,
) -> None:
    inner = Workspace(home / ".assistant/workspace")
    inner.root.mkdir(parents=True)
    box = Toolbox(writing_tools(Roots(inner, [home]), Redactor()))
    assert box.review(ToolCall("1", "write_file", {"path": "a", "text": "x"})).action == "run"
