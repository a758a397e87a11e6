"""The generated documentation says what the code says."""

from tests.generated_docs import DOCS, command_line, configuration


def test_the_command_line_page_is_what_the_program_prints() -> None:
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == command_line()


def test_the_configuration_page_lists_every_setting() -> None:
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    assert page == configuration(page)
