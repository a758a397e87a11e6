"""A rule that names a place binds it for every file tool, however call and rule spell it."""

import time
import unicodedata
from pathlib import Path

import pytest

from assistant.events import ApprovalRequested
from assistant.messages import ToolCall
from assistant.secrets.redactor import Redactor
from assistant.settings.sections import PolicySettings
from assistant.tools.base import Plan, ToolResult
from assistant.tools.files.access import Roots
from assistant.tools.files.read import DEEPEST, reading_tools, searching_tools
from assistant.tools.files.write import writing_tools
from assistant.tools.policy import DENIED, ApproveAll, Decision, DenyAll, Rules
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.tools.conftest import Call, calling

JEWELS = "the crown jewels"
ACCENTED = "sécret"


@pytest.fixture
def place(workspace: Workspace, tmp_path: Path) -> Path:
    """A workspace with a folder to be denied, and every way to it."""
    root = workspace.root
    for name in ("secret/a.txt", "secret/deep/b.txt", "open/c.txt", f"{ACCENTED}/d.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(JEWELS if "secret" in name or ACCENTED in name else "plain\n")
    links = {
        "link.txt": "secret/a.txt",
        "linked": "secret",
        "chain": "linked",
        "absolute": str(root / "secret"),
        "open/up": "../secret",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    (tmp_path / "another-name").symlink_to(root)
    return root


def tools(roots: Roots) -> Toolbox:
    made = [*reading_tools(roots), *searching_tools(roots), *writing_tools(roots, Redactor())]
    return Toolbox(made, roots.rules)


def under(root: Path, *added: Path, **rules: tuple[str, ...]) -> Call:
    """Calls tools in a workspace with these rules; whatever asks is approved."""
    return calling(tools(Roots(Workspace(root), added, PolicySettings(**rules))), ApproveAll())


RULES = (
    "*:secret/*",
    "*:secret",
    "*:secret/",
    "*:./secret/*",
    "*:secret/**",
    "*:secret/**/*",
    "*:**/secret/**",
    "*:SECRET/*",
    "*:linked/*",
    "*:open/up",
    "*:{{secret,other}}/*",
    "*:open/../secret/*",
    "*:{root}/secret/*",
    "*:{elsewhere}/another-name/secret/*",
    "{{read_file,list_files,grep,find_files,write_file,edit_file,apply_patch}}:secret/*",
)
SPELLINGS = (
    "secret/a.txt",
    "./secret/a.txt",
    "secret//a.txt",
    "secret/./a.txt",
    "open/../secret/a.txt",
    "secret/deep/../a.txt",
    "{root}/secret/a.txt",
    "{root}/open/../secret/a.txt",
    "{elsewhere}/another-name/secret/a.txt",
    "link.txt",
    "linked/a.txt",
    "chain/a.txt",
    "absolute/a.txt",
    "open/up/a.txt",
    "secret/deep/b.txt",
)


def everything(call: Call, path: str) -> list[ToolResult]:
    """What each tool that opens a file makes of it."""
    return [
        call("read_file", path=path),
        call("grep", pattern="crown", path=path),
        call("find_files", pattern="*", path=path),
        call("write_file", path=path, text="evil"),
        call("edit_file", path=path, old_text="crown", new_text="paste"),
        call("apply_patch", patch=f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{JEWELS}\n+evil\n"),
        call("apply_patch", patch=f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+evil\n"),
    ]


@pytest.mark.parametrize("rule", RULES)
def test_a_denied_place_is_denied_however_it_is_spelled(place: Path, rule: str) -> None:
    filled = {"root": str(place), "elsewhere": str(place.parent)}
    call = under(place, deny=(rule.format(**filled),))
    for spelling in SPELLINGS:
        for result in everything(call, spelling.format(**filled)):
            assert result.error
            assert result.content == DENIED, spelling
    for folder in ("secret", "linked", "open/up", "secret/deep", f"{place}/secret"):
        for result in (
            call("list_files", path=folder),
            call("grep", pattern="crown", path=folder),
            call("find_files", pattern="*", path=folder),
        ):
            assert result.content == DENIED, folder
    assert (place / "secret/a.txt").read_text() == JEWELS


@pytest.mark.parametrize("rule", RULES)
def test_a_denied_place_is_not_seen(place: Path, rule: str) -> None:
    rule = rule.format(root=place, elsewhere=place.parent)
    call = under(place, deny=(rule,))
    shown = [
        call("list_files").content,
        call("find_files", pattern="*.txt").content,
        call("grep", pattern="crown|plain").content,
    ]
    assert not any("secret" in each for each in shown)
    assert "open/c.txt" in shown[1]
    assert "open/c.txt:1: plain" in shown[2]
    assert not any("left out" in each or "could not" in each for each in shown)


def test_what_is_denied_answers_the_same_whether_it_is_there_or_not(place: Path) -> None:
    call = under(place, deny=("*:secret/*", "*:nothing/*"))
    answers = {
        result.content
        for path in ("secret/a.txt", "secret/no", "secret/no/no", "nothing/x", "secret/../x")
        for result in (call("read_file", path=path), call("write_file", path=path, text="x"))
    }
    assert answers == {DENIED}
    assert not (place / "nothing").exists()


def test_names_that_some_disks_take_for_one_are_one(place: Path) -> None:
    decomposed = unicodedata.normalize("NFD", ACCENTED)
    call = under(place, deny=(f"*:{decomposed.upper()}/*",))
    assert call("read_file", path=f"{ACCENTED}/d.txt").content == DENIED


def test_a_pattern_without_a_slash_holds_in_every_folder(place: Path) -> None:
    (place / "open/deep").mkdir()
    (place / "open/deep/.env").write_text(JEWELS)
    (place / "open/key.pem").write_text(JEWELS)
    call = under(place, deny=("*:.env", "*:*.{pem,key}"))
    assert call("read_file", path="open/deep/.env").content == DENIED
    assert call("read_file", path="open/key.pem").content == DENIED
    assert call("write_file", path="new/.env", text="x").content == DENIED
    assert not (place / "new").exists()
    assert call("list_files", path="open").content == "c.txt 6\ndeep/\nup (link)"
    assert call("read_file", path="secret/a.txt").content == JEWELS


def test_a_rule_binds_the_tools_that_it_names_and_no_other(place: Path) -> None:
    call = under(place, deny=("grep:secret/*",))
    assert call("grep", pattern="crown", path="linked").content == DENIED
    assert call("read_file", path="secret/a.txt").content == JEWELS


def test_many_rules_for_commands_cost_hardly_more_than_one() -> None:
    def seconds(rules: int, command: str) -> float:
        rule = Rules(PolicySettings(deny=[f"shell:program-{number} *" for number in range(rules)]))
        began = time.process_time()
        rule.judge("shell", Plan(subjects=(command,)))
        return time.process_time() - began

    assert seconds(40, "cat <<E\n" + "x y; z\n" * 5000) < 5 * seconds(1, "z y; x\n" * 5000)


def test_what_may_not_be_read_is_found_by_no_search_but_stays_listed(place: Path) -> None:
    call = under(place, deny=("read_file:secret/*",))
    assert call("grep", pattern="crown", path="secret").content == DENIED
    assert "secret" not in call("grep", pattern="crown", path=".").content
    assert call("list_files", path="secret").content == "a.txt 16\ndeep/"
    asked = under(place, ask=("read_file:secret/*",))
    assert "secret/" not in asked("grep", pattern="crown", path=".").content
    named, _ = Rules(PolicySettings(deny=("read_file:a.txt",)), [place]).kept_from_commands()
    assert named.holds(str(place / "secret/a.txt"), directory=False)


def test_a_rule_for_an_added_directory_is_relative_to_it(place: Path, outside: Path) -> None:
    call = under(place, outside, deny=("*:secret.txt",))
    assert call("read_file", path=f"{outside}/secret.txt").content == DENIED
    assert call("list_files", path=str(outside)).content == "(empty)"


def test_a_link_swapped_in_after_the_yes_leads_nowhere_denied(place: Path) -> None:
    (place / "door").mkdir()
    (place / "door/a.txt").write_text("plain")
    box = tools(Roots(Workspace(place), policy=PolicySettings(deny=("*:secret/*",))))
    calls = {"read_file": {}, "write_file": {"text": "evil"}, "grep": {"pattern": "crown"}}
    for name, arguments in calls.items():
        verdict = box.review(ToolCall("1", name, {"path": "door/a.txt", **arguments}))
        assert verdict.action == "run"
        (place / "door").rename(place / "away")
        (place / "door").symlink_to("secret")
        assert box.run(verdict).content == DENIED
        (place / "door").unlink()
        (place / "away").rename(place / "door")
    assert (place / "secret/a.txt").read_text() == JEWELS


class Owner:
    """Says yes, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[ApprovalRequested] = []

    def decide(self, request: ApprovalRequested) -> Decision:
        self.asked.append(request)
        return Decision("once")


def asking(place: Path, owner: Owner, **rules: tuple[str, ...]) -> Call:
    return calling(tools(Roots(Workspace(place), policy=PolicySettings(**rules))), owner)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_place_to_ask_for_is_asked_for_however_it_is_spelled(place: Path, spelling: str) -> None:
    owner = Owner()
    call = asking(place, owner, ask=("*:secret/*",))
    path = spelling.format(root=place, elsewhere=place.parent)
    assert call("read_file", path=path).content == JEWELS
    assert call("grep", pattern="crown", path=path).content.endswith(f":1: {JEWELS}")
    assert len(owner.asked) == 2


def test_a_search_leaves_out_what_is_to_be_asked_for_and_says_so(place: Path) -> None:
    owner = Owner()
    call = asking(place, owner, ask=("*:secret/*",))
    found = call("grep", pattern="crown|plain").content
    assert "open/c.txt:1: plain" in found
    assert "secret/" not in found
    assert "1 place left out" in found
    assert not owner.asked
    assert "secret/deep/b.txt" in call("find_files", pattern="*", path="secret").content
    assert len(owner.asked) == 1


def test_an_allowed_path_is_allowed_exactly_so(place: Path) -> None:
    (place / "memory").mkdir()
    root = Roots(Workspace(place), policy=PolicySettings(allow=("write_file:memory/*",)))
    call = calling(tools(root), DenyAll())
    assert not call("write_file", path="./memory/deep/x.md", text="- a\n").error
    assert call("write_file", path="memory/../MEMORY.md", text="- a\n").error
    assert call("write_file", path="open/../MEMORY.md", text="- a\n").error
    (place / "memory/way-out").symlink_to("../MEMORY.md")
    assert call("write_file", path="memory/way-out", text="- a\n").error


def test_a_tree_is_searched_to_a_depth_and_what_lies_deeper_is_told(tmp_path: Path) -> None:
    path = "d/" * (DEEPEST + 2)
    (tmp_path / path).mkdir(parents=True)
    for place in ("above.txt", f"{path}bottom.txt"):
        (tmp_path / place).write_text(f"{JEWELS}\n")
    call = under(tmp_path.resolve(), deny=("*:nothing/*",))
    found = call("find_files", pattern="*.txt").content.split("\n")
    assert found == ["above.txt", f"[1 directory over {DEEPEST} deep left out: name them as path.]"]
    assert call("grep", pattern="crown", path="d/d/d").content == f"{path}bottom.txt:1: {JEWELS}"
    assert call("read_file", path=f"{path}bottom.txt").content == f"{JEWELS}\n"
