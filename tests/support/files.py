"""What a file has besides its bytes: given to it, and read again."""

import os
import struct
import sys
from pathlib import Path

ACL_ENTRIES = ((0x01, 6, -1), (0x02, 4, 1234), (0x04, 4, -1), (0x10, 4, -1), (0x20, 0, -1))
"""Tag, permission and id: the owner, user 1234, the group, the mask, others (acl_ea.h)."""


def adorn(path: Path) -> dict[str, object]:
    """Give a file whatever of owner, mode, attributes and lists this user and disk allow."""
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    if sys.platform == "linux":
        os.setxattr(path, "user.note", b"mine")
        entries = (struct.pack("<HHi", *each) for each in ACL_ENTRIES)
        os.setxattr(path, "system.posix_acl_access", struct.pack("<I", 2) + b"".join(entries))
    return adornments(path)


def adornments(path: Path) -> dict[str, object]:
    """What a file has."""
    found = path.stat()
    names = os.listxattr(path) if sys.platform == "linux" else []
    attributes = {name: os.getxattr(path, name) for name in names}
    return {"mode": found.st_mode, "owner": (found.st_uid, found.st_gid), **attributes}
