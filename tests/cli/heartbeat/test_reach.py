"""`assistant reach` through the real command, with a real server for a phone."""

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.support.site import Site, page


def test_a_way_is_added_tested_listed_and_removed(run: Run, home: Path) -> None:
    assert "News is shown only by the next chat" in run("reach").stderr
    with Site({"/": page("")}) as phone:
        plain = f"json://127.0.0.1:{phone.port}"
        clear = f"json://me:sesame-open-7@127.0.0.1:{phone.port}"
        shown = f"json://me:****@127.0.0.1:{phone.port}"
        for address, name in ((plain, plain), (clear, shown)):
            assert run("reach", "add", address).stdout == f"Added: {name}\n"
            assert run("reach", "add", address).stdout == f"Already there: {name}\n"
        file = (home / ".config/assistant/config.toml").read_text()
        assert f'ways = ["{plain}", "[[secret:reach_json_1]]"]' in file and "sesame" not in file
        assert run("reach", "test").stdout == f"Sent: {plain}\nSent: {shown}\n"
        assert len(phone.asked) == 2
    run("reach", "test")  # the closed server may still take one
    failed = run("reach", "test")
    assert failed.returncode == 1 and f"✗ {plain}: A Connection error" in failed.stdout
    assert [bool(way["fault"]) for way in json.loads(run("reach", "--json").stdout)] == [True, True]
    assert f"{shown}: A Connection error" in run("doctor").stdout
    assert "sesame" not in run("config", "show").stdout + run("reach").stdout
    assert run("reach", "remove", clear).stdout == f"Removed: {shown}\n"
    assert run("secrets").stdout == ""
    assert run("reach", "remove", plain).returncode == 0
    assert run("reach", "remove", plain).returncode == 2
    assert run("config", "show", "reach.ways").stdout == ""
