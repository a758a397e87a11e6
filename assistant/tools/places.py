"""Paths and programs that the tools know by name, from `places.toml`, which explains each list."""

import tomllib
from pathlib import Path

_text = Path(__file__).with_suffix(".toml").read_text("utf-8")
_lists = {name: tuple(places.split()) for name, places in tomllib.loads(_text).items()}
SYSTEM, TOOLCHAINS, KEYS = _lists["system"], _lists["toolchains"], _lists["keys"]
EXECUTED_FILES, EXECUTED_FOLDERS = _lists["executed_files"], _lists["executed_folders"]
EXECUTED = (*EXECUTED_FILES, *EXECUTED_FOLDERS)
INNER_NETWORKS = _lists["inner_networks"]
BEFORE_COMMANDS, SHELLS, READERS = (
    _lists[name] for name in ("before_commands", "shells", "readers")
)
