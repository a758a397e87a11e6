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


LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


@pytest.mark.parametrize("page", ["../README.md", *sorted(page.name for page in DOCS.glob("*.md"))])
def test_every_link_leads_somewhere(page: str) -> None:
    path = (DOCS / page).resolve()
    for target, anchor in LINK.findall(path.read_text(encoding="utf-8")):
        other = path.parent / target
        assert other.exists(), f"{page} names {target}"
        if anchor and other.suffix == ".md":
            titles = re.findall(r"(?m)^#+ (.+)$", other.read_text(encoding="utf-8"))
            slugs = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            assert anchor[1:] in slugs, f"{page} names {target}{anchor}"
