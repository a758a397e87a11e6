"""The moving part of the screen, drawn into a text instead of a terminal."""

import io

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.widgets import SearchToolbar

from assistant.cli.chat.region import Canvas, Region, SteadyOutput


def test_what_has_not_changed_is_not_sent_again() -> None:
    typed = "where did Lena say that the spare key of the cellar is"
    sent = io.StringIO()
    output = SteadyOutput(sent, lambda: Size(rows=100, columns=30))
    message = Buffer(document=Document(typed))
    region = Region(message, Buffer(multiline=False), SearchToolbar(), "> ")
    seen: list[str] = []
    with create_pipe_input() as keys:
        app: Application[None] = Application(region.layout(), input=keys, output=output)
        Canvas(app, region, output)

        def drawn(_: object) -> None:
            seen.append(sent.getvalue())
            if len(seen) == 1:
                app.invalidate()
            elif len(seen) == 2:
                app.exit()

        app.after_render += drawn
        app.run()
    again = seen[1].removeprefix(seen[0])
    assert "where did Lena" in seen[0]
    assert "Lena" not in again
