"""Sixty ways out of the sandbox; none leads out."""

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.secrets.redactor import Redactor
from assistant.tools.base import ToolResult
from assistant.tools.files.access import EXECUTED, Roots
from assistant.tools.policy import DenyAll
from assistant.tools.sandbox.process import available, works
from assistant.tools.shell.command import Shell
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.tools.conftest import Call, calling

JEWELS = "the crown jewels"

pytestmark = pytest.mark.skipif(not available(), reason="the sandbox does not work here")

CHANGES = {
    "write beside": "echo evil > {outside}/secret.txt",
    "append beside": "echo evil >> {outside}/secret.txt",
    "create beside": "touch {outside}/new",
    "delete beside": "rm -f {outside}/secret.txt",
    "move in": "mv {outside}/secret.txt .",
    "move over": "echo evil > x; mv x {outside}/secret.txt",
    "chmod beside": "chmod 777 {outside}/secret.txt",
    "touch times beside": "touch -d 2001-01-01 {outside}/secret.txt",
    "truncate beside": "truncate -s 0 {outside}/secret.txt",
    "write through a link": "ln -s {outside}/secret.txt l; echo evil > l",
    "write through a linked directory": "ln -s {outside} d; echo evil > d/secret.txt",
    "write through a hard link": "ln {outside}/secret.txt h && echo evil > h",
    "write by parents": "cd ..; echo evil > outside/secret.txt",
    "write by proc": "echo evil > /proc/self/root{outside}/secret.txt",
    "write by proc cwd": "echo evil > /proc/1/cwd/../outside/secret.txt",
    "write by a background process": "(sleep 0.2; echo evil > {outside}/secret.txt) & wait",
    "write in home": "echo evil > {home}/.bashrc",
    "remount": "mount -o remount,rw / ; mount -o remount,bind,rw {outside}; echo > {outside}/new",
    "bind mount": "mkdir m; mount --bind {outside} m && echo evil > m/secret.txt",
    "own namespaces": "unshare -Urm sh -c 'mount -o remount,rw,bind / ; echo > {outside}/new'",
    "chroot": "chroot / sh -c 'echo evil > {outside}/secret.txt'",
    "unmount": "umount -l MEMORY.md .assistant {outside}; echo evil > MEMORY.md",
    "memory": "echo evil > MEMORY.md",
    "memory by rename": "echo evil > x; mv -f x MEMORY.md",
    "memory removed": "rm -f MEMORY.md",
    "memory moved": "mv MEMORY.md away.md; echo evil > MEMORY.md",
    "memory by hard link": "ln MEMORY.md h && echo evil > h",
    "memory by link": "ln -s MEMORY.md l; echo evil > l",
    "memory by sed": "sed -i s/Memory/evil/ MEMORY.md",
    "memory mode": "chmod 666 MEMORY.md",
    "nested memory": "mkdir -p memory; echo evil > memory/new.md",
    "a missing steering file": "echo evil > SOUL.md",
    "a new skill": "mkdir -p skills/evil; echo evil > skills/evil/SKILL.md",
    "recipe": "echo evil > assistant.toml",
    "own files": "echo evil > .assistant/sessions/s.jsonl; rm -rf .assistant",
    "git hook": "echo evil > .git/hooks/pre-commit",
    "git configuration": "echo evil >> .git/config",
    "git of another place": "mkdir g; echo ../g > .git/commondir; echo '[core]' > g/config",
    "git's rebase": "mkdir .git/rebase-merge; echo exec evil > .git/rebase-merge/git-rebase-todo",
    "git's modules": "mkdir -p .git/modules/m; echo evil > .git/modules/m/config",
    "git's index": "git update-index --add --cacheinfo 160000,$(printf %040d 1),m",
    "git moved away": "mv .git g; mkdir .git; cp -r g/. .git; echo evil > .git/hooks/pre-commit",
}
READS = {
    "own files": "cat .assistant/sessions/s.jsonl",
    "own files by proc": "cat /proc/self/root$PWD/.assistant/sessions/s.jsonl",
    "keys in a home": "cat {home}/.ssh/id_ed25519",
    "registered secrets": "cat {home}/.config/assistant/secrets.json",
    "another process's environment": "cat /proc/*/environ | tr '\\0' '\\n'",
    "another process's memory": "cat /proc/{pid}/environ; ls /proc/{pid}/fd",
}
SIGNS = {
    "kill": "kill -9 {victim}; ls /proc/{victim} && echo SEEN",
    "network": "(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo SEEN",
    "network device": "tail -n +3 /proc/net/dev | grep -v lo: && echo SEEN",
    "abstract socket": 'python3 -c "import socket; s=socket.socket(socket.AF_UNIX); '
    "s.connect('\\0assistant-test-{pid}')\" && echo SEEN",
    "socket file": 'python3 -c "import socket; s=socket.socket(socket.AF_UNIX); '
    "s.connect('{socket}')\" && echo SEEN",
    "kernel settings": "[ -w /proc/sys/kernel/core_pattern ] && echo SEEN",
    "system request": "[ -w /proc/sysrq-trigger ] && echo SEEN",
    "disks": "ls /dev | grep -E '^(sd|vd|nvme|xvd|mem|kmsg|loop)' && echo SEEN",
    "making a device": "mknod d b 8 0 && echo SEEN",
    "capabilities": "grep -E 'Cap(Prm|Eff|Bnd|Amb).*[1-9a-f]' /proc/self/status && echo SEEN",
    "new privileges": "grep 'NoNewPrivs:.*0' /proc/self/status && echo SEEN",
    "terminal": "(exec 3<>/dev/tty) && echo SEEN",
}


@pytest.fixture
def place(workspace: Workspace, outside: Path, home: Path) -> Path:
    """A workspace with all that has to be protected in it, and around it."""
    root = workspace.root
    files = {
        root / ".assistant/sessions/s.jsonl": JEWELS,
        root / ".git/hooks/sample": "",
        root / ".git/config": "[core]\n",
        home / ".ssh/id_ed25519": JEWELS,
        home / ".config/assistant/secrets.json": JEWELS,
        home / ".bashrc": "",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root.parent


@pytest.fixture
def escaping(place: Path, home: Path) -> Call:
    """A shell in this sandbox. The home is an added directory, so that it can be seen at all."""
    roots = Roots(Workspace(place / "workspace"), [place])
    tool = Shell(roots, Redactor(), threading.Event(), lambda: True).tools()[0]
    return calling(Toolbox([tool]), DenyAll())


@pytest.fixture
def bounded(place: Path) -> Call:
    """A shell in this sandbox that may write to the workspace only."""
    tool = Shell(
        Roots(Workspace(place / "workspace")), Redactor(), threading.Event(), lambda: True
    ).tools()[0]
    return calling(Toolbox([tool]), DenyAll())


def state(place: Path) -> dict[str, tuple[int, float, bytes]]:
    """Mode, time and bytes of every file that no command may change."""
    return {
        str(path): (path.lstat().st_mode, path.lstat().st_mtime, path.read_bytes())
        for path in place.rglob("*")
        if path.is_file()
        and "commands" not in path.parts  # the lock that running commands share
        and (not path.is_relative_to(place / "workspace") or protected(path, place / "workspace"))
    }


def protected(path: Path, root: Path) -> bool:
    name = path.relative_to(root).as_posix()
    return not path.is_symlink() and name.startswith(
        ("MEMORY.md", "SOUL.md", "memory/", "skills/", "assistant.toml", ".assistant/", ".git/")
    )


@pytest.mark.parametrize("way", CHANGES)
def test_nothing_outside_is_changed(
    bounded: Call, place: Path, outside: Path, home: Path, way: str
) -> None:
    before = state(place)
    bounded("shell", command=CHANGES[way].format(outside=outside, home=home))
    assert state(place) == before


@pytest.mark.parametrize("way", READS)
def test_nothing_hidden_is_read(
    escaping: Call, home: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIDDEN", JEWELS)
    command = READS[way].format(home=home, pid=os.getpid())
    assert JEWELS not in escaping("shell", command=command).content


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[dict[str, object]]:
    """A victim process, a TCP port and two Unix sockets of this machine."""
    victim = subprocess.Popen(["sleep", "60"])
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
    ):
        abstract.bind(f"\0assistant-test-{os.getpid()}")
        abstract.listen()
        named.bind(str(tmp_path / "s"))
        named.listen()
        yield {
            "victim": victim.pid,
            "pid": os.getpid(),
            "port": tcp.getsockname()[1],
            "socket": tmp_path / "s",
        }
        assert victim.poll() is None
    victim.kill()
    victim.wait()


@pytest.mark.parametrize("way", SIGNS)
def test_nothing_beyond_is_reached(bounded: Call, listening: dict[str, object], way: str) -> None:
    result = bounded("shell", command=SIGNS[way].format(**listening))
    assert "SEEN" not in result.content


EXECUTED_ONCE_MADE = {
    "a repository": "git init -q .; echo '[core] fsmonitor = evil' >> .git/config",
    "a pointer to one": "git init -q g; echo 'gitdir: g/.git' > .git",
    "a bare one": "git init -q --bare b; mv b/* . ; ls HEAD config",
    "a shell's file": "echo evil > .bashrc; echo evil > .envrc",
    "an editor's folder": "mkdir .vscode .idea; echo evil > .vscode/tasks.json",
    "an agent's": "mkdir .claude; echo evil > .claude/settings.json; echo evil > .mcp.json",
    "git's filters": "echo '* filter=evil' > .gitattributes",
}


@pytest.mark.parametrize("way", EXECUTED_ONCE_MADE)
def test_what_others_execute_is_not_made(workspace: Workspace, way: str) -> None:
    shell = Shell(Roots(workspace), Redactor(), threading.Event(), lambda: True).tools()[0]
    calling(Toolbox([shell]), DenyAll())("shell", command=EXECUTED_ONCE_MADE[way])
    there = {path.name for path in workspace.root.iterdir()}
    assert there.isdisjoint({".git", "HEAD", *EXECUTED})


def test_what_others_execute_by_its_suffix_is_renamed(workspace: Workspace) -> None:
    (workspace.root / "own.code-workspace").write_text("mine")
    shell = Shell(Roots(workspace), Redactor(), threading.Event(), lambda: True).tools()[0]
    command = (
        "echo evil > a.Code-Workspace; echo > a.Code-Workspace_; rm own*; echo > own.code-workspace"
    )
    result = calling(Toolbox([shell]), DenyAll())("shell", command=command)
    assert "a.Code-Workspace is now a.Code-Workspace__" in result.content
    assert not (workspace.root / "a.Code-Workspace").exists()
    assert (workspace.root / "a.Code-Workspace__").read_text() == "evil\n"
    assert (workspace.root / "own.code-workspace").read_text() == "mine"


def test_a_command_ends_however_much_of_what_it_left_is_renamed(workspace: Workspace) -> None:
    """The report of two thousand names is longer than a pipe holds."""
    shell = Shell(Roots(workspace), Redactor(), threading.Event(), lambda: True).tools()[0]
    command = "for n in $(seq 2000); do > a-longer-name-$n.code-workspace; done"
    result = calling(Toolbox([shell]), DenyAll())("shell", command=command)
    assert "a-longer-name-999.code-workspace is now" in result.content


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_submodule_hands_over_no_execution(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    as_owner = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]

    def git(place: Path, *arguments: str) -> None:
        subprocess.run([*as_owner, "-C", place, *arguments], check=True, capture_output=True)

    inner = workspace.root / "sub"
    inner.mkdir()
    for place in (workspace.root, inner):
        git(place, "init", "-q")
    git(inner, "commit", "--allow-empty", "-m", "x")
    git(workspace.root, "add", "sub")
    evil = f"git init -q sub; git -C sub config core.fsmonitor 'touch {tmp_path}/owned'"
    shell = Shell(Roots(workspace), Redactor(), threading.Event(), lambda: True).tools()[0]
    call = calling(Toolbox([shell]), DenyAll())
    call("shell", command=f"rm -rf sub/.git; mv sub/.git away; {evil}; mv sub gone; {evil}")
    git(workspace.root, "status")
    assert not (tmp_path / "owned").exists()


def test_a_guarded_file_has_no_other_name(workspace: Workspace) -> None:
    (workspace.root / "other.md").hardlink_to(workspace.root / "MEMORY.md")
    before = (workspace.root / "MEMORY.md").read_text()
    shell = Shell(Roots(workspace), Redactor(), threading.Event(), lambda: True).tools()[0]
    calling(Toolbox([shell]), DenyAll())("shell", command="echo evil >> other.md")
    assert (workspace.root / "MEMORY.md").read_text() == before


def test_what_is_allowed_works(bounded: Call, escaping: Call, place: Path, home: Path) -> None:
    def lines(result: ToolResult) -> list[str]:
        return result.content.split("\n")

    assert lines(bounded("shell", command="echo a > b; mkdir -p c/d; mv b c/d/e; cat c/d/e")) == [
        "a"
    ]
    assert lines(
        bounded("shell", command="echo x > $(mktemp) && echo ok > /dev/null && echo done")
    ) == ["done"]
    assert "refused" in bounded("shell", command="exec 3<>/dev/tcp/127.0.0.1/9").content.lower()
    assert lines(
        bounded("shell", command="git init -q g && cd g && git status --short && echo fine")
    ) == ["fine"]
    assert lines(
        bounded("shell", command="python3 -c 'import multiprocessing as m; m.Lock(); print(1)'")
    ) == ["1"]
    (home / "papers").mkdir()
    escaping("shell", command=f"echo hello > {home}/papers/new.txt")
    assert (home / "papers/new.txt").read_text() == "hello\n"


def test_a_sandbox_that_does_not_confine_is_not_taken() -> None:
    assert not works(lambda launch, bounds: launch)
    assert not works(lambda launch, bounds: replace(launch, command=["/bin/false"]))
    assert not works(lambda launch, bounds: replace(launch, command=["/no/such/program"]))
