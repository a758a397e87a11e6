"""The programs that are connected: does what they were told work?"""

from collections.abc import Iterator

from assistant.bridge.connect.checking import Connection, connections, fault
from assistant.bridge.connect.programs import Launch
from assistant.cli.bridge.connect import own_command
from assistant.cli.doctor.check import Check, Remark
from assistant.cli.options import Globals
from assistant.errors import ConfigError


def _programs(options: Globals) -> str:
    place = options.place()
    found = list(connections(Launch(own_command(), place.root)))
    broken = {each: why for each in found if (why := fault(each))}
    working = [each for each in found if each not in broken]
    fine = f"{', '.join(_told(working, str(place.root)))}: connected, and the server answers"
    if broken:
        said = [f"{each.program.title}: {why}" for each, why in broken.items()]
        again = [f"`assistant connect {each.program.name}`" for each in broken if each.command]
        cure = f"{' and '.join(again)} sets it right" if again else ""
        raise ConfigError("; ".join([*said, *[fine] * bool(working)]), cure)
    if halves := [each.program for each in found if not each.whole]:
        lacking = ", ".join(each.title for each in halves)
        cure = " and ".join(f"`assistant connect {each.name}`" for each in halves)
        raise Remark(f"{lacking}: the server answers, but its hooks are gone", f"{cure} adds them")
    if not found:
        return "none is connected (`assistant connect PROGRAM`)"
    return fine


def _told(found: list[Connection], root: str) -> Iterator[str]:
    for each in found:
        other = "" if root in each.command else " (to another workspace)"
        yield f"{each.program.title}{other}"


CHECKS: dict[str, Check] = {"programs": _programs}
