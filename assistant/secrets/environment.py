"""Environment variables that hold keys, told by their names."""

import re
from collections.abc import Mapping

KEY_NAME = re.compile(
    r"(?:(?:^|_)(?:KEY|PASS|PASSPHRASE|PWD|CREDENTIAL|AUTH|PAT)|APIKEY|PASSWORD|PASSWD|SECRET|TOKEN)"
    r"S?(?:_|$)",
    re.IGNORECASE,
)
"""An environment variable of such a name holds a key."""


def from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The values of the variables whose names say that they are keys, paths left out."""
    return {
        name: value
        for name, value in environ.items()
        if KEY_NAME.search(name) and len(value) >= 8 and not value.startswith(("/", "~/"))
    }
