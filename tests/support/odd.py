"""Entries that sync tools, editors and accidents leave in a folder of notes."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

DEEP = 1500


def leave_odd_entries(memory: Path) -> set[str]:
    """A loop, a device, a pipe and names that are no text; how they are named, relative."""
    (memory / "loop.md").symlink_to("loop.md")
    (memory / "nowhere.md").symlink_to("gone.md")
    (memory / "device.md").symlink_to("/dev/zero")
    (memory / "up").symlink_to("..")
    os.mkfifo(memory / "pipe.md")
    latin = os.fsdecode(os.fsencode(memory) + b"/caf\xe9")
    Path(f"{latin}.md").write_text("- Named in Latin-1\n")
    Path(latin).mkdir()
    return {"loop.md", "device.md", "pipe.md", "caf\\udce9", "caf\\udce9.md"}


@contextlib.contextmanager
def deep_folders(root: Path) -> Iterator[None]:
    """`memory/memory/memory…`, deeper than a path may be long, with a file in each; gone after."""
    before = os.open(".", os.O_RDONLY)
    os.chdir(root)
    try:
        for _ in range(DEEP):
            Path("memory").mkdir(exist_ok=True)
            Path("memory/a.md").write_text("- In the deep\n")
            os.chdir("memory")
        os.chdir(root)
        yield
    finally:
        os.chdir(root)
        while Path("memory").exists():  # what deletes by path, or recurses, cannot
            if Path("memory/memory").exists():
                Path("memory/memory").rename("next")
            shutil.rmtree("memory")
            if Path("next").exists():
                Path("next").rename("memory")
        os.fchdir(before)
        os.close(before)
