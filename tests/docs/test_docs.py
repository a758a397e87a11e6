"""The generated documentation says what the code says."""

import re
import shutil
import subprocess

import pytest

from tests.support.generated_docs import DOCS, command_line, configuration, manual_page, memory


def test_the_command_line_page_is_what_the_program_prints() -> None:
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == command_line()


def test_the_configuration_page_lists_every_setting() -> None:
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    assert page == configuration(page)


def test_the_memory_page_lists_every_store() -> None:
    page = (DOCS / "memory.md").read_text(encoding="utf-8")
    assert page == memory(page)


def test_the_manual_is_what_the_program_says_and_reads_well() -> None:
    assert (DOCS / "assistant.1").read_text(encoding="utf-8") == manual_page()
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    command = ["groff", "-man", "-Tutf8", "-ww", DOCS / "assistant.1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.sub(".\b", "", done.stdout)
    assert "assistant memory undo" in shown and "ASSISTANT RECALL" in shown
