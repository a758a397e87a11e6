"""The house: no folder is crowded, and no module, class or function too long to know."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "assistant"
MODULES = sorted(ROOT.rglob("*.py"))
SCRIPTS = ROOT.parent / "scripts"
MOST_FILES, MOST_LINES, MOST_FUNCTION_LINES = 14, 310, 40
MOST_CLASS_LINES, MOST_METHODS = 200, 20
LONGER = {"Updater": 220, "Recaller": 210}
"""Classes that are still too long; none of them may grow."""
LARGE = {"LocalMemory", "Catalog", "Ledger", "Synchronizer", "Conversation", "Desk", "LitellmModel"}
"""Classes that had too many methods."""


@cache
def definitions() -> list[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Every function and class, with the module it stands in."""
    return [
        (str(path.relative_to(ROOT)), node)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]


def lines_of(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def test_no_folder_holds_more_than_fits_a_glance() -> None:
    folders = {path.parent for path in (*MODULES, *SCRIPTS.rglob("*.py"))}
    crowded = {
        str(folder.relative_to(ROOT.parent)): count
        for folder in folders
        if (count := sum(each.name != "__init__.py" for each in folder.glob("*.py"))) > MOST_FILES
    }
    assert crowded == {}


def test_no_module_is_longer_than_can_be_kept_in_mind() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_a_function_fits_a_glance() -> None:
    long = {
        f"{module}:{each.name}": lines_of(each)
        for module, each in definitions()
        if isinstance(each, ast.FunctionDef) and lines_of(each) > MOST_FUNCTION_LINES
    }
    assert long == {}


def test_a_class_does_one_thing() -> None:
    long = {
        f"{module}:{each.name}": lines_of(each)
        for module, each in definitions()
        if isinstance(each, ast.ClassDef)
        and lines_of(each) >= LONGER.get(each.name, MOST_CLASS_LINES)
    }
    assert long == {}


def test_a_class_that_was_large_has_few_methods() -> None:
    methods = {
        each.name: sum(isinstance(part, ast.FunctionDef) for part in each.body)
        for _, each in definitions()
        if each.name in LARGE
    }
    assert methods.keys() == LARGE
    assert max(methods.values()) <= MOST_METHODS
