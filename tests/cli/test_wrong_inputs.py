"""What people type wrong, and the first line of the answer: what is wrong, and what to do."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.cli import root
from assistant.tools.policy import TOOLS
from assistant.workspace import template, trust
from tests.cli.conftest import ASSISTANT

SESSION = "there is no session 'zzz'. `assistant sessions list` lists them"
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
    "recall --nonsense": "no such option: --nonsense. Write `--` before words that begin with a "
    "dash. See `assistant recall --help`",
    "config set mcpServers.x.args -y pkg": "no such option: -y. Write `--` before words that begin "
    "with a dash. See `assistant config set --help`",
    "recall --sesions x": "no such option: --sesions (Possible options: --in, --json, --sessions). "
    "See `assistant recall --help`",
    "--continue": "no such option: --continue. Write `assistant chat --continue`",
    "--debg recall x": "no such option: --debg (Possible options: --debug). See `assistant --help`",
    "-w": "option '-w' requires an argument",
    "recall x -k": "option '-k' requires an argument",
    "recall -k abc x": "invalid value for '-k': 'abc' is not a whole number. "
    "See `assistant recall --help`",
    "recall -k 0 x": "invalid value for '-k': 0 is less than 1. See `assistant recall --help`",
    "recall x --budget -5": "invalid value for '--budget': -5 is less than 1. "
    "See `assistant recall --help`",
    "agenda --days -1": "invalid value for '--days': -1 is less than 0. "
    "See `assistant agenda --help`",
    "eval -n 0": "invalid value for '-n': 0 is less than 1. See `assistant eval --help`",
    "memory log -n none": "invalid value for '-n': 'none' is not a whole number. "
    "See `assistant memory log --help`",
    "ask --add-dir /nowhere x": "invalid value for '--add-dir': there is nothing at '/nowhere'. "
    "See `assistant ask --help`",
    "config set sources [{notes": "the setting 'sources' cannot be '[{notes': it should be a list "
    "as JSON. Correct it with `assistant config set sources VALUE`",
    "config set sources ~/notes": "the setting 'sources.1.name' cannot be '~/notes': it should be "
    "a name of letters, digits, - and _. Correct it with "
    "`assistant config set sources.1.name VALUE`",
    "ask --system / x": "invalid value for '--system': '/' is a directory. "
    "See `assistant ask --help`",
    "recall --json=yes x": "option '--json' does not take a value",
    "agenda extra": "'extra' is not expected here. See `assistant agenda --help`",
    "forget": "missing argument 'ID|FILE:LINE|WORDS...'. See `assistant forget --help`",
    "remind": "missing argument 'WHEN WHAT...'. See `assistant remind --help`",
    "event": "missing option '--source'. See `assistant event --help`",
    "sessions show": "missing argument 'ID'. See `assistant sessions show --help`",
    "config set memory.k": "missing argument 'VALUE...'. See `assistant config set --help`",
    "completion tcsh": "invalid value for 'SHELL': 'tcsh' is not one of 'bash', 'zsh', 'fish'. "
    "See `assistant completion --help`",
    "hook --quiet-for sesion": "invalid value for '--quiet-for': 'sesion' is not one of 'once', "
    "'session'. See `assistant hook --help`",
    "heartbeat install --with at": "invalid value for '--with': 'at' is not one of 'systemd', "
    "'launchd', 'cron'. See `assistant heartbeat install --help`",
    # options that exclude or need one another
    "recall x --sessions --in notes": "--sessions and --in cannot be combined. Give one of them",
    "remember --as-is --secret a x": "--as-is and --secret cannot be combined. Give one of them",
    "forget x --sessions": "--sessions only works with --purge. Add --purge, or drop --sessions",
    "chat --continue --resume k7q": "--continue and --resume cannot be combined. Give one of them",
    "context --turn 2": "--turn needs a session. Name one with --session ID",
    "memory map --port 0": "--port and --no-open only work with --serve. Add it, or drop them",
    "memory map --no-open": "--port and --no-open only work with --serve. Add it, or drop them",
    "reach list extra": "`list` takes no address. `assistant reach list` is enough",
    "memory map --serve --to x": "--serve writes no file and no JSON. Drop --to and --json",
    "agenda --ics --json": "--ics and --json cannot be combined. Give one of them",
    "connect --undo": "no program given. Name one of claude-code, codex, gemini-cli, qwen-code, "
    "cursor, opencode, claude-desktop or zed",
    "mcp --trust --read-only": "--trust and --read-only cannot be combined. Give one of them",
    "import . --dry-run --yes": "--dry-run and --yes cannot be combined. Give one of them",
    # what is named, and is not there
    "ask --resume zzz hi": SESSION,
    "context --session zzz": SESSION,
    "sessions show zzz": SESSION,
    "sessions delete zzz": SESSION,
    "sessions rename zzz a title": SESSION,
    "skills list nosuch": "there is no skill 'nosuch'. Available: none",
    "mcp-servers list nosuch": "there is no MCP server 'nosuch'. Available: none",
    "mcp-servers approve nosuch": "there is no MCP server 'nosuch'. Available: none",
    "connect emacs": "'emacs' is not a program that can be connected. Name one of claude-code, "
    "codex, gemini-cli, qwen-code, cursor, opencode, claude-desktop, zed",
    "import /nowhere": "there is nothing at /nowhere. Name a file, an archive or a folder",
    "export /nowhere/x.zip": "there is no folder /nowhere. Create it first",
    "init --from /nowhere.zip new": "there is nothing at /nowhere.zip. Name an archive",
    "secrets show nosuch": "there is no secret 'nosuch'. Run `assistant secrets show`",
    "secrets add": "no secret given. `assistant secrets add NAME`",
    "secrets remove nosuch": "there is no secret 'nosuch'. Run `assistant secrets show`",
    "-w /nowhere recall x": "there is no workspace at /nowhere. Run `assistant init /nowhere`",
    # what is given, and makes no sense
    "recall": "there is no query on standard input. Write one per line",
    "recall x --as-of 'last nonsense'": "'last nonsense' is not a date. Give a day such "
    "as 2026-11-01, yesterday, 7d, friday or last week",
    "recall x --as-of ''": "'' is not a date. Give a day such as 2026-11-01, yesterday, 7d, friday "
    "or last week",
    "forget MEMORY.md:9999": "MEMORY.md has no fact in line 9999. `assistant recall` shows each "
    "MEMORY.md:LINE",
    "init ''": "the path is empty. Give one; `.` is the current folder",
    "-w '' recall x": "the path is empty. Give one; `.` is the current folder",
    "export ''": "the path is empty. Give one; `.` is the current folder",
    "ask ''": "the message is empty. Give some words",
    "remember ''": "the fact is empty. Give some words",
    "event --source ci": "there is no event on standard input. Pipe a JSON object into it",
    "memory log --since soon": "'soon' is not a date. Give a day such as 2026-11-01, yesterday, "
    "7d, friday or last week",
    "memory merge one two": "a merge takes BASE, OURS, THEIRS and the file's name. "
    "Name those, or nothing to merge conflict copies",
    "skills new 'Bad Name'": "'Bad Name' cannot be the name of a skill. Use lower-case letters, "
    "digits and hyphens, at most 64",
    # a negative number is no option
    "agenda -5": "'-5' is not expected here. See `assistant agenda --help`",
    "remind in -5 minutes x": "“in -5 minutes x” is not understood as a time. Begin with a time, "
    "such as “in 20 minutes”, “tomorrow at 9”, “on the 30th at 9”, “next Monday at 10” or “every "
    "other Friday at 9”",
    "config set memory.k -1": "the setting 'memory.k' cannot be '-1': it should be greater than or "
    "equal to 1. Correct it with `assistant config set memory.k VALUE`",
    # settings
    "config show memory.kk": "there is no setting 'memory.kk'. Did you mean memory.k?",
    "config set modle x": "there is no setting 'modle'. Did you mean model?",
    "config set modell x": "there is no setting 'modell'. Did you mean model?",
    "config set memry.k 3": "there is no setting 'memry.k'. Did you mean memory.k?",
    "config unset nosuch": "there is no setting 'nosuch'. `assistant config show` lists the "
    "settings",
    "config set memory.k many": "the setting 'memory.k' cannot be 'many': it should be a whole "
    "number. Correct it with `assistant config set memory.k VALUE`",
    "config set index.url localhost:8000": "the setting 'index.url' cannot be 'localhost:8000': it "
    "should be an address such as http://localhost:8000. Correct it with `assistant config set "
    "index.url VALUE`",
    "config set web.search google": "the setting 'web.search' cannot be 'google': it should be "
    "'tavily', 'brave' or 'searxng'. Correct it with `assistant config set web.search VALUE`",
    "config set model antropic/claude-x": "the model 'antropic/claude-x' has no known provider: "
    "'antropic'. Did you mean anthropic/claude-x?",
    "config set model gpt": "the model 'gpt' has no provider. Write PROVIDER/MODEL, such as "
    "anthropic/… or ollama_chat/…",
    "config set profiles.3.name a/b": "'profiles.3.name' cannot be set yet. First `assistant "
    "config set profiles.1.name VALUE`",
}
"""Command lines, and what they are answered."""
VARIABLES = {
    "ASSISTANT_MCPSERVERS": "note: ASSISTANT_MCPSERVERS is not a setting",
    "ASSISTANT_FOO": "note: ASSISTANT_FOO is not a setting",
    "ASSISTANT_MEMORY_K": "note: ASSISTANT_MEMORY_K is not a setting; did you mean "
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
                root.run()
        return ended.value.code, capsys.readouterr().err.splitlines()

    return run


@pytest.mark.parametrize("line", WRONG)
def test_it_is_said_what_is_wrong_and_what_to_do(line: str, answered) -> None:
    code, lines = answered(line)
    assert lines[0] == f"assistant: {WRONG[line]}"
    assert code in (1, 2)


def test_a_misspelt_variable_is_named_where_it_would_have_counted(
    answered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSISTANT_MODLE", "openai/test")
    said = "note: ASSISTANT_MODLE is not a setting; did you mean ASSISTANT_MODEL?"
    assert said in answered("ask hello")[1]


NOT_UTF8 = {
    "remind tomorrow at 9": "WHEN WHAT...",
    "config set heartbeat.notify": "VALUE...",
    "skills new okk --description": "--description",
    "event --source x --id": "--id",
    "sessions rename ID": "TITLE...",
    "remember": "[FACT]...",
    "mcp --as": "--as",
}
"""Command lines whose last word is not UTF-8, and its name."""


@pytest.mark.parametrize("line", NOT_UTF8)
def test_words_that_are_not_utf8_are_refused(line: str, answered) -> None:
    code, lines = answered(f"{line} 'bad \udcff'")
    assert (code, lines) == (
        2,
        [f"assistant: '{NOT_UTF8[line]}' is not UTF-8 text. Convert it first"],
    )


def test_a_path_may_be_any_bytes(answered, tmp_path: Path) -> None:
    assert answered("export 'bad \udcff'")[0] in (0, None)
    assert (tmp_path / "bad \udcff").is_file()


@pytest.mark.parametrize("line", ["mcp -w ''", "--workspace= mcp", "--debug -w ' ' hook prompt"])
def test_no_other_program_is_served_a_workspace_without_a_name(line: str, tmp_path: Path) -> None:
    root = template.create(tmp_path / "default").workspace.root
    done = subprocess.run(
        [ASSISTANT, *shlex.split(line)],
        input="{}",
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"ASSISTANT_WORKSPACE": str(root)},
    )
    assert (done.stdout, done.returncode) == ("", 0 if "hook" in line else 2)
    assert "the path is empty. Give one; `.` is the current folder" in done.stderr


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
