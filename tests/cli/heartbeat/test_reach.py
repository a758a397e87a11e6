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
        shown = f"json://m…:****@127.0.0.1:{phone.port} (reach_json_1)"
        for address, name in ((clear, shown), (plain, plain)):
            assert run("reach", "add", address).stdout == f"Added: {name}\n"
            assert run("reach", "add", address).stdout == f"Already there: {name}\n"
        file = (home / ".config/assistant/config.toml").read_text()
        assert f'ways = ["[[secret:reach_json_1]]", "{plain}"]' in file and "sesame" not in file
        assert run("reach", "test").stdout == f"Sent: {shown}\nSent: {plain}\n"
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


def test_an_address_that_cannot_be_saved_leaves_no_secret(run: Run, home: Path) -> None:
    file = home / ".config/assistant/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to("/proc/config.toml")  # nothing can be written there
    assert run("reach", "add", "json://me:sesame-open-7@127.0.0.1").returncode
    assert run("secrets").stdout == ""
