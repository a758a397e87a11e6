"""What a scripted model says when it reads a session for facts."""

import json
import re
from collections.abc import Callable

from tests.support.provider import Received


def operations(*facts: str) -> Callable[[Received], str]:
    """What a model finds: these facts, in the owner's first message of those it is shown."""

    def answer(request: Received) -> str:
        shown = str(request.body["messages"][1]["content"])
        (entry, *_) = re.findall(r"\b(e\d+)\b[^\n]*owner", shown, re.IGNORECASE)
        added = [{"op": "add", "text": fact, "entries": [entry]} for fact in facts]
        return json.dumps({"operations": added})

    return answer
