"""What is wrong with the files of a corpus, each until it is right again."""

import itertools
from collections.abc import Iterable, Mapping

from assistant.memory.index.corpus import doubt
from assistant.memory.index.sqlite.rows import Stat
from assistant.workspace.folder import Survey

KEPT = "What was indexed of it before stays searchable"


class Faults:
    """The faults of files, and what stands among them and is none."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[Stat | None, str]] = {}
        self._sound: dict[str, str] = {}
        """The digest of each file as it was when nothing was wrong with it."""
        self._odd: tuple[str, ...] = ()

    def told(self) -> tuple[str, ...]:
        """What is wrong now, one line each."""
        return (*self._odd, *(message for _, message in self._files.values()))

    def clear(self) -> None:
        """What was wrong with files may be right."""
        self._files.clear()

    def see(self, survey: Survey, missing: Iterable[str]) -> set[str]:
        """Note what is there; which of the `missing` files lie where nobody can look now."""
        names = set(survey.sources)
        self._files = {name: fault for name, fault in self._files.items() if name in names}
        unseen = {name: folder for name in missing if (folder := _odd_above(name, survey.odd))}
        self._odd = tuple(
            f"{name} {why}. {KEPT if name in unseen.values() else 'It is left out'}"
            for name, why in survey.odd.items()
        )
        return set(unseen)

    def has(self, name: str, stat: Stat) -> bool:
        """Whether a file was at fault as it is now."""
        return name in self._files and self._files[name][0] == stat

    def add(self, name: str, stat: Stat | None, what: str, *, indexed: bool) -> None:
        """Something is wrong with a file, of which an earlier state may be `indexed`."""
        stays = f"; {KEPT[0].lower()}{KEPT[1:]}" if indexed else ""
        self._files[name] = (stat, f"{name} {what}{stays}")

    def doubts(self, name: str, stat: Stat, data: bytes, digest: str) -> bool:
        """Whether something is wrong with a file that is indexed as it is; it is named then."""
        self._files.pop(name, None)
        if self._sound.get(name) == digest:
            return False
        if why := doubt(data):
            self._files[name] = (stat, f"{name} {why}")
        else:
            self._sound[name] = digest
        return bool(why)


def _odd_above(name: str, odd: Mapping[str, str]) -> str:
    """The folder a file lies below that cannot be looked into now; empty if there is none."""
    above = itertools.accumulate(name.split("/")[:-1], lambda path, part: f"{path}/{part}")
    return next((folder for folder in above if folder in odd), "")
