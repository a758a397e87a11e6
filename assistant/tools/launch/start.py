"""The process that stands between the assistant and a command: `python -I -S start.py`.

It reads a plan, one line of JSON, from standard input, and serves it; see `supervise.py`. What is
in this folder imports nothing of the program but itself, and is found behind Python's own modules,
so that nothing in a workspace can be imported in its place.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[3]))
    from assistant.tools.launch.supervise import main

    main()
