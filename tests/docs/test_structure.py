"""The house: no folder is crowded, no module too long to know, and the large classes stay small."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "assistant"
MODULES = sorted(ROOT.rglob("*.py"))
MOST_FILES, MOST_LINES = 14, 350
CLASSES = {
    "LocalMemory": "memory/local/memory.py",
    "Catalog": "memory/index/sqlite/catalog.py",
    "Ledger": "memory/writing/ledger.py",
    "Synchronizer": "memory/index/sync.py",
    "Conversation": "conversation.py",
    "Desk": "cli/terminal/screen/desk.py",
    "LitellmModel": "model/provider/litellm_model.py",
}
MOST_CLASS_LINES, MOST_METHODS = 200, 20


def test_no_folder_holds_more_than_fits_a_glance() -> None:
    folders = {path.parent for path in MODULES}
    crowded = {
        str(folder.relative_to(ROOT)): count
        for folder in folders
        if (count := sum(each.name != "__init__.py" for each in folder.glob("*.py"))) > MOST_FILES
    }
    assert crowded == {}


def test_no_module_is_longer_than_can_be_kept_in_mind() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_that_was_large_does_one_thing(name: str) -> None:
    body = ast.parse((ROOT / CLASSES[name]).read_text()).body
    (found,) = [each for each in body if isinstance(each, ast.ClassDef) and each.name == name]
    assert (found.end_lineno or 0) - found.lineno + 1 < MOST_CLASS_LINES
    assert sum(isinstance(each, ast.FunctionDef) for each in found.body) <= MOST_METHODS
