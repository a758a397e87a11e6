"""Paths and programs that the tools know by name, from `places.toml`, which explains each list."""

from assistant.tables import beside

_lists = {name: tuple(places.split()) for name, places in beside(__file__).items()}
SYSTEM, TOOLCHAINS, KEYS = _lists["system"], _lists["toolchains"], _lists["keys"]
EXECUTED_FILES, EXECUTED_FOLDERS = _lists["executed_files"], _lists["executed_folders"]
EXECUTED = (*EXECUTED_FILES, *EXECUTED_FOLDERS)
INNER_NETWORKS = _lists["inner_networks"]
BEFORE_COMMANDS, SHELLS, READERS = (
    _lists[name] for name in ("before_commands", "shells", "readers")
)
