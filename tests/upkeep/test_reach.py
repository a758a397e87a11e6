"""News to addresses of Apprise, on a real HTTP server: sent once, when it may, without tokens."""

import json
import sys
from collections.abc import Iterator
from datetime import datetime, time
from pathlib import Path
from urllib.parse import quote

import pytest

from assistant.errors import ConfigError, UsageError
from assistant.secrets import registered
from assistant.session import beats
from assistant.session.beats import News
from assistant.settings.sections import HeartbeatSettings, ReachSettings
from assistant.settings.tree import Settings
from assistant.upkeep import outbox, reach
from assistant.upkeep.reminders import remind
from assistant.upkeep.tasks import tasks
from assistant.workspace import template
from assistant.workspace.folder import Workspace
from tests.support.site import Site, page

TOKEN = "sesame-open-7/4@now"
NEWS = News("2026-11-23T10:00", failed="The boat leaks")


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    return template.create(tmp_path / "here").workspace


@pytest.fixture
def phone() -> Iterator[Site]:
    with Site({"/": page("")}) as site:
        yield site


def texts(phone: Site) -> list[str]:
    return [json.loads(each.partition(b"\r\n\r\n")[2])["message"] for each in phone.asked]


def by(*addresses: str, command: str = "", **chosen: object) -> Settings:
    ways = ReachSettings(ways=addresses, **chosen)  # type: ignore[arg-type]
    return Settings(heartbeat=HeartbeatSettings(notify=command), reach=ways)


def tell(here: Workspace, *news: News) -> None:
    with beats.changing(here) as state:
        for item in news:
            state.tell(item)


def test_it_goes_by_every_way_and_is_delivered_once_one_takes_it(
    here: Workspace, phone: Site, tmp_path: Path
) -> None:
    registered.add("gone", "nobody-knows")
    nowhere = "json://me:[[secret:gone]]@127.0.0.1:1/nobody-knows"
    tell(here, NEWS)
    assert "A Connection error" in outbox.send(here, by(nowhere))
    assert not beats.load(here).untold[0].sent
    settings = by(nowhere, f"json://127.0.0.1:{phone.port}", command=f"cat >> {tmp_path}/said")
    for _ in range(2):
        assert outbox.send(here, settings) == ""
    assert texts(phone) == ["The boat leaks"] == [(tmp_path / "said").read_text()]
    faults = outbox.faults(here, settings)
    assert [name for name, fault in faults.items() if fault] == [
        "json://me:[[secret:gone]]@127.0.0.1:1/[[secret:gone]]"
    ]
    assert "nobody-knows" not in "".join(faults.values())


def test_a_token_is_a_secret_in_the_address_and_shown_nowhere(here: Workspace, phone: Site) -> None:
    registered.add("bank", TOKEN)
    stands = f"json://me:[[secret:bank]]@127.0.0.1:{phone.port}"
    assert reach.to_setting(stands) == stands
    clear = f"json://me:another-token@127.0.0.1:{phone.port}"
    setting = reach.to_setting(clear)
    assert setting == "[[secret:reach_json_1]]" and registered.value("reach_json_1") == clear
    assert reach.to_setting("ntfy://boats") == "ntfy://boats"
    alike = reach.to_setting(clear.replace("me:", "mia:"))
    assert len(outbox.faults(here, by(setting, alike))) == 2
    reach.forget(alike)
    settings = by(stands, setting, "json://[[secret:nosuch]]@127.0.0.1", "tgram://clear/by/hand")
    tell(here, NEWS)
    assert outbox.send(here, settings) == ""
    assert len(texts(phone)) == 2
    shown = str(outbox.faults(here, settings)) + beats.path(here).read_text()
    assert "there is no secret 'nosuch'" in shown.replace("\\", "") and "tgram://…" in shown
    for hidden in (TOKEN, "another-token", "clear", "by/hand"):
        assert hidden not in shown
    reach.forget(setting)
    reach.forget(stands)
    assert registered.names() == ["bank"]


@pytest.mark.parametrize(
    "stands",
    ["ntfys://[[secret:bank]]@ntfy.example.org/topic", "json://127.0.0.1/hooks/[[secret:bank]]"],
)
def test_an_address_is_named_with_its_stand_ins(stands: str, here: Workspace) -> None:
    registered.add("bank", TOKEN)
    assert reach.to_setting(stands) == stands
    assert list(outbox.faults(here, by(stands))) == [stands]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("json://tok-998877@127.0.0.1/x", "json://t…@127.0.0.1/…"),
        ("json://127.0.0.1/x?+X-Token=tok-998877", "json://127.0.0.1/…"),
        (f"json://127.0.0.1/x/{quote(TOKEN)}", "json://127.0.0.1/…/…/…"),
        ("forms://hooks.example:8443/tok-998877", "forms://hooks.example:8443/…"),
        ("xml://tok-998877@hooks.example/tok/998877", "xml://t…@hooks.example/…/…"),
        ("tgram://123456789:tok-998877tok-998877tok-998877tok-9/12345", "tgram://1...9/12345"),
    ],
)
def test_whatever_may_be_a_token_is_registered_and_hidden(
    address: str, name: str, here: Workspace
) -> None:
    registered.add("bank", TOKEN)
    setting = reach.to_setting(address)
    assert setting.startswith("[[secret:reach_")
    assert list(outbox.faults(here, by(setting))) == [f"{name} ({setting[9:-2]})"]


def test_what_is_no_address_is_refused_and_not_repeated() -> None:
    for address in ("nope://hunter2hunter2", "hunter2hunter2"):
        with pytest.raises(UsageError, match="not an address that Apprise knows") as refused:
            reach.to_setting(address)
        assert "hunter2" not in str(refused.value)


def test_it_is_redacted_and_short(
    here: Workspace, phone: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANK_PASSWORD", TOKEN)
    tell(here, News("2026-11-23T10:00", failed=f"The code is {TOKEN}. {'The boat leaks. ' * 99}"))
    address = f"json://127.0.0.1:{phone.port}"
    assert outbox.send(here, by(address)) == ""
    tell(here, News("2026-11-23T11:00", failed="The boat leaks. " * 99))
    assert outbox.send(here, by(address, headline=True)) == ""
    whole, head = texts(phone)
    assert whole.startswith("The code is [[secret:BANK_PASSWORD]]. ") and 450 < len(whole) <= 500
    assert head.startswith("The boat leaks") and len(head) <= 80


def test_in_quiet_hours_only_reminders_are_sent(here: Workspace, phone: Site) -> None:
    remind(here, "in 20 minutes", datetime.now(), "turn the oven off")
    (task,), _ = tasks(here.text("HEARTBEAT.md"))
    tell(here, NEWS, News("2026-11-23T11:00", task=task.key))
    now, address = datetime.now(), f"json://127.0.0.1:{phone.port}"
    begin, end = f"{now:%H:%M}", f"{(now.hour + 2) % 24:02}:00"
    assert outbox.send(here, by(address, quiet=f"{begin}-{end}")) == ""
    assert [text[:17] for text in texts(phone)] == ["turn the oven off"]
    assert outbox.send(here, by(address, quiet=f"{end}-{begin}")) == ""
    assert texts(phone)[1:] == ["The boat leaks"]


@pytest.mark.parametrize(
    ("hours", "quiet", "loud"),
    [
        ("22:00-07:00", ("22:00", "23:59", "00:00", "06:59"), ("07:00", "21:59")),
        ("13:00-14:30", ("13:00", "14:29"), ("12:59", "14:30", "00:00")),
        (None, (), ("00:00", "12:00")),
    ],
)
def test_hours_may_pass_midnight(
    hours: str | None, quiet: tuple[str, ...], loud: tuple[str, ...]
) -> None:
    chosen = ReachSettings(quiet=hours)
    assert all(chosen.is_quiet(time.fromisoformat(clock)) for clock in quiet)
    assert not any(chosen.is_quiet(time.fromisoformat(clock)) for clock in loud)


def test_without_apprise_it_says_how_to_install_it(
    here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(ConfigError, match=r"Apprise is not installed.*environment reach"):
        reach.to_setting("ntfy://boats")
    assert "not installed" in outbox.faults(here, by("ntfy://boats"))["ntfy://…"]
