"""The supervisor between the assistant and the commands and servers it starts: `supervise.py`."""

import sys
from pathlib import Path


def starting(entry: str) -> list[str]:
    """Return the command that runs this function of `supervise` in a separate process.

    That process imports nothing of the program but this package, and searches for it after Python's
    own modules, so that nothing in a workspace can be imported instead.
    """
    root = str(Path(__file__).resolve().parents[3])
    load = f"import sys; sys.path.append({root!r}); from assistant.tools.launch import supervise"
    return [sys.executable, "-I", "-S", "-c", f"{load}; supervise.{entry}()"]
