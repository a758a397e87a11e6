from pathlib import Path

import pytest

from assistant.errors import ConfigError
from assistant.settings.sections import PolicySettings
from assistant.tools.base import Plan, ToolResult
from assistant.tools.policy import Rules, only_reads, unknown_tools

ROOT = Path("/somewhere/workspace")


def plan(*subjects: str, dangerous: bool = False, guarded: bool = False) -> Plan:
    return Plan(lambda: ToolResult(""), subjects, dangerous=dangerous, guarded=guarded)


def files(*names: str, dangerous: bool = True, guarded: bool = False) -> Plan:
    paths = tuple(str(ROOT / name) for name in names)
    return Plan(lambda: ToolResult(""), dangerous=dangerous, guarded=guarded, paths=paths)


def judged(tool: str, what: Plan, **rules: tuple[str, ...]) -> str:
    return Rules(PolicySettings(**rules), [ROOT]).judge(tool, what)


def test_without_rules_the_danger_decides() -> None:
    assert judged("read_file", plan("a")) == "run"
    assert judged("shell", plan("a", dangerous=True)) == "ask"


def test_deny_wins_over_ask_and_ask_over_allow() -> None:
    rules = {"allow": ("shell",), "ask": ("shell:git *",), "deny": ("shell:git push*",)}
    assert judged("shell", plan("ls", dangerous=True), **rules) == "run"
    assert judged("shell", plan("git log"), **rules) == "ask"
    assert judged("shell", plan("git push -f"), **rules) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf .",
        "git status && rm x",
        "git status | sh",
        "git status > /etc/passwd",
        "git status $(rm x)",
        "git status `rm x`",
        "git status\nrm x",
        "git status & rm x",
        "git status <(rm x)",
        "git status $[a[$PAGER]]",
        "git status ${x@P}",
    ],
)
def test_an_allowed_pattern_spans_no_second_command(command: str) -> None:
    dangerous = plan(command, dangerous=True)
    assert judged("shell", dangerous, allow=("shell:git status*",)) == "ask"


# where a file is called `a[$(rm x)]`, bash runs `rm x` in all of these
EVALUATED = [
    "test -v a*",
    "test -v ?\\[*",
    "[ -v a* ]",
    "printf -v a* x",
    r"printf -v $'a[$\x28rm x\x29]' x",
    "read a*",
    "declare a*",
    "unset $_",
    "let $_",
]


@pytest.mark.parametrize("command", EVALUATED)
def test_an_allowed_pattern_spans_no_command_in_an_argument(command: str) -> None:
    dangerous, allow = plan(command, dangerous=True), f"shell:{command.split()[0]} *"
    assert judged("shell", dangerous, allow=(allow.replace("[ ", "[[] "),)) == "ask"


@pytest.mark.parametrize("command", ["test -d x", "[ -d x ]", "printf x", "git diff *.py $x"])
def test_an_allowed_pattern_spans_plain_arguments(command: str) -> None:
    allow = f"shell:{command.split()[0]} *".replace("[ ", "[[] ")
    assert judged("shell", plan(command, dangerous=True), allow=(allow,)) == "run"


READING = ["cat x", "cat x; ls *", "grep 'a$' x | wc -l", "cd x && ls", "  head x\n  tail x"]
CHANGING = [
    "rm x",
    "cat x > y",
    "cat x; rm x",
    "cat <(rm x)",
    "<<<cat rm x",
    "<cat rm x",
    "echo a*; echo $[_]",
    "echo a*; echo $[true + _]",
    "echo a*; echo $((true + _))",
    "echo a*; ((true + _))",
    "echo a*; [[ -v _ ]]",
    "test -v a*",
    "printf -v a* x",
    "cat=(rm x); ${cat[@]}",
    "x='a[b]'; echo ${x@P}",
    "coproc rm x",
    "coproc cat { rm x; }",
    "function cat { rm x; }",
    "cat() { rm x; }; cat",
    "{rm,x}",
    "$'rm' x",
    "cat\u00a0/run",
]


@pytest.mark.parametrize("command", READING + CHANGING)
def test_a_command_only_reads_if_all_of_it_is_known_to(command: str) -> None:
    assert only_reads(command) == (command in READING)


def test_a_denied_pattern_finds_its_command_among_others() -> None:
    assert judged("shell", plan("cd x && rm -rf y"), deny=("shell:rm *",)) == "deny"
    assert judged("shell", plan("echo $(rm y)"), deny=("shell:rm *",)) == "deny"


def test_every_path_of_a_call_must_be_allowed_and_one_denied_is_enough() -> None:
    both = files("src/a.py", "docs/b.md")
    assert judged("apply_patch", both, allow=("apply_patch:src/*",)) == "ask"
    assert judged("apply_patch", both, allow=("apply_patch:src/*", "apply_patch:docs/*")) == "run"
    assert judged("apply_patch", both, deny=("*:docs/*",)) == "deny"


def test_only_a_pattern_lets_what_steers_be_written_unasked() -> None:
    memory = files("MEMORY.md", guarded=True)
    assert judged("edit_file", memory, allow=("edit_file",)) == "ask"
    assert judged("edit_file", memory, allow=("edit_file:MEMORY.md",)) == "run"


SPELLED = [
    "git push",
    "git  push origin",
    "git\tpush",
    "git \\\npush",
    "git -C /x push",
    "git -c a=b push -f",
    "git --git-dir /x --work-tree /y push",
    "FOO=1 git push",
    "time git push",
    "sudo -u bob git push",
    "env -i A=b git push",
    "timeout 5 git push",
    "nohup git push &",
    "if true; then git push; fi",
    "while true; do git push; done",
    "! git push",
    "{ git push; }",
    "/usr/bin/git push",
    "'git' \"push\"",
    "g\\it push",
    "bash -lc 'cd x && git push'",
    'eval "git push"',
    'echo "$(git push)"',
    "ls | xargs git push",
    "trap '' TERM; git push",
    "git push 'nothing closes this",
    "git  push",
    "git\tpush origin main",
    " git push",
    "git push;",
    "git push --force origin HEAD",
    "git push && echo done",
    "make && git push",
    "make; git push",
    "make || git push",
    "echo x | git push",
    "git push > log 2>&1",
    "git push &",
    "(git push)",
    "git -C /tmp/x push",
    "git -c user.name=x push",
    "git --git-dir=.git push",
    "git --git-dir .git --work-tree . push",
    "git --no-pager push",
    "git -p push",
    'FOO="a b" BAR=2 git push',
    "GIT_SSH_COMMAND='ssh -i k' git push",
    "env FOO=1 git push",
    "env -i git push",
    "env -u X git push",
    "time -p git push",
    "command git push",
    "exec git push",
    "sudo git push",
    "sudo -u root git push",
    "nice -n 5 git push",
    "ionice -c3 git push",
    "timeout 30 git push",
    "timeout -k 5 30 git push",
    "stdbuf -oL git push",
    "setsid git push",
    "find . -name .git -execdir git push ;",
    "uv run git push",
    'su me -c "git push"',
    "flock .lock git push",
    "strace -f git push",
    "if git push; then echo ok; fi",
    "while ! git push; do sleep 1; done",
    "for i in 1 2 3; do git push && break; done",
    "until git push; do sleep 5; done",
    "case x in x) git push;; esac",
    "f() { git push; }; f",
    "[ -d .git ] && git push",
    "test -d .git && git push",
    "cd sub && git push",
    'bash -c "git push"',
    "sh -c 'cd x; git push origin'",
    'bash -lc "git push"',
    "eval git push",
    "echo $(git push)",
    "echo `git push`",
    "x=$(git push)",
    "git \\\n  push",
    '"git" push',
    "'git' 'push'",
    'git "push" origin',
    "xargs git push < /dev/null",
    "echo main | xargs git push origin",
    "git push # comment",
    "# first\ngit push",
    "cat <<EOF | bash\ngit push\nEOF",
    "bash <<'EOF'\ngit push\nEOF",
    "ssh-agent bash -c 'git push'",
    "watch -n 60 git push",
    "trap 'git push' EXIT",
    "parallel git push ::: a b",
    "exec 3>&1; git push >&3",
    "coproc git push",
    "function deploy { git push; }",
    "$'git' push",
    "git $'push' origin",
    'git $"push"',
    "{git,push}",
    "{git,push,origin} -f",
    "git {push,origin}",
    "diff <(git push) x",
    "tee >(git push)",
    "[[ -d .git ]] && git push",
    "((1)) && git push",
    "for ((;;)); do git push; done",
    "coproc PUSH { git push; }",
    'f=(git push); "${f[@]}"',
    "bash <<< 'git push'",
    "git push |& cat",
    "git push &> log",
    "select x in a; do git push; done",
]


@pytest.mark.parametrize("command", SPELLED)
def test_a_denied_command_is_denied_in_plain_spellings(command: str) -> None:
    assert judged("shell", plan(command), deny=("shell:git push*",)) == "deny"
    assert judged("shell", plan(command), ask=("shell:git push*",)) == "ask"


INNOCENT = [
    "git status",
    "git log --oneline",
    'echo "git push"',
    'grep -r "git push" docs',
    'git commit -m "git push later"',
    "git stash push-not",
    "git config push.default simple",
    "cat git push.txt",
    "ls git/push",
    "git pull",
    "echo git",
    "printf '%s\\n' \"run git push\"",
    "sed -i 's/git push/git pull/' notes.md",
    "# git push",
    "true # then git push",
    "git log --grep push",
    "grep -r 'git push' .",
]


@pytest.mark.parametrize("command", INNOCENT)
def test_other_commands_are_not(command: str) -> None:
    assert judged("shell", plan(command), deny=("shell:git push*",)) == "run"


def test_the_more_specific_of_ask_and_allow_decides() -> None:
    web = {"ask": ("fetch_url",), "allow": ("fetch_url:https://docs.python.org/*",)}
    assert judged("fetch_url", plan("https://docs.python.org/3/"), **web) == "run"
    assert judged("fetch_url", plan("https://example.org/"), **web) == "ask"
    shell = {"ask": ("shell:git *",), "allow": ("shell:git status*", "shell")}
    assert judged("shell", plan("git status -s"), **shell) == "run"
    assert judged("shell", plan("git status; git push"), **shell) == "ask"
    assert judged("shell", plan("ls", dangerous=True), **shell) == "run"
    both = {"ask": ("edit_file:a/*",), "allow": ("edit_file:a/*",)}
    assert judged("edit_file", files("a/b"), **both) == "ask"


def test_a_rule_about_no_tool_is_named() -> None:
    rules = {
        "policy.deny": ("secret/*", "read_file:x", "{read_file,x}", "mcp_mail_*", "*delete*"),
        "hooks.1.after": ("red",),
    }
    denied, allowed = unknown_tools(rules)
    assert denied == "policy.deny has 'secret/*', but no tool is called 'secret/*'"
    assert allowed.startswith("hooks.1.after has 'red'")


def test_a_rule_that_means_too_much_is_a_fault_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match="expands to more than 500 globs"):
        Rules(PolicySettings(deny=("*:{1..100000}",)), [ROOT])


@pytest.mark.parametrize("rule", ["shell:ls*", "shell:*", "*:ls*", "execute_code:ls*"])
def test_an_allowed_command_allows_no_code(rule: str) -> None:
    code = plan("ls = 1\nimport os", dangerous=True)
    assert judged("execute_code", code, allow=(rule,)) == "ask"


def test_what_is_said_of_all_commands_holds_for_code() -> None:
    code = plan("import os", dangerous=True)
    assert judged("execute_code", code, allow=("shell",)) == "run"
    assert judged("execute_code", code, allow=("shell",), ask=("execute_code",)) == "ask"
    assert judged("execute_code", plan("1"), ask=("shell",)) == "ask"
    assert judged("execute_code", plan("1"), deny=("shell",)) == "deny"
