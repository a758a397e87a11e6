"""Conversations that were gone back in and begun anew are trees: the branch that is shown. Pure."""

from collections.abc import Callable, Mapping
from typing import Any

Node = Mapping[str, Any]


def branch(
    nodes: Mapping[Any, Node], at: object, above: str, time: Callable[[Node], Any]
) -> list[Node]:
    """The nodes from the first to the one `at`; where that is none, to the latest leaf.

    `above` is the field that names the node before.
    """
    if at not in nodes:
        parents = {node.get(above) for node in nodes.values()}
        leaves = [name for name in nodes if name not in parents]
        at = max(leaves, key=lambda name: time(nodes[name]), default=None)
    found: list[Node] = []
    seen = set()
    while at in nodes and at not in seen:
        seen.add(at)
        found.append(nodes[at])
        at = nodes[at].get(above)
    return found[::-1]
