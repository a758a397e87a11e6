"""The moving part on the terminal: drawn below what is finished, and out of the way when need be.

All but `size` is for the screen's own thread.
"""

import asyncio
import base64
import os
import signal
import threading

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.layout.screen import Screen as Drawn

from assistant.cli.terminal.screen.output import SteadyOutput, rows_above, wraps_anew
from assistant.cli.terminal.screen.region import Region

STOPS_WITHIN = 1.0
"""Seconds until a shell that cannot stop us has had its chance."""


class Canvas:
    """Where an application draws its region; `drawn` and `resumed` say that it did, and is back."""

    def __init__(self, app: Application[None], region: Region, output: SteadyOutput) -> None:
        self.drawn = threading.Event()
        self.resumed = threading.Event()
        self._app = app
        self._region = region
        self._output = output
        self._size = output.get_size()
        self._was_tall = False
        self._away = False
        self._unseen: list[str] = []
        app.before_render += self._before_drawing
        app.after_render += self._after_drawing

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        size = self._output.get_size()
        return size.columns, size.rows

    def put(self, text: str, growing: str | None = None) -> None:
        """Write a finished text above the moving part, which shows `growing` from then on.

        While another program has the screen, it waits.
        """
        self._region.growing = self._region.growing if growing is None else growing
        if self._away:
            self._unseen.append(text)
            return
        self._output.hold()
        self._forget()
        self._output.write_raw(text)
        self._app.invalidate()

    def copy(self, text: str) -> None:
        """Have the terminal take a text to its clipboard (OSC 52)."""
        self._output.write_raw(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07")
        self._output.flush()

    def step_aside(self, begun: threading.Event, over: asyncio.Event) -> None:
        """Leave the terminal to another program until that is over."""

        async def wait() -> None:
            async with in_terminal():
                self._output.release()
                begun.set()
                await over.wait()
            self._back()

        self._away = True
        self._app.create_background_task(wait())

    def suspend(self) -> None:
        """Give the terminal back to the shell until `fg`."""

        async def stop() -> None:
            async with in_terminal():
                self._output.release()
                self.resumed.clear()
                os.kill(0, signal.SIGTSTP)  # another thread may be the one that takes it
                self.resumed.wait(STOPS_WITHIN)

        self._app.create_background_task(stop())

    def edit(self) -> None:
        """Open what is typed in the owner's editor."""
        self._away = True
        self._output.release()
        self._app.current_buffer.open_in_editor().add_done_callback(lambda _: self._back())

    def _back(self) -> None:
        self._away = False
        unseen, self._unseen = self._unseen, []
        for text in unseen:
            self.put(text)

    def _before_drawing(self, _: object) -> None:
        self._output.hold()
        drawn = self._app.renderer.last_rendered_screen
        resized = self._output.get_size() != self._size
        tall = self._region.is_tall
        if drawn is not None and (resized or tall or self._was_tall or self._shrinks(drawn)):
            self._forget()
        self._size, self._was_tall = self._output.get_size(), tall

    def _after_drawing(self, _: object) -> None:
        self._output.release()
        self.drawn.set()

    def _shrinks(self, drawn: Drawn) -> bool:
        rows, columns = self._size
        wanted = self._app.layout.container.preferred_height(columns, rows)
        return wanted.preferred < drawn.height

    def _forget(self) -> None:
        """Take the moving part off the screen, wherever a resize has put it."""
        drawn, size = self._app.renderer.last_rendered_screen, self._output.get_size()
        if drawn is not None and size.columns != self._size.columns and wraps_anew():
            cursor = drawn.get_cursor_position(self._app.layout.current_window)
            above = rows_above(drawn, cursor.y, size.columns) + cursor.x // size.columns
            self._output.cursor_up(max(0, above - cursor.y))
        self._size = size
        self._app.renderer.erase()
