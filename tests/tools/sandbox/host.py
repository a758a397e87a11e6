"""A process that runs one shell command, to be killed: `host.py WORKSPACE SANDBOX COMMAND`.

SANDBOX is `inside` or `outside`. With a fourth argument the command runs in the
background, and the process waits for ever.
"""

import signal
import sys
import threading
from pathlib import Path

from assistant.secrets.redactor import Redactor
from assistant.tools.files.access import Roots
from assistant.tools.policy import ApproveAll
from assistant.tools.shell.command import Shell
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.tools.conftest import calling

place, name, command, *background = sys.argv[1:]
shell = Shell(
    Roots(Workspace(Path(place))), Redactor(), threading.Event(), lambda: name == "inside"
).tools()[0]
call = calling(Toolbox([shell]), ApproveAll())
result = call("shell", command=command, background=bool(background))
sys.stdout.write(f"{result.content}\n")
sys.stdout.flush()
if background:
    signal.pause()
