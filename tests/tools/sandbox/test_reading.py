"""What a sandboxed command can read: what is on a list, and nothing else."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from assistant.secrets.redactor import Redactor
from assistant.settings.sections import PolicySettings, ShellSettings
from assistant.tools.base import ToolResult
from assistant.tools.files.access import Roots
from assistant.tools.files.read import reading_tools
from assistant.tools.policy import DenyAll, Rules
from assistant.tools.sandbox.process import available
from assistant.tools.shell.command import Shell
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.tools.conftest import Call, calling

JEWELS = "the crown jewels"
pytestmark = pytest.mark.skipif(not available(), reason="the sandbox does not work here")

AT_HOME = """
.pgpass .vault-token .claude/.credentials.json .claude.json .config/rclone/rclone.conf
.local/share/fish/fish_history .ssh/id_ed25519 .ssh/config .gnupg/private-keys-v1.d/k
.aws/credentials .aws/sso/cache/t.json .azure/accessTokens.json .kube/config .docker/config.json
.netrc .git-credentials .config/git/credentials .npmrc .yarnrc.yml .pypirc .cargo/credentials.toml
.gem/credentials .m2/settings.xml .gradle/gradle.properties .config/gcloud/credentials.db
.config/gh/hosts.yml .config/hub .config/op/config .terraform.d/credentials.tfrc.json .s3cfg .boto
.my.cnf .mylogin.cnf .psql_history .mysql_history .bash_history .zsh_history .python_history
.node_repl_history .rediscli_history .viminfo .config/fish/fish_variables
.local/share/keyrings/login.keyring .mozilla/firefox/p/logins.json
.config/google-chrome/Default/Cookies .config/chromium/Default/Cookies .thunderbird/p/key4.db
.config/Signal/config.json .password-store/a.gpg .config/sops/age/keys.txt .codex/auth.json
.gemini/oauth_creds.json .cache/huggingface/token .databrickscfg .fly/config.yml
.netlify/config.json .config/containers/auth.json .composer/auth.json .config/pip/pip.conf
.Xauthority .ICEauthority .config/assistant/secrets.json .local/state/assistant/trusted
.gitconfig .profile .bashrc Documents/taxes.txt notes.md .never-heard-of-it/key
"""


Running = Callable[..., Callable[[str], ToolResult]]


@pytest.fixture
def shell(workspace: Workspace) -> Running:
    """Makes a shell of the directories and rules that it is given."""

    def make(
        *added: Path, readable: tuple[str, ...] = (), **rules: tuple[str, ...]
    ) -> Callable[[str], ToolResult]:
        roots = Roots(workspace, added, PolicySettings(**rules))
        settings = ShellSettings(readable=readable)
        tool = Shell(roots, Redactor(), threading.Event(), lambda: True, settings).tools()[0]
        call = calling(Toolbox([tool], roots.rules), DenyAll())
        return lambda command: call("shell", command=command)

    return make


def planted(home: Path) -> list[Path]:
    paths = [home / name for name in AT_HOME.split()]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(JEWELS)
    return paths


def test_nothing_of_a_home_is_read(shell: Running, home: Path) -> None:
    paths = planted(home)
    result = shell()("cat " + " ".join(map(str, paths)) + "; find ~ -type f; grep -r crown ~")
    assert JEWELS not in result.content
    assert result.content.count("No such file") == len(paths)


def test_an_added_home_is_read_but_for_the_places_of_keys(shell: Running, home: Path) -> None:
    paths = planted(home)
    seen = shell(home)("grep -rl crown ~ 2>/dev/null; true").content.split("\n")
    plain = {".gitconfig", ".profile", ".bashrc", "Documents/taxes.txt", "notes.md"}
    plain |= {".never-heard-of-it/key"}
    assert {Path(path).relative_to(home).as_posix() for path in seen} == plain
    assert len(paths) > 60


ELSEWHERE = {
    "beside": "cat {outside}/secret.txt; ls {outside}",
    "above": "cat ../outside/secret.txt; ls ..",
    "by a link": "ln -s {outside} l; cat l/secret.txt",
    "by the root of a process": "cat /proc/*/root{outside}/secret.txt",
    "by what a process has open": "cat /proc/*/fd/*{outside}/secret.txt /proc/*/fd/*/secret.txt",
    "by where a process stands": "cat /proc/*/cwd/../outside/secret.txt",
    "by a directory of its own": "mkdir d; cd d; cat ../../outside/secret.txt",
}


@pytest.mark.parametrize("way", ELSEWHERE)
def test_nothing_elsewhere_is_read(shell: Running, outside: Path, way: str) -> None:
    assert JEWELS not in shell()(ELSEWHERE[way].format(outside=outside)).content


SECRETS_OF_THE_SYSTEM = """
/etc/shadow /etc/gshadow /etc/sudoers /etc/ssh /etc/ssl/private /etc/NetworkManager /root/.ssh
/var/log /var/lib /srv /mnt /media /boot /etc/machine-id /etc/letsencrypt /etc/wireguard
/sys/class /sys/kernel /dev/sda /dev/vda /dev/mem /dev/kmsg
"""


def test_of_the_system_only_what_programs_need_is_there(shell: Running) -> None:
    run = shell()
    listed = run(f"ls -d {' '.join(SECRETS_OF_THE_SYSTEM.split())} 2>/dev/null; true").content
    assert listed == "(no output)"
    assert run("id -un; python3 -c 'import ssl'; echo $?").content.endswith("\n0")


def test_what_the_owner_names_is_readable_and_no_more(
    shell: Running, home: Path, outside: Path
) -> None:
    (home / "bin").mkdir()
    (home / "bin/hello").write_text("#!/bin/sh\necho hello\n")
    (home / "bin/hello").chmod(0o755)
    run = shell(readable=("~/bin", "~/not-there"))
    assert run("~/bin/hello; echo x > ~/bin/new || echo refused").content.endswith("refused")
    assert not (home / "bin/new").exists()


def test_a_home_of_its_own_is_there_for_what_writes_at_home(shell: Running, home: Path) -> None:
    run = shell()
    assert run("echo x > ~/.cache-of-mine && cat ~/.cache-of-mine").content == "x"
    assert list(home.iterdir()) == [home / ".local"]
    assert run("ls -A ~").content == "(no output)"


def test_git_knows_its_owner_without_their_configuration(shell: Running, home: Path) -> None:
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = ada@example.org\n[github]\n\ttoken = crown-jewels\n"
    )
    said = shell()(
        "git init -q g && cd g && git commit -q --allow-empty -m x && git log --format='%an <%ae>'"
    ).content
    assert said == "Ada <ada@example.org>"
    assert "crown" not in shell()("env; cat ~/.gitconfig").content


DENIALS = (
    "*:secret/*",
    "read_file:./secret",
    "*:linked/*",
    "*:SECRET/**",
    "*:s?cret/*",
    "*:secret/**/*",
)
READINGS = (
    "cat secret/a.txt",
    "cat ./secret/../secret/a.txt",
    "cat linked/a.txt",
    "cat link.txt",
    "cat $PWD/secret/a.txt",
    "cat /proc/self/cwd/secret/a.txt",
    "cat /proc/*/cwd/secret/a.txt /proc/*/root$PWD/secret/a.txt",
    "cat /proc/*/fd/*/secret/a.txt",
    "cat other-name.txt",
    "grep -r crown .",
    "find secret linked -type f -exec cat {} +",
    "mv secret away; cat away/a.txt",
    "cd ..; mv workspace w; cat w/secret/a.txt",
    "cp -r secret copy; cat copy/a.txt",
    "ln secret/a.txt hard; cat hard",
    "umount secret; cat secret/a.txt",
    "tar c . | tar xO",
    "git init -q; git add -A; git grep --cached crown",
    "python3 -c \"print(open('secret/a.txt').read())\"",
)


@pytest.mark.parametrize("rule", DENIALS)
@pytest.mark.parametrize("kind", ["deny", "ask"])
def test_what_the_rules_name_is_hidden_from_commands(
    shell: Running, workspace: Workspace, rule: str, kind: str
) -> None:
    root = workspace.root
    (root / "secret").mkdir()
    (root / "secret/a.txt").write_text(JEWELS)
    (root / "other-name.txt").hardlink_to(root / "secret/a.txt")
    (root / "link.txt").symlink_to("secret/a.txt")
    (root / "linked").symlink_to("secret")
    run = shell(**{kind: (rule,)})
    readings = [
        f"({command}) 2>&1 | grep -qF '{JEWELS}' && echo read by way {number}"
        for number, command in enumerate(READINGS)
    ]
    assert run("\n".join([*readings, "echo it runs"])).content == "it runs"
    run("echo evil > secret/a.txt; echo evil > secret/new.txt; rm -rf secret; true")
    assert (root / "secret/a.txt").read_text() == JEWELS
    assert not (root / "secret/new.txt").exists()


def test_files_that_a_pattern_names_are_hidden_one_by_one(
    shell: Running, workspace: Workspace
) -> None:
    for name in ("a.pem", "deep/er/b.pem", "deep/c.txt"):
        (workspace.root / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace.root / name).write_text(JEWELS)
    said = shell(deny=("*:*.pem",))("cat a.pem deep/er/b.pem deep/c.txt").content
    assert said.count(JEWELS) == 1


@pytest.mark.parametrize("rule", ["*:secret/*", "*:secret.txt", "*:new/secret.txt"])
def test_what_is_denied_and_not_there_cannot_be_made(
    shell: Running, workspace: Workspace, rule: str
) -> None:
    (workspace.root / "new").mkdir()
    run = shell(deny=(rule,))
    run("mkdir secret; echo evil > secret/a; echo evil > secret.txt; echo evil > new/secret.txt")
    denied = workspace.root / rule.removeprefix("*:").removesuffix("/*")
    assert not denied.exists()


def test_what_no_tool_may_change_is_read_only_to_commands(
    shell: Running, workspace: Workspace
) -> None:
    (workspace.root / "src").mkdir()
    (workspace.root / "src/a.txt").write_text("plain")
    run = shell(deny=("{write_file,edit_file,apply_patch,shell}:src/*",))
    assert run("cat src/a.txt").content == "plain"
    assert "Read-only" in run("echo evil | tee src/a.txt").content


def test_more_denied_places_than_can_be_hidden_make_a_command_ask(workspace: Workspace) -> None:
    for number in range(1_100):
        (workspace.root / f"{number}.pem").touch()
    roots = Roots(workspace, (), PolicySettings(deny=("*:*.pem",)))
    tool = Shell(roots, Redactor(), threading.Event(), lambda: True).tools()[0]
    call = calling(Toolbox([tool], roots.rules), DenyAll())
    assert "nobody is here to approve" in call("shell", command="ls").content


@pytest.mark.parametrize("where", ["/tmp", "/var/tmp"])
def test_an_added_scratch_directory_is_the_one_that_file_tools_see(
    workspace: Workspace, where: str, tmp_path: Path
) -> None:
    if not Path(where).is_dir() or Path(where).is_symlink():
        pytest.skip(f"there is no {where}")
    roots = Roots(workspace, [Path(where)])
    shell = Shell(roots, Redactor(), threading.Event(), lambda: True).tools()[0]
    may = Rules(PolicySettings(allow=("shell",)))  # though it holds too much to be copied
    call: Call = calling(Toolbox([shell, *reading_tools(roots)], may), DenyAll())
    name = f"{where}/{tmp_path.name}-{workspace.root.parent.name}"
    try:
        call("shell", command=f"echo written > {name}")
        assert call("read_file", path=name).content == "written\n"
        assert call("shell", command=f"cat {name}").content == "written"
    finally:
        Path(name).unlink(missing_ok=True)


def test_in_an_added_home_nothing_is_made_and_nothing_hidden_is_changed(
    shell: Running, home: Path, workspace: Workspace
) -> None:
    for name in ("Documents", ".config", "bin"):
        (home / name).mkdir()
    for name in ("notes.md", ".profile"):
        (home / name).write_text("old")
    ways = (
        "echo x > .gitconfig",
        "mkdir .vim",
        "echo x > .config/a",
        "echo x > .profile",
        "rm .profile",
        "echo x > bin/ls",
        "mv Documents .D",
        "echo x > Documents/a",
        "echo x > notes.md",
        f"echo x > {workspace.root}/a",
    )
    shell(home)(f"cd {home}; " + "; ".join(ways))
    paths = [path.relative_to(home).as_posix() for path in home.rglob("*")]
    assert sorted(path for path in paths if not path.startswith(".local")) == [
        *(".config", ".profile", "Documents", "Documents/a", "bin", "notes.md")
    ]
    assert (home / ".profile").read_text() == "old"
    assert (home / "notes.md").read_text() == (workspace.root / "a").read_text() == "x\n"


def test_what_is_hidden_and_not_harmless_is_not_changed(
    shell: Running, workspace: Workspace
) -> None:
    for name in (".never-heard-of-it", ".gitignore"):
        (workspace.root / name).write_text("old")
    shell()("echo x >> .never-heard-of-it; echo x >> .gitignore; rm .never-heard-of-it")
    assert (workspace.root / ".never-heard-of-it").read_text() == "old"
    assert (workspace.root / ".gitignore").read_text() == "oldx\n"
