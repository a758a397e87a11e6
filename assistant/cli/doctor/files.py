"""The owner's files: are all there, readable, and let into prompts?"""

from collections.abc import Sequence

from assistant import config
from assistant.cli.doctor.check import Check, Remark
from assistant.cli.options import Globals
from assistant.display import counted
from assistant.errors import SessionError, StorageError
from assistant.session import listing
from assistant.settings import tree as settings
from assistant.skills import loading as skills
from assistant.workspace import folder as workspace
from assistant.workspace import stores, trust


def _settings(options: Globals) -> str:
    place = options.place()
    recipe = place.recipe if trust.is_trusted(place) else None
    settings.validate(config.load(recipe=recipe), recipe)
    path = config.config_file()
    return f"{path} is valid" if path.exists() else "all at their defaults"


def _workspace(options: Globals) -> str:
    place = options.place()
    if not trust.is_trusted(place):
        raise Remark(
            f"{place.root} is not trusted, and stays out of prompts",
            "Run `assistant trust` if it is yours",
        )
    return str(place.root)


def _prompt_files(options: Globals) -> str:
    from assistant.agent.prompt import FILE_LIMIT

    place, read = options.place(), _read_all(options, workspace.ALWAYS_FILES)
    sizes = {each: len(workspace.read_text(place.root / each)) for each in workspace.ALWAYS_FILES}
    long = [f"{each} has {size:,} characters" for each, size in sizes.items() if size > FILE_LIMIT]
    if long:
        cure = f"The first {FILE_LIMIT:,} of each are in the prompt: shorten it"
        raise Remark("; ".join(long), cure)
    return read


def _memory_files(options: Globals) -> str:
    return _read_all(options, options.place().sources())


def _read_all(options: Globals, names: Sequence[str]) -> str:
    place, faults = options.place(), []
    for name in names:
        try:
            workspace.read_text(place.root / name)
        except FileNotFoundError:
            faults.append(f"{name} is missing (`assistant init {place.root}` adds it)")
        except StorageError as error:
            faults.append(error.message)
    if faults:
        raise StorageError("; ".join(faults), "Save each as UTF-8 text, or move it elsewhere")
    return f"{counted(len(names), 'file')} read"


def _sessions(options: Globals) -> str:
    found = listing.sessions(options.place().sessions)
    if faults := [each.fault for each in found if each.fault]:
        raise SessionError("; ".join(faults), "Correct the line that is named, or move the file")
    return f"{counted(len(found), 'session')} read"


def _skills(options: Globals) -> str:
    place = options.place()
    recipe = place.recipe if trust.is_trusted(place) else None
    chosen = settings.validate(config.load(recipe=recipe), recipe).skills
    found = skills.load(place, chosen.disabled, chosen.folders)
    if found.notices:
        raise StorageError("; ".join(found.notices), "`assistant skills check` names them again")
    return counted(len(found.skills), "skill") if found.skills else "none"


def _stores(options: Globals) -> str:
    place = options.place()
    if place.private.is_dir() and place.private.stat().st_mode & 0o077:
        raise Remark(f"others may look into {place.private}", f"Run `chmod 700 {place.private}`")
    if strangers := stores.unlisted(place):
        more = f" and {len(strangers) - 1} more" if strangers[1:] else ""
        raise Remark(
            f"no purge reaches {strangers[0]}{more}, which no store has",
            "Delete what is not yours to keep",
        )
    kept = [path for each in stores.STORES if each.words != "none" for path in each.files(place)]
    size = sum(path.stat().st_size for path in kept)
    return f"your words are in {counted(len(kept), 'file')}, {size / 1e6:.1f} MB"


CHECKS: dict[str, Check] = {
    "settings": _settings,
    "workspace": _workspace,
    "prompt files": _prompt_files,
    "memory files": _memory_files,
    "sessions": _sessions,
    "skills": _skills,
    "stores": _stores,
}
