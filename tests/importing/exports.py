"""Exports as their makers write them, in small."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

T0 = 1_700_000_000.0


def node(
    name: str, parent: str | None, role: str = "", text: object = "", **more: Any
) -> tuple[str, dict[str, Any]]:
    """A node of a tree of ChatGPT's."""
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    message = {"author": {"role": role}, "content": content, "create_time": T0, **more}
    return name, {"id": name, "parent": parent, "message": message if role else None}


def chatgpt(name: str, *nodes: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A conversation of ChatGPT's whose last node is the current one."""
    return {
        "title": f"About {name}",
        "create_time": T0,
        "mapping": dict([("root", {"id": "root", "parent": None, "message": None}), *nodes]),
        "current_node": nodes[-1][0] if nodes else "root",
        "conversation_id": name,
        **more,
    }


def simple(name: str, *said: str) -> dict[str, Any]:
    """A conversation of ChatGPT's in which these were said in turn."""
    roles = ("user", "assistant")
    nodes = [
        node(f"n{n}", f"n{n - 1}" if n else "root", roles[n % 2], text)
        for n, text in enumerate(said)
    ]
    return chatgpt(name, *nodes)


def claude(name: str, *said: str, **more: Any) -> dict[str, Any]:
    """A conversation of Claude's."""
    return {
        "uuid": name,
        "name": f"About {name}",
        "created_at": "2026-03-01T10:00:00.000000Z",
        "chat_messages": [
            {
                "uuid": f"m{n}",
                "sender": ("human", "assistant")[n % 2],
                "text": text,
                "content": [{"type": "text", "text": text}],
                "created_at": f"2026-03-01T10:00:{n:02}Z",
            }
            for n, text in enumerate(said)
        ],
        **more,
    }


def zipped(path: Path, files: Mapping[str, object]) -> Path:
    """A zip of these, JSON unless they are bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return path


def folder(path: Path, files: Mapping[str, str]) -> Path:
    """A folder of these."""
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, encoding="utf-8")
    return path
