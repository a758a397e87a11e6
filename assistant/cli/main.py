"""All commands as one tree, and `python -m assistant.cli.main`, which timers call."""

from assistant.cli import root
from assistant.cli.front import run

if __name__ == "__main__":
    run()
else:
    cli = root.tree()
