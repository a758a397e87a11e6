"""How an owner asks to remember something. The offline responder stores it; for capture, it is a
statement.
"""

from assistant.tables import table_of

_DATA = {name: str(words).replace("\n", "") for name, words in table_of(__file__).items()}

ASKING = _DATA["asking"]
"""Words by which the owner asks to remember what follows a colon, or `THAT`."""
THAT = _DATA["that"]
REQUESTS = _DATA["requests"]
"""How a question begins that asks the assistant to do something."""
BETWEEN = _DATA["between"]
