"""`assistant connect`: other programs' own files, shown, changed, kept and taken back."""

import json
import shutil
from pathlib import Path

import pexpect
import pytest
import tomlkit
from typer.testing import CliRunner

from assistant.cli import doctor
from assistant.cli.doctor import examined
from assistant.cli.options import Globals
from assistant.cli.root import cli
from assistant.config import state_dir
from assistant.errors import ConfigError, UsageError
from assistant.integrations import jsonc
from assistant.workspace.folder import Workspace
from tests.cli.conftest import ASSISTANT

NAMES = [
    *("claude-code", "codex", "gemini-cli", "qwen-code"),
    *("cursor", "opencode", "claude-desktop", "zed"),
]
WITH_HOOKS = NAMES[:5]


def connect(workspace: Workspace, *arguments: str) -> str:
    done = CliRunner().invoke(cli, ["-w", str(workspace.root), "connect", *arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def asked(workspace: Workspace, name: str, typed: str) -> str:
    words = ["-w", str(workspace.root), "connect", name]
    child = pexpect.spawn(str(ASSISTANT), words, encoding="utf-8", timeout=600)
    child.expect("Replace it")
    child.sendline(typed)
    child.expect(pexpect.EOF)
    return str(child.before)


def files(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and ".local" not in path.parts
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_connection_is_made_once_and_taken_back_to_the_byte(
    workspace: Workspace, home: Path, name: str
) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(
        '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}'
    )
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('# mine\nmodel = "x" # good\n')
    (home / ".config" / "zed").mkdir(parents=True)
    (home / ".config" / "zed" / "settings.json").write_text('// mine\n{\n  "a": 1, // b\n}\n')
    before = files(home)
    told = json.loads(connect(workspace, name, "--json"))
    assert told["changes"][0]["diff"] and not told["made"]
    shown = connect(workspace, name, "--print")
    assert files(home) == before and "+++" in shown and "mcp" in shown
    assert shown in connect(workspace, name, "--yes")
    after = files(home)
    text = "".join(data.decode() for path, data in after.items() if before.get(path) != data)
    assert str(workspace.root) in text and (name not in WITH_HOOKS or "hook" in text)
    for kept in ("say done", "# mine", "# good", "// mine", "// b"):
        assert any(kept.encode() in data for data in after.values())
    assert "already connected" in connect(workspace, name, "--yes")
    assert json.loads(connect(workspace, name, "--undo", "--yes", "--json"))["made"]
    assert files(home) == before
    assert "is not connected" in connect(workspace, name, "--undo", "--yes")


def test_without_a_program_each_is_listed_with_its_state(workspace: Workspace, home: Path) -> None:
    connect(workspace, "zed", "--yes")
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text("{ no JSON")
    before = files(home)
    told = {each["program"]: each["state"] for each in json.loads(connect(workspace, "--json"))}
    assert list(told) == NAMES and files(home) == before
    assert (told["zed"], told["codex"]) == ("connected", "not connected")
    assert "mcp.json" in told["cursor"]
    assert "zed             connected\n" in connect(workspace)
    with pytest.raises(UsageError, match="no program given"):
        connect(workspace, "--undo")


@pytest.mark.parametrize(
    ("name", "path", "text"),
    [
        ("cursor", ".cursor/mcp.json", '{\n  "mcpServers": {} // mine\n}\n'),
        ("codex", ".codex/config.toml", '# mine\nmodel = "x"\n'),
    ],
)
def test_a_byte_order_mark_and_the_ends_of_lines_stay(
    workspace: Workspace, home: Path, name: str, path: str, text: str
) -> None:
    file = home / path
    file.parent.mkdir()
    was = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    file.write_bytes(was)
    connect(workspace, name, "--yes")
    made = file.read_bytes()
    assert made.startswith(was[:3]) and b"assistant" in made
    assert made.count(b"\n") == made.count(b"\r\n") > was.count(b"\n")
    assert "already connected" in connect(workspace, name, "--yes")
    connect(workspace, name, "--undo", "--yes")
    assert file.read_bytes() == was


def test_nothing_is_changed_if_one_file_cannot_be(workspace: Workspace, home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").symlink_to(home / "unmounted/settings.json")
    before = files(home)
    with pytest.raises(ConfigError, match=r"settings\.json is a link .* nothing was changed"):
        connect(workspace, "claude-code", "--yes")
    assert files(home) == before


def test_each_program_is_told_to_have_the_tools_from_the_beginning(
    workspace: Workspace, home: Path
) -> None:
    connect(workspace, "claude-code", "--yes")
    servers = json.loads((home / ".claude.json").read_text())["mcpServers"]
    assert servers["assistant"]["alwaysLoad"] is True
    connect(workspace, "codex", "--yes")
    config = tomlkit.parse((home / ".codex" / "config.toml").read_text())
    assert config["mcp_servers"]["assistant"]["required"] is True
    hooks = json.loads((home / ".codex" / "hooks.json").read_text())["hooks"]
    assert hooks["SessionEnd"][0]["hooks"][0]["timeout"] == 3


def test_a_connection_is_taken_back_without_its_workspace(workspace: Workspace, home: Path) -> None:
    before = files(home)
    connect(workspace, "codex", "--yes")
    shutil.rmtree(workspace.root)
    assert "no longer connected" in connect(workspace, "codex", "--undo", "--yes")
    assert files(home) == before


THEIRS = {
    "claude-code": (".claude.json", '{"mcpServers": {"assistant": {"command": "other"}}, "n": 1}'),
    "cursor": (
        ".cursor/mcp.json",
        '{"mcpServers": {"assistant": {"url": "http://other"}}, "n": 1}',
    ),
    "zed": (
        ".config/zed/settings.json",
        '// mine\n{\n  "context_servers": {"assistant": {"command": "other", "args": ["a b"]}},\n'
        '  "n": 1,\n}\n',
    ),
    "opencode": (
        ".config/opencode/opencode.json",
        '{"mcp": {"assistant": {"type": "local", "command": ["other"]}}, "n": 1}',
    ),
    "codex": (".codex/config.toml", 'n = 1\n\n[mcp_servers.assistant]\ncommand = "other"\n'),
}
"""Files with somebody else's server of the name of ours."""


@pytest.mark.parametrize("name", THEIRS)
def test_a_server_of_the_same_name_that_is_not_ours_stays(
    workspace: Workspace, home: Path, name: str
) -> None:
    path, text = home / THEIRS[name][0], THEIRS[name][1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    connect(workspace, name, "--undo", "--yes")
    assert f"{name:14}  not connected" in connect(workspace)
    assert "another server in its place" in connect(workspace, name, "--print")
    with pytest.raises(
        UsageError, match=r"another server in its place[^)]*\)\. Run .*, without --yes"
    ):
        connect(workspace, name, "--yes")
    assert path.read_text() == text
    assert "Nothing was changed" in asked(workspace, name, "n") and path.read_text() == text
    assert "is connected" in asked(workspace, name, "y")
    connect(workspace, name, "--undo", "--yes")
    assert path.read_text() == text
    asked(workspace, name, "y")
    changed = path.read_text().replace("n = 1", "n = 2").replace('"n": 1', '"n": 2')
    path.write_text(changed)
    connect(workspace, name, "--undo", "--yes")
    read = tomlkit.parse if path.suffix == ".toml" else jsonc.value
    wanted = text.replace("n = 1", "n = 2").replace('"n": 1', '"n": 2')
    assert read(path.read_text()) == read(wanted)


def test_a_plugin_of_the_owners_of_the_same_name_stays(workspace: Workspace, home: Path) -> None:
    own = home / ".config" / "opencode" / "plugins" / "assistant.js"
    own.parent.mkdir(parents=True)
    own.write_text("export const Mine = 1\n")
    before = files(home)
    connect(workspace, "opencode", "--undo", "--yes")
    assert "assistant-memory.js" in connect(workspace, "opencode", "--yes")
    assert own.read_text() == "export const Mine = 1\n"
    connect(workspace, "opencode", "--undo", "--yes")
    assert files(home) == before


def test_where_a_later_version_has_a_step_more_the_server_is_put_there(
    workspace: Workspace, home: Path
) -> None:
    settings = home / ".config" / "opencode" / "opencode.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"mcp": {"servers": {}}}')
    connect(workspace, "opencode", "--yes")
    assert list(json.loads(settings.read_text())["mcp"]["servers"]) == ["assistant"]


def test_what_was_changed_since_stays(workspace: Workspace, home: Path) -> None:
    connect(workspace, "claude-code", "--yes")
    own = home / ".claude.json"
    own.write_text(json.dumps({"starts": 3, **json.loads(own.read_text())}))
    connect(workspace, "claude-code", "--undo", "--yes")
    assert json.loads(own.read_text()) == {"starts": 3}
    assert not (home / ".claude" / "settings.json").exists()


def test_another_workspace_takes_the_place_and_the_first_copy_stays(
    workspace: Workspace, home: Path, tmp_path: Path
) -> None:
    (home / ".codex").mkdir()
    config = home / ".codex" / "config.toml"
    config.write_text("# mine\n")
    connect(workspace, "codex", "--yes")
    other = Workspace(tmp_path / "other")
    other.root.mkdir()
    (other.root / "MEMORY.md").write_text("")
    connect(other, "codex", "--yes")
    server = tomlkit.parse(config.read_text())["mcp_servers"]["assistant"]
    assert str(other.root) in server["args"] and str(workspace.root) not in config.read_text()
    hooks = json.loads((home / ".codex" / "hooks.json").read_text())["hooks"]
    assert [len(groups) for groups in hooks.values()] == [1, 1, 1, 1]
    (copy,) = (state_dir() / "connections" / "codex").glob("*config.toml")
    assert copy.read_text() == "# mine\n"
    connect(other, "codex", "--undo", "--yes")
    assert config.read_text() == "# mine\n"


OWN = {"env": {"ASSISTANT_K": "3"}, "disabled": True, "alwaysLoad": False, "required": False}
"""Keys that an owner gives our server."""


@pytest.mark.parametrize("name", NAMES)
def test_what_its_owner_gave_our_entry_stays_and_each_change_has_a_backup(
    workspace: Workspace, home: Path, tmp_path: Path, name: str
) -> None:
    before = files(home)
    connect(workspace, name, "--yes")
    (path,) = (home / path for path, data in files(home).items() if b"--as" in data)
    is_toml = path.suffix == ".toml"
    read = tomlkit.parse if is_toml else json.loads
    config = read(path.read_text())
    server = next(value["assistant"] for value in config.values() if "assistant" in value)
    words = server["command"] if name == "opencode" else server["args"]
    words.insert(-5, "--no-daemon")
    words.append("--read-only")
    server.update(OWN)
    path.write_text(tomlkit.dumps(config) if is_toml else f"{json.dumps(config, indent=2)}\n")
    own = path.read_bytes()
    assert "already connected" in connect(workspace, name, "--yes") and path.read_bytes() == own
    assert f"{name:14}  connected\n" in connect(workspace)
    path.write_bytes(own.replace(b"/bin/assistant", b"/old/assistant"))
    told = json.loads(connect(workspace, name, "--yes", "--json"))
    assert path.read_bytes() == own and len(told["copies"]) == 1
    assert Path(told["copies"][0]).read_bytes() == own.replace(b"/bin/", b"/old/")
    other = Workspace(tmp_path / "other")
    shutil.copytree(workspace.root, other.root)
    connect(other, name, "--yes")
    assert read(path.read_text()) == read(
        own.decode().replace(str(workspace.root), str(other.root))
    )
    connect(other, name, "--undo", "--yes")
    assert files(home) == before


def test_the_time_and_the_neighbours_of_a_hook_stay(
    workspace: Workspace, home: Path, tmp_path: Path
) -> None:
    connect(workspace, "claude-code", "--yes")
    path = home / ".claude" / "settings.json"
    config = json.loads(path.read_text())
    (group,) = config["hooks"]["UserPromptSubmit"]
    group["hooks"][0]["timeout"] = 60
    group["hooks"].insert(0, {"type": "command", "command": "say done"})
    path.write_text(json.dumps(config))
    other = Workspace(tmp_path / "other")
    shutil.copytree(workspace.root, other.root)
    connect(other, "claude-code", "--yes")
    wanted = json.dumps(config).replace(str(workspace.root), str(other.root))
    assert json.loads(path.read_text()) == json.loads(wanted)


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers.other.command = "x"\nmodel = "m"\n',
        '[mcp_servers.other]\ncommand = "x"\n[mcp_servers.other.env]\nA = "b"\n\n[tui]\na = 1\n',
        '[mcp_servers.other]\ncommand = "x" # the end, without a line break',
        '[[profiles]]\nname = "a"\n[profiles.deep]\nb = 2\n',
        'mcp_servers = { other = { command = "o" } } # inline\n[tui]\na = 1\n',
    ],
)
def test_all_else_in_toml_means_what_it_did(workspace: Workspace, home: Path, text: str) -> None:
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(text)
    connect(workspace, "codex", "--yes")
    made = tomlkit.parse(config.read_text()).unwrap()
    servers = made.get("mcp_servers", {})
    assert servers.pop("assistant")["args"][-1] == "codex"
    assert {key: value for key, value in made.items() if value} == tomlkit.parse(text).unwrap()
    config.write_text(config.read_text() + "# mine\n")
    connect(workspace, "codex", "--undo", "--yes")
    assert tomlkit.parse(config.read_text()).unwrap() == tomlkit.parse(text).unwrap()


def test_what_its_owner_made_for_reading_alone_stays(workspace: Workspace, home: Path) -> None:
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text("a = 1\n")
    config.chmod(0o400)
    before = files(home)
    with pytest.raises(ConfigError, match=r"config\.toml is read-only.*chmod u\+w"):
        connect(workspace, "codex", "--yes")
    assert files(home) == before and config.stat().st_mode & 0o777 == 0o400
    config.chmod(0o600)
    connect(workspace, "codex", "--yes")
    config.chmod(0o400)
    with pytest.raises(ConfigError, match="read-only"):
        connect(workspace, "codex", "--undo", "--yes")
    assert "mcp_servers" in config.read_text()


def test_what_cannot_be_understood_stays_and_is_named(workspace: Workspace, home: Path) -> None:
    cases = [
        ("zed", ".config/zed/settings.json", '{\n"a": 1,,\n}', "line 2"),
        ("codex", ".codex/config.toml", "[mcp_servers", "line 1"),
        ("codex", ".codex/config.toml", "mcp_servers = 3", "mcp_servers is not a table"),
        ("cursor", ".cursor/hooks.json", '{"hooks": {"sessionStart": 3}}', "is not a list"),
        ("cursor", ".cursor/mcp.json", '{"mcpServers": []}', "mcpServers"),
        ("opencode", ".config/opencode/opencode.json", '{"mcp": 3}', "mcp is not an object"),
    ]
    for name, path, text, where in cases:
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text)
        with pytest.raises(ConfigError, match=where) as caught:
            connect(workspace, name, "--yes")
        assert path in caught.value.message and (home / path).read_text() == text
    with pytest.raises(UsageError, match="emacs"):
        connect(workspace, "emacs")
    with pytest.raises(UsageError, match="needs your confirmation"):
        connect(workspace, "claude-code")
    assert not (home / ".claude.json").exists()


def test_doctor_tells_what_is_connected_and_whether_it_works(
    workspace: Workspace, home: Path
) -> None:
    def told() -> tuple[str, str]:
        found = examined("programs", doctor.CHECKS["programs"], Globals(workspace.root))
        return found.state, found.line

    assert told()[0] == "well" and "none connected" in told()[1]
    connect(workspace, "cursor", "--yes")
    assert told() == ("well", "programs: Cursor: connected, and the server answers")
    (home / ".cursor" / "hooks.json").write_text("{}")
    assert told()[0] == "remark" and "its hooks are gone" in told()[1]
    server = home / ".cursor" / "mcp.json"
    server.write_text(server.read_text().replace("/assistant", "/no-assistant"))
    state, line = told()
    assert state == "fault" and "No such file" in line and "assistant connect cursor" in line
    server.write_text("{,")
    connect(workspace, "zed", "--yes")
    state, line = told()
    assert state == "fault" and "mcp.json" in line and "Zed: connected" in line
