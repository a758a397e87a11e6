"""Every error that this program raises on purpose, in one tree.

::

    AssistantError            one line: what went wrong; `cure` says what to do about it
    ├── UsageError            the command line is wrong (exit 2)
    ├── ConfigError           a setting is unknown, of the wrong type, or contradicts another
    ├── WorkspaceError        there is no workspace here, or it is unusable
    ├── StorageError          a file cannot be read or written (permissions, full disk, not UTF-8)
    ├── MemoryFailure         recall or the index failed
    │   ├── EmbedderError     the embedding model is missing, damaged, or does not fit the index
    │   ├── LedgerError       a memory write was refused (ambiguous target, the file changed)
    │   └── DaemonError       the memory daemon does not answer, or will not yield the index
    ├── ModelError            the language model failed; `kind` says how
    ├── TurnError             the model did not fail, but the turn produced no answer
    ├── ImportFailure         data to be imported cannot be read or trusted
    ├── SessionError          a transcript is open elsewhere, missing, or damaged
    └── ToolError             a tool refused or failed; the model sees the message

Adapters translate foreign exceptions into these at the border; the command line prints them
in one place (`cli/main.py`).
"""

from enum import StrEnum

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 + SIGINT, the shell's convention."""
WAITING = 3
"""The exit code of a turn that ended with a question to the owner."""


class AssistantError(Exception):
    """What went wrong, in one line, and the cure: what the reader can do about it."""

    exit_code = 1

    def __init__(self, message: str, cure: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.cure = cure

    def __str__(self) -> str:
        if not self.cure:
            return self.message
        return f"{self.message}{'' if self.message.endswith(('.', '?', '!')) else '.'} {self.cure}"


class UsageError(AssistantError):
    """The command line is wrong."""

    exit_code = 2


class ConfigError(AssistantError):
    """A setting is unknown, of the wrong type, or contradicts another."""


class WorkspaceError(AssistantError):
    """There is no workspace here, or it is unusable."""


class StorageError(AssistantError):
    """A file cannot be read or written."""


class MemoryFailure(AssistantError):
    """Recall or the index failed."""


class EmbedderError(MemoryFailure):
    """The embedding model is missing, damaged, or does not fit the index."""


class LedgerError(MemoryFailure):
    """A memory write was refused."""


class DaemonError(MemoryFailure):
    """The memory daemon does not answer, or will not yield the index."""


class ModelFailure(StrEnum):
    """How a language model failed; the handling depends only on this."""

    AUTH = "auth"  # 401, 403: the key is missing, wrong, or not allowed this model
    BILLING = "billing"  # 402, or an exhausted quota
    RATE_LIMIT = "rate_limit"  # 429
    OVERFLOW = "overflow"  # 413, or the provider's own wording for "too many tokens"
    NOT_FOUND = "not_found"  # no such model or endpoint
    CONNECTION = "connection"  # refused, reset, no such host
    TIMEOUT = "timeout"
    SERVER = "server"  # 5xx
    BAD_REQUEST = "bad_request"  # any other 4xx: the request itself is at fault
    PROTOCOL = "protocol"  # the answer could not be understood


class ModelError(AssistantError):
    """The language model failed.

    `retry_after` is the delay in seconds that the provider asked for, if any. `unserved`: the model
    should run on this machine, but nothing listens on its port.
    """

    def __init__(
        self,
        message: str,
        cure: str = "",
        *,
        kind: ModelFailure,
        retry_after: float | None = None,
        unserved: bool = False,
    ) -> None:
        super().__init__(message, cure)
        self.kind = kind
        self.retry_after = retry_after
        self.unserved = unserved


class TurnError(AssistantError):
    """The model did not fail, but the turn produced no answer."""


class ImportFailure(AssistantError):
    """Data to be imported cannot be read or trusted."""


class SessionError(AssistantError):
    """A transcript is open elsewhere, missing, or damaged."""


class ToolError(AssistantError):
    """A tool refused or failed; the model sees its message."""
