"""Whose files are that root made: after `sudo` they would be out of their owner's hands."""

import contextlib
import os
import stat
from pathlib import Path


def give_to_owner(directory: Path) -> None:
    """Give what root made below a directory to whom the folder around it belongs: after `sudo`.

    Files with other names, and what links lead to, are left alone. Raises OSError.
    """
    if os.geteuid() != 0 or not directory.is_dir():
        return
    owner = directory.parent.stat()
    if owner.st_uid == 0:
        return
    for _, _, names, place in os.fwalk(directory):
        _give(place, owner)
        for name in names:
            with contextlib.suppress(OSError):  # a link, a pipe, or gone
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                descriptor = os.open(name, flags, dir_fd=place)
                try:
                    _give(descriptor, owner)
                finally:
                    os.close(descriptor)


def _give(descriptor: int, owner: os.stat_result) -> None:
    found = os.fstat(descriptor)
    alone = stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1)
    if found.st_uid == 0 and alone:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
