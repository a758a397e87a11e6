"""What stands between the assistant and the commands and servers that it starts: `supervise.py`."""

import sys
from pathlib import Path


def starting(entry: str) -> list[str]:
    """The command that runs this function of `supervise` in a process of its own.

    It imports nothing of the program but this folder, and finds that behind Python's own modules,
    so that nothing in a workspace can be imported in its place.
    """
    root = str(Path(__file__).resolve().parents[3])
    load = f"import sys; sys.path.append({root!r}); from assistant.tools.launch import supervise"
    return [sys.executable, "-I", "-S", "-c", f"{load}; supervise.{entry}()"]
