"""Paths and programs that the tools treat specially; `places.toml` explains each list."""

from assistant.tables import table_of

_lists = {name: tuple(places.split()) for name, places in table_of(__file__).items()}
SYSTEM, TOOLCHAINS, KEYS = _lists["system"], _lists["toolchains"], _lists["keys"]
EXECUTED_FILES, EXECUTED_FOLDERS = _lists["executed_files"], _lists["executed_folders"]
EXECUTED = (*EXECUTED_FILES, *EXECUTED_FOLDERS)
EXECUTED_SUFFIXES, EXECUTED_AT_HOME = _lists["executed_suffixes"], _lists["executed_at_home"]
HARMLESS = _lists["harmless"]
CODE_SUFFIXES, CODE_NAMES, CODE_STARTS = (
    _lists[name] for name in ("code_suffixes", "code_names", "code_starts")
)
INNER_NETWORKS = _lists["inner_networks"]
BEFORE_COMMANDS, SHELLS, READERS, EVALUATING = (
    _lists[name] for name in ("before_commands", "shells", "readers", "evaluating")
)


def is_executed(name: str) -> bool:
    """Return whether other programs may execute or obey a file or folder of this name."""
    if name.startswith("."):
        return name not in HARMLESS
    folded = name.casefold()
    return folded.endswith(EXECUTED_SUFFIXES) or folded in map(str.casefold, EXECUTED)


def executed_at_home(name: str) -> bool:
    """Return whether other programs may execute or obey a file of this name directly in a home."""
    return name.startswith(".") or name in EXECUTED_AT_HOME or is_executed(name)
