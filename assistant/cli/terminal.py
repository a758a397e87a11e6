"""The chat in a terminal: the prompt appears at once, everything heavy loads behind it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from assistant import config, storage
from assistant.cli.commands import COMMANDS, Quit, run_command
from assistant.cli.render import TurnView
from assistant.cli.typeahead import TypeAhead
from assistant.conversation import Conversation
from assistant.errors import AssistantError

PROMPT = ANSI("\x1b[1;36m›\x1b[0m ")
