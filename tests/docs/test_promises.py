"""Every test that `docs/promises.md` names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NAMED = re.compile(r"`((?:tests/[\w/]+\.py)?)::(\w+)`")


def test_each_promise_names_tests_that_exist() -> None:
    page = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
    file, missing, count = "", [], 0
    for path, name in _NAMED.findall(page):
        file = path or file
        count += 1
        if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8"):
            missing.append(f"{file}::{name}")
    assert missing == []
    assert count >= 30
    for promise in re.findall(r"^\*\*.*?(?=^\*\*|^#|\Z)", page, re.MULTILINE | re.DOTALL):
        assert "`tests/" in promise, f"no test for: {promise[:60]}"
