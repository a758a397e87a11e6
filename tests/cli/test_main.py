"""The tree of commands: what it loads, where options may stand, how errors end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.cli.root import hoisted
from assistant.workspace.folder import Workspace
from tests.cli.tty import Tty

HEAVY = """
    chromadb onnxruntime litellm torch transformers sentence_transformers tokenizers numpy
    pydantic pydantic_settings rich prompt_toolkit asyncio
"""
ASSISTANT = Path(sys.executable).with_name("assistant")

PROBE = """
import sys
sys.argv = ["assistant", *{arguments!r}]
from assistant.cli.front import run
try:
    run()
finally:
    print("LOADED", *(name for name in {heavy!r} if name in sys.modules), file=sys.stderr)
"""


def run_assistant(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; the last line of stderr names heavy imports."""
    program = PROBE.format(arguments=list(arguments), heavy=HEAVY.split())
    return subprocess.run(
        [sys.executable, "-c", program], input=stdin, capture_output=True, text=True, timeout=600
    )


def loaded(done: subprocess.CompletedProcess[str]) -> list[str]:
    return done.stderr.strip().splitlines()[-1].split()[1:]


@pytest.mark.parametrize("arguments", [["--help"], ["recall", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    done = run_assistant(*arguments)
    assert done.returncode == 0
    assert loaded(done) == []


def test_a_warm_recall_loads_nothing_heavy(workspace: Workspace) -> None:
    ask = ["-w", str(workspace.root), "recall", "anything"]
    assert run_assistant(*ask).returncode == 0
    try:
        warm = run_assistant(*ask)
    finally:
        run_assistant("-w", str(workspace.root), "daemon", "stop")
    assert warm.returncode == 0
    assert loaded(warm) == []


def test_a_recall_brings_its_own_commands_and_no_others(workspace: Workspace) -> None:
    probe = PROBE.replace("heavy!r", "modules!r").format(
        arguments=["-w", str(workspace.root), "--debug", "recall", "--help"],
        modules=[
            "assistant.cli.commands.facts",
            "assistant.cli.main",
            "assistant.cli.commands.talk",
        ],
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert loaded(done) == ["assistant.cli.commands.facts"]
    assert "Usage: assistant recall" in done.stdout


def test_a_hook_loads_next_to_nothing(workspace: Workspace) -> None:
    """Somebody waits for it at each prompt: no tree of commands, and fifty modules of ours."""
    call = "from assistant.cli.front import run; run()"
    words = ("-w", workspace.root, "hook", "prompt", "--patient")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", call, *words],
        input='{"prompt": "who has the key?"}',
        capture_output=True,
        text=True,
        timeout=600,
    )
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "assistant.integrations.hook_prompt" in names
    assert not names & {*HEAVY.split(), "typer", "assistant.cli.main", "subprocess"}
    assert len([name for name in names if name.split(".")[0] == "assistant"]) <= 50


def test_global_options_may_stand_anywhere() -> None:
    assert hoisted(["recall", "x", "-w", "here", "--debug"]) == [
        "-w",
        "here",
        "--debug",
        "recall",
        "x",
    ]
    assert hoisted(["recall", "--workspace=here"]) == ["--workspace=here", "recall"]
    assert hoisted(["recall", "x", "-where"]) == ["-where", "recall", "x"]
    assert hoisted(["remember", "--", "-w is a flag"]) == ["remember", "--", "-w is a flag"]


def test_ctrl_c_while_modules_load_leaves_no_trace(workspace: Workspace) -> None:
    begin = """
import signal, sys
class Interrupts:
    def find_spec(self, name, *_):
        if name == "typer":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
from assistant.cli.front import run
run()
"""
    for command in ("recall", "doctor"):
        words = [sys.executable, "-c", begin, "-w", workspace.root, command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600)
        assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_what_cannot_be_written_or_was_closed_is_no_crash(workspace: Workspace) -> None:
    def ended(command: str) -> tuple[int, str]:
        words = [
            "sh",
            "-c",
            f'"$@" {command}',
            "sh",
            ASSISTANT,
            "-w",
            workspace.root,
            "--no-daemon",
        ]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600)
        return done.returncode, done.stderr

    full = "assistant: the output could not be written: No space left on device. See --debug\n"
    assert ended("memory log --help >/dev/full") == (1, full)
    assert ended("completion bash >&-") == (0, "")
    assert ended("chat <&-") == (0, "")


def test_arguments_are_utf8_in_any_locale_or_refused(workspace: Workspace) -> None:
    def remembered(fact: bytes, **more: str) -> subprocess.CompletedProcess[bytes]:
        words = [ASSISTANT, "-w", workspace.root, "--no-daemon", "remember", fact]
        return subprocess.run(words, capture_output=True, env={**os.environ, **more}, timeout=600)

    ascii_alone = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert remembered("Grüße an Jürgen".encode(), **ascii_alone).returncode == 0
    refused = remembered(b"caf\xe9")
    assert refused.returncode == 2
    assert refused.stderr == b"assistant: '[FACT]...' is not UTF-8 text. Convert it first\n"
    text = (workspace.root / "MEMORY.md").read_text(encoding="utf-8")
    assert "- Grüße an Jürgen\n" in text
    assert "caf" not in text


def test_a_missing_workspace_is_one_line_with_the_cure(tmp_path: Path) -> None:
    done = run_assistant("-w", str(tmp_path / "none"), "recall", "anything")
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if not line.startswith("LOADED")]
    assert lines == [
        f"assistant: there is no workspace at {tmp_path / 'none'}. "
        f"Run `assistant init {tmp_path / 'none'}`"
    ]


PROMPTED = """
import sys
import time
from pathlib import Path
from assistant.cli.chat.terminal import converse
from assistant.workspace.folder import Workspace

class Options:
    latest, off_the_record = False, True

    @property
    def resume(self):  # asked for once the prompt stands
        print("LOADED", *(name for name in {heavy!r} if name in sys.modules), "and no more")

class Context:
    directory = None

    def workspace(self):
        return Workspace(Path({root!r}))

    def open_chat(self, *_, **__):
        time.sleep(600)  # what was printed comes to the screen, and the test ends this
        raise EOFError

converse(Context(), Options(), plain=False)
"""


def test_the_prompt_stands_before_anything_heavy_is_loaded(workspace: Workspace) -> None:
    heavy = [name for name in HEAVY.split() if name not in ("prompt_toolkit", "asyncio")]
    program = PROMPTED.format(heavy=[*heavy, "assistant.app.chat"], root=str(workspace.root))
    with Tty("-c", program, command=Path(sys.executable)) as tty:
        tty.wait("and no more")
        assert "›" in tty.text and "LOADED and no more" in tty.text
