"""What a check of `assistant doctor` is, and what it finds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from assistant.cli.options import Globals
from assistant.errors import AssistantError

Check = Callable[[Globals], str]
"""Says what is well, or raises what is not: a Remark if nothing is broken by it."""


class Remark(AssistantError):
    """Something worth knowing that is no fault."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found, and the cure if something is to be cured."""

    name: str
    state: Literal["well", "remark", "fault"]
    said: str
    cure: str = ""

    @property
    def line(self) -> str:
        """It, in one line."""
        return f"{self.name}: {self.said}{f'. {self.cure}' if self.cure else ''}"


def examined(name: str, check: Check, options: Globals) -> Finding:
    """Carry out a check."""
    try:
        return Finding(name, "well", check(options))
    except Remark as remark:
        return Finding(name, "remark", remark.message, remark.cure)
    except AssistantError as error:
        return Finding(name, "fault", error.message, error.cure)
