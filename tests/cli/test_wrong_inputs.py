"""What people type wrong, and the first line of the answer: what is wrong, and what to do."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from assistant.cli import root
from assistant.cli.config_file import TOOLS
from assistant.cli.main import cli
from assistant.workspace import template, trust

SESSION = "there is no session 'zzz'. Run `assistant sessions list` for those there are"
NUMBER = "It should be a whole number of at least"
WRONG = {
    # commands
    "recal x": "there is no command `assistant recal`. Did you mean `assistant recall` or "
    "`assistant eval`?",
    "tidy": "there is no command `assistant tidy`. Did you mean `assistant memory tidy`?",
    "status": "there is no command `assistant status`. Did you mean `assistant memory status`?",
    "frobnicate": "there is no command `assistant frobnicate`. `assistant --help` lists the "
    "commands",
    "memory undoo": "there is no command `assistant memory undoo`. Did you mean `assistant memory "
    "undo`?",
    "daemon begin": "there is no command `assistant daemon begin`. `assistant daemon --help` lists "
    "the commands",
    # options and arguments
    "recall --nonsense": "there is no option --nonsense. See `assistant recall --help`",
    "recall --sesions x": "there is no option --sesions. Did you mean --sessions?",
    "--debg recall x": "there is no option --debg. Did you mean --debug?",
    "-w": "-w needs a value",
    "recall x -k": "-k needs a value",
    "recall -k abc x": f"-k cannot be 'abc'. {NUMBER} 1",
    "recall -k 0 x": f"-k cannot be 0. {NUMBER} 1",
    "recall x --budget -5": f"--budget cannot be -5. {NUMBER} 1",
    "agenda --days -1": f"--days cannot be -1. {NUMBER} 0",
    "eval -n 0": f"-n cannot be 0. {NUMBER} 1",
    "memory log -n none": f"-n cannot be 'none'. {NUMBER} 1",
    "recall --json=yes x": "--json takes no value",
    "agenda extra": "'extra' is one word too many. See `assistant agenda --help`",
    "forget": "ID|FILE:LINE|WORDS is missing. See `assistant forget --help`",
    "remind": "WHEN WHAT is missing. See `assistant remind --help`",
    "event": "--source is missing. See `assistant event --help`",
    "sessions show": "ID is missing. See `assistant sessions show --help`",
    "config set memory.k": "VALUE is missing. See `assistant config set --help`",
    "completion tcsh": "SHELL cannot be 'tcsh'. It should be one of bash, zsh, fish",
    "heartbeat install --with at": "--with cannot be 'at'. It should be one of systemd, launchd, "
    "cron",
    # options that exclude or need one another
    "recall x --sessions --in notes": "--sessions and --in exclude each other. Give one of them",
    "remember --as-is --secret a x": "--as-is and --secret exclude each other. Give one of them",
    "forget x --sessions": "--sessions only works with --purge. Add --purge, or drop --sessions",
    "chat --continue --resume k7q": "--continue and --resume exclude each other. Give one of them",
    "context --turn 2": "--turn needs a session. Name one with --session ID",
    "agenda --ics --json": "--ics and --json exclude each other. Give one of them",
    "connect --undo": "no program given. Name one of claude-code, codex, cursor, opencode, "
    "claude-desktop or zed",
    "mcp --trust --read-only": "--trust and --read-only exclude each other. Give one of them",
    "import . --dry-run --yes": "--dry-run and --yes exclude each other. Give one of them",
    # what is named, and is not there
    "ask --resume zzz hi": SESSION,
    "context --session zzz": SESSION,
    "sessions show zzz": SESSION,
    "sessions delete zzz": SESSION,
    "sessions rename zzz a title": SESSION,
    "skills list nosuch": "there is no skill 'nosuch'. There are: none",
    "mcp-servers list nosuch": "there is no MCP server 'nosuch'. There are: none",
    "mcp-servers approve nosuch": "there is no MCP server 'nosuch'. There are: none",
    "connect emacs": "'emacs' is no program that can be connected. One of claude-code, codex, "
    "cursor, opencode, claude-desktop, zed",
    "import /nowhere": "there is nothing at /nowhere. Name a file, an archive or a folder",
    "export /nowhere/x.zip": "there is no folder /nowhere. Make it first",
    "init --from /nowhere.zip new": "there is nothing at /nowhere.zip. Name an archive",
    "secrets show nosuch": "there is no secret 'nosuch'. Run `assistant secrets show`",
    "secrets remove nosuch": "there is no secret 'nosuch'. Run `assistant secrets show`",
    "-w /nowhere recall x": "there is no workspace at /nowhere. Run `assistant init /nowhere`",
    # what is given, and makes no sense
    "recall": "there is no query on standard input. Write one a line",
    "recall x --as-of 'last week'": "'last week' is not a date. Write it as 2026-05-08",
    "ask ''": "the message is empty. Give some words",
    "remember ''": "the fact is empty. Give some words",
    "event --source ci": "there is no event on standard input. Give it one object of JSON",
    "memory log --since soon": "'soon' is not a date. Give a day such as 2026-11-01, today, "
    "yesterday, 7d or 2w",
    "memory merge one two": "a merge takes BASE, OURS, THEIRS and the file's name. Or no file",
    "skills new 'Bad Name'": "'Bad Name' cannot be the name of a skill. Use lower-case letters, "
    "digits and hyphens, at most 64",
    # settings
    "config show memory.kk": "there is no setting 'memory.kk'. Did you mean memory.k?",
    "config set memry.k 3": "there is no setting 'memry.k'. Did you mean memory.k?",
    "config unset nosuch": "there is no setting 'nosuch'. `assistant config show` lists the "
    "settings",
    "config set memory.k many": "the setting 'memory.k' cannot be 'many': it should be a whole "
    "number. Correct it with `assistant config set memory.k VALUE`",
    "config set index.url localhost:8000": "the setting 'index.url' cannot be 'localhost:8000': it "
    "should be an address, as http://localhost:8000. Correct it with `assistant config set "
    "index.url VALUE`",
    "config set web.search google": "the setting 'web.search' cannot be 'google': it should be "
    "'tavily', 'brave' or 'searxng'. Correct it with `assistant config set web.search VALUE`",
    "config set model antropic/claude-x": "the model 'antropic/claude-x' has no provider that is "
    "known: 'antropic'. Did you mean anthropic/claude-x?",
    "config set model gpt": "the model 'gpt' has no provider. Write PROVIDER/MODEL, such as "
    "anthropic/… or ollama_chat/…",
    "config set profiles.3.name a/b": "'profiles.3.name' cannot be set. The next profile is "
    "profiles.1.name",
}
"""Command lines, and what they are answered."""
VARIABLES = {
    "ASSISTANT_MCPSERVERS": "note: ASSISTANT_MCPSERVERS is no setting",
    "ASSISTANT_FOO": "note: ASSISTANT_FOO is no setting",
    "ASSISTANT_MEMORY_K": "note: ASSISTANT_MEMORY_K is no setting; did you mean "
    "ASSISTANT_MEMORY__K?",
    "ASSISTANT_MEMORY__KK": "assistant: there is no setting 'memory.kk' (ASSISTANT_MEMORY__KK). "
    "Did you mean memory.k?",
}


@pytest.fixture
def answered(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Runs a command line without standard input; its exit code and standard error."""
    place = tmp_path / "mind"
    trust.grant(template.create(place).workspace)
    monkeypatch.chdir(tmp_path)

    def run(line: str) -> tuple[object, list[str]]:
        own = [] if line.startswith("-w") else ["-w", str(place), "--no-daemon"]
        monkeypatch.setattr(sys, "argv", ["assistant", *own, *shlex.split(line)])
        with open("/dev/null") as nothing:  # noqa: PTH123
            monkeypatch.setattr(sys, "stdin", nothing)
            with pytest.raises(SystemExit) as ended:
                root.run(cli)
        return ended.value.code, capsys.readouterr().err.splitlines()

    return run


@pytest.mark.parametrize("line", WRONG)
def test_it_is_said_what_is_wrong_and_what_to_do(line: str, answered) -> None:
    code, lines = answered(line)
    assert lines[0] == f"assistant: {WRONG[line]}"
    assert code in (1, 2)


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_that_is_no_setting_is_named(
    name: str, answered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "1")
    assert VARIABLES[name] in answered("config show")[1]


def test_a_rule_that_names_no_tool_is_named(answered) -> None:
    wrong = "note: policy.allow has 'shel:git*', but no tool is called 'shel'; did you mean shell?"
    assert wrong in answered("config set policy.allow 'shel:git*' 'shell:ls*' 'mcp_*' read_file")[1]


def test_the_tools_that_rules_may_name_are_those_that_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs/tools.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(TOOLS) - {"load_skills"}
