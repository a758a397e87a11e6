"""What a command may ask of the kernel, and how much it may use."""

import re
import sys
import threading
from pathlib import Path

import pytest

from assistant.secrets.redactor import Redactor
from assistant.settings.sections import ShellSettings
from assistant.tools.files.access import Roots
from assistant.tools.policy import ApproveAll
from assistant.tools.sandbox import seccomp as calls
from assistant.tools.sandbox.process import available
from assistant.tools.shell.command import Shell
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.tools.conftest import Call, calling

confined = pytest.mark.skipif(not available(), reason="the sandbox does not work here")
HEADERS = {
    0: Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    1: Path("/usr/include/asm-generic/unistd.h"),
}

CLOSED = {
    "a new user namespace": "c.unshare(0x10000000)",
    "a new mount namespace": "c.unshare(0x20000)",
    "a namespace by clone": "c.syscall(56, 0x10000011, 0, 0, 0, 0)",
    "another's namespace": "c.setns(0, 0)",
    "a mount": "c.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
    "an unmount": "c.umount2(b'/tmp', 2)",
    "another root": "c.chroot(b'/tmp')",
    "tracing": "c.ptrace(0, 0, 0, 0)",
    "another's memory": "c.process_vm_readv(1, 0, 0, 0, 0, 0)",
    "the keyring": "c.syscall(250, 0, -3, 0, 0, 0)",
    "eBPF": "c.syscall(321, 0, 0, 0)",
    "performance events": "c.syscall(298, 0, 0, -1, -1, 0)",
    "io_uring": "c.syscall(425, 8, 0)",
    "page faults in user space": "c.syscall(323, 0)",
    "a handle to a file": "c.open_by_handle_at(-100, 0, 0)",
    "the new mount calls": "c.syscall(430, b'tmpfs', 0)",
    "another personality": "c.personality(0x0040000)",
    "typing into a terminal": "c.ioctl(0, 0x5412, b'x')",
    "the second set of calls": "c.syscall(0x40000000 + 39)",
    "the host of a virtual machine": "socket.socket(40, socket.SOCK_STREAM)",
    "raw packets": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "the kernel's ciphers": "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)",
    "netfilter": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)",
}
OPEN = {
    "threads": "import threading; t = threading.Thread(target=print); t.start(); t.join()",
    "processes": "import subprocess; subprocess.run(['true'], check=True)",
    "shared memory": "import multiprocessing as m; m.Lock(); m.Array('i', 3)",
    "loopback": "s = socket.create_server(('127.0.0.1', 0)); "
    "socket.create_connection(s.getsockname())",
    "Unix sockets": "socket.socketpair()",
    "routing": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); socket.if_nameindex()",
    "a directory of its own": "import tempfile; tempfile.TemporaryDirectory()",
    "asynchrony": "import asyncio; asyncio.run(asyncio.sleep(0))",
}
REFUSED = """
import ctypes, errno, socket
c = ctypes.CDLL(None, use_errno=True)
try:
    result = {call}
    failed = isinstance(result, int) and result < 0
    print(errno.errorcode[ctypes.get_errno()] if failed else "DONE")
except OSError as error:
    print(errno.errorcode[error.errno])
"""


def shell(workspace: Workspace, inside: bool = True, **settings: int) -> Call:
    roots = Roots(workspace)
    chosen = ShellSettings(**settings)
    tool = Shell(roots, Redactor(), threading.Event(), lambda: inside, chosen).tools()[0]
    return calling(Toolbox([tool]), ApproveAll())


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's calls")
@pytest.mark.skipif(not calls.program(), reason="no filter for this machine")
@confined
def test_what_a_sandbox_does_not_need_is_closed(workspace: Workspace) -> None:
    for name, call in CLOSED.items():
        (workspace.root / f"{name}.py").write_text(REFUSED.format(call=call))
    said = shell(workspace)(
        "shell", command='for each in *.py; do echo "$each $(python3 "$each" 2>&1)"; done'
    ).content
    answers = dict(re.findall(r"(.+)\.py (.+)", said))
    assert answers.keys() == CLOSED.keys()
    assert {name: answer for name, answer in answers.items() if answer == "DONE"} == {}
    refusals = {"EPERM", "ENOSYS", "EAFNOSUPPORT"}
    assert {name: answer for name, answer in answers.items() if answer not in refusals} == {}


@confined
def test_what_programs_need_is_open(workspace: Workspace) -> None:
    for name, code in OPEN.items():
        (workspace.root / f"{name}.py").write_text(f"import socket\n{code}\nprint('DONE')\n")
    said = shell(workspace)(
        "shell", command='for each in *.py; do echo "$each $(python3 "$each" 2>&1)"; done'
    ).content
    assert said.count("DONE") == len(OPEN), said


@pytest.mark.parametrize("column", HEADERS)
def test_the_numbers_are_the_kernels_own(column: int) -> None:
    if not HEADERS[column].exists():
        pytest.skip("the kernel's headers are not installed")
    text = HEADERS[column].read_text()
    known = {name: int(number) for name, number in re.findall(r"__NR(?:3264)?_(\w+)\s+(\d+)", text)}
    ours = {name: numbers[column] for name, numbers in calls.CLOSED.items()}
    told = {name: int(n) for name, n in ours.items() if name in known and n != "-"}
    assert len(told) > 50
    assert told == {name: known[name] for name in told}


def test_a_machine_that_is_not_known_has_no_filter() -> None:
    assert calls.program("vax") == b""
    assert all(len(calls.program(name)) % 8 == 0 for name in calls.MACHINES)


anywhere = pytest.mark.parametrize(
    "inside",
    [pytest.param(True, marks=confined, id="inside"), pytest.param(False, id="outside")],
)


@anywhere
def test_a_command_that_multiplies_is_stopped(workspace: Workspace, inside: bool) -> None:
    call = shell(workspace, inside, processes=40)
    bomb = "for n in $(seq 200); do sleep 71.5 & done; sleep 71.5"
    result = call("shell", command=bomb, timeout=60)
    assert result.content.endswith("[stopped: over 40 processes at once]")
    assert call("shell", command="for n in $(seq 20); do sleep 0.01 & done; wait").error is False


@anywhere
def test_a_command_that_takes_all_memory_is_stopped(workspace: Workspace, inside: bool) -> None:
    call = shell(workspace, inside, memory_mb=200)
    grows = "python3 -c 'import time; x = bytearray(300_000_000); time.sleep(50)'"
    assert call("shell", command=grows, timeout=60).content.endswith("over its memory limit]")
    each = "python3 -c 'import time; x = bytearray(90_000_000); time.sleep(50)'"
    many = f"for n in 1 2 3; do {each} & done; wait"
    assert call("shell", command=many, timeout=60).content.endswith("over its memory limit]")
    huge = "python3 -c 'x = bytearray(800_000_000)'"
    assert "MemoryError" in call("shell", command=huge, timeout=60).content
    small = "python3 -c 'x = bytearray(50_000_000); print(1)'"
    assert call("shell", command=small).content == "1"


@confined
def test_scratch_directories_do_not_fill_the_memory(workspace: Workspace) -> None:
    said = shell(workspace, memory_mb=64)(
        "shell", command="for d in /tmp /run ~ /dev/shm; do head -c 40M /dev/zero > $d/x; done"
    ).content
    assert said.count("No space left") == 4
