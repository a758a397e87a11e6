"""What is due, for a task that asks for it: "what is due today and tomorrow?"."""

import re
from datetime import date
from typing import TYPE_CHECKING

from assistant.upkeep.agenda import coming, fact, when

if TYPE_CHECKING:
    from assistant.app.chat import Chat

TITLE = "The agenda"
DAYS, MOST = 30, 60
"""How far it looks ahead, and the most lines of it."""
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
    found = coming(chat.memory, today, DAYS)
    seen = [each for each in found if not roots.denies("recall", each.passage.source)]
    lines = [
        f"- {when(each, today)} {each.time}".rstrip() + f": {fact(each)} ({each.passage.citation})"
        for each in seen[:MOST]
    ]
    more = [f"- and {len(seen) - MOST} more"] if len(seen) > MOST else []
    return {TITLE: "\n".join([*lines, *more]) or f"Nothing is due within {DAYS} days."}
