"""What is due, for a task that asks for it: "what is due today and tomorrow?"."""

import re
from datetime import date
from typing import TYPE_CHECKING

from assistant.upkeep.agenda import DAYS, listed

if TYPE_CHECKING:
    from assistant.app.chat import Chat

TITLE = "The agenda"
ASKS = re.compile(
    r"\b(?:due|agenda|calendar|appointments?|upcoming|coming up|birthdays?|anniversar\w+|deadlines?"
    r"|expir\w+|today|tomorrow|(?:this|next|coming) (?:week|weekend|month)"
    r"|fällig\w*|termine?n?|kalender|ansteht|anstehen\w*|geburtstage?|frist\w*|heute|morgen"
    r"|(?:diese|nächste|kommende)[nrs]? (?:woche|wochenende|monat))\b",
    re.IGNORECASE,
)
"""Words of a task that has to do with days."""


def given(chat: "Chat", task: str, today: date) -> dict[str, str]:
    """What goes with a task: the days ahead that memory speaks of, if it asks for them."""
    from assistant.tools.files.roots import Roots

    if not ASKS.search(task):
        return {}
    roots = Roots(chat.place, (), chat.settings.policy)
    return {
        TITLE: listed(
            chat.memory,
            chat.place,
            today,
            DAYS,
            lambda passage: not roots.denies("recall", passage.source),
        )
    }
