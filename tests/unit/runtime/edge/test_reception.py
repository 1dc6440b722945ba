from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamq.runtime.edge.at_run.channel import LEASE_S, PERIOD_S, ChannelRule
from streamq.runtime.edge.at_run.folder_desk import CONTACT, Contacts, found_plan
from streamq.runtime.edge.at_run.incoming import Incoming
from streamq.runtime.edge.at_run.reception import RETRY_S, Reception
from streamq.runtime.edge.at_source.folder_sender import FolderSender
from streamq.runtime.edge.at_source.http_sender import HttpSender
from streamq.runtime.edge.frames import MOST_REVISION, BadMessage
from streamq.runtime.edge.messages import (
    Poll,
    Rows,
    encoded_poll,
    encoded_rows,
)
from streamq.runtime.edge.plan import EdgePlan
from streamq.runtime.edge.plan_file import from_json
from streamq.runtime.edge.transport import Refused
from streamq.runtime.metrics import Received
from streamq.stdlib.attributes.shed_plan import ShedPlan
from tests.unit.runtime.edge.support import Clock, small_plan

ORIGIN = b"originA."


def plan_of(stream: str, **changes: Any) -> EdgePlan:
    return small_plan(**{"stream": stream, "capacity_kbps": 1000.0, **changes})


def streams(*names: str, channel: str = "uplink") -> list[Incoming]:
    return [Incoming(plan=plan_of(name), channel=channel) for name in names]


def rows_of(plan: EdgePlan, seq: int, shed: tuple[str, ...] = (), revision: int = 1) -> bytes:
    batch = pa.record_batch({"k": ["a", "b"], "x": [1.0, 2.0], "y": [3.0, 4.0]})
    sent = batch.select([name for name in batch.schema.names if name not in shed])
    message = Rows(plan.stream, ORIGIN, seq, ShedPlan(1, 1, shed), ("k",), sent, pa.array([seq, seq]).to_numpy(), 50.0)
    return encoded_rows(message, plan.schema, revision)


def until(condition: Callable[[], bool], most_s: float = 20.0) -> None:
    end = time.monotonic() + most_s
    while not condition():
        assert time.monotonic() < end, "it goes on and on"
        time.sleep(0.01)


def spoken(folder: Path, stream: str, revision: int, kbps: float = 60.0) -> EdgePlan:
    """An edge that writes into the folder asks for work, and gets a plan."""
    reply = FolderSender(folder, plan_of(stream)).send(encoded_poll(Poll(stream, ORIGIN, kbps), revision))
    return plan_of(stream, revision=revision) if reply.plan is None else found_plan(folder / stream)


def test_once_lands_what_is_there(tmp_path: Path) -> None:
    one = Incoming(plan=plan_of("weather"), synopsis=frozenset({"x"}))
    sender = FolderSender(tmp_path, one.plan)
    sender.send(rows_of(one.plan, 1))
    sender.send(rows_of(one.plan, 2, ("x",)))
    reception = Reception(tmp_path, [one], {})
    reception.once(0.0)
    assert reception.counts() == {"weather": Received(rows=4, messages=2, shed=2, late=2)}
    assert reception.address == ""
    assert pq.read_table(tmp_path / "weather" / "rows").num_rows == 4
    reception.stop()
    reception.stop()


def test_over_http_in_threads(tmp_path: Path) -> None:
    one = Incoming(plan=plan_of("weather"))
    told: list[str] = []
    reception = Reception(tmp_path, [one], {}, "secret", ("127.0.0.1", 0), told.append)
    reception.start()
    sender = HttpSender(reception.address, "secret")
    for seq in range(1, 6):
        sender.send(rows_of(one.plan, seq))
    until(lambda: reception.counts()["weather"].rows == 10)
    reception.stop()
    assert reception.failed is None
    assert told == []
    assert not [thread for thread in threading.enumerate() if thread.name in ("reception", "edges")]
    with pytest.raises(ValueError, match="share a token"):
        Reception(tmp_path, [one], {}, "", ("127.0.0.1", 0)).start()


def test_one_folder_is_of_one_run(tmp_path: Path) -> None:
    reception = Reception(tmp_path, streams("a"), {"uplink": 100.0})
    with pytest.raises(OSError, match="another run lands what comes to"):
        Reception(tmp_path, streams("a"), {"uplink": 100.0})
    reception.stop()
    Reception(tmp_path, streams("a"), {"uplink": 100.0}).stop()


def test_a_folder_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from streamq.runtime.edge.at_run.reception import Reception; "
        "kept = Reception(Path(sys.argv[1]), [], {}); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == -9
    Reception(tmp_path, [], {}).stop()


def test_what_cannot_be(tmp_path: Path) -> None:
    one = plan_of("a")
    for given, channels, message in (
        (streams("a"), {}, "there is no channel uplink"),
        (streams("a", "a"), {"uplink": 10.0}, "different names"),
        (streams("a"), {"uplink": 1e-9}, "too narrow for 1 streams"),
    ):
        with pytest.raises(ValueError, match=message):
            Reception(tmp_path, given, channels)
    for changes, message in (
        ({"synopsis": frozenset({"z"})}, "a has no z to recover"),
        ({"synopsis": frozenset({"x"}), "nearest": frozenset({"x"})}, "x of a cannot be recovered in two ways"),
        ({"weight": 0.0}, "a weight is above 0"), ({"wait_s": -1.0}, "rows wait"),
    ):
        with pytest.raises(ValueError, match=message):
            Incoming(plan=one, **changes)
    named = plan_of("a", columns={"k": "string", "x": "double", "x_lo": "double"})
    with pytest.raises(ValueError, match="names of those that recovery adds: x_lo"):
        Incoming(plan=named, nearest=frozenset({"x"}))
    assert Incoming(plan=named).bounds == {}


def test_plans_and_contacts_travel_through_the_folder(tmp_path: Path) -> None:
    clock = Clock()
    reception = Reception(tmp_path, streams("a", "b"), {"uplink": ChannelRule(100.0)}, clock=clock)
    revision = {}
    for _ in range(4):
        for name in "ab":
            revision[name] = spoken(tmp_path, name, revision.get(name, 1)).revision
        reception.turn()
        clock.now += 1.0
    # Each was told of half of the channel, and of the floor.
    found = [found_plan(tmp_path / name) for name in "ab"]
    assert [(plan.capacity_kbps, plan.floor_kbps, plan.lease_s) for plan in found] == [(50.0, 1.0, LEASE_S)] * 2
    assert all("token" not in json.loads((tmp_path / name / "plan.json").read_text()) for name in "ab")
    # One that is not there any more leaves what it had to the other, within two periods.
    for _ in range(int(2 * PERIOD_S)):
        revision["a"] = spoken(tmp_path, "a", revision["a"]).revision
        reception.turn()
        clock.now += 1.0
    assert [found_plan(tmp_path / name).capacity_kbps for name in "ab"] == [99.0, 1.0]
    # Another run goes on with these plans.
    reception.stop()
    reception = Reception(tmp_path, streams("a", "b"), {"uplink": 100.0}, clock=clock)
    assert [found_plan(tmp_path / name).capacity_kbps for name in "ab"] == [99.0, 1.0]
    assert found_plan(tmp_path / "a").revision == revision["a"]
    reception.stop()
    # With less capacity all begin with their floors.
    reception = Reception(tmp_path, streams("a", "b"), {"uplink": 50.0}, clock=clock)
    assert [found_plan(tmp_path / name).capacity_kbps for name in "ab"] == [1.0, 1.0]
    reception.stop()


def test_a_plan_without_a_channel_keeps_its_number(tmp_path: Path) -> None:
    one = Incoming(plan=plan_of("a", revision=3))
    for _ in range(2):
        reception = Reception(tmp_path, [one], {})
        assert spoken(tmp_path, "a", 1).revision == 3
        reception.stop()
    changed = Incoming(plan=plan_of("a", error_pct=1.0))
    reception = Reception(tmp_path, [changed], {})
    assert spoken(tmp_path, "a", 3).revision == 4
    # An edge may come from a run that nobody remembers.
    spoken(tmp_path, "a", 17)
    reception.turn()
    assert spoken(tmp_path, "a", 17).revision == 18
    reception.stop()


@pytest.mark.parametrize("channels", [{}, {"uplink": 100.0}])
@pytest.mark.parametrize("over", ["http", "folder"])
@pytest.mark.parametrize("revision", [MOST_REVISION // 2, MOST_REVISION - 1, (1 << 32) - 1])
def test_one_message_does_not_use_up_revisions(tmp_path: Path, channels: dict[str, float], over: str, revision: int) -> None:
    clock = Clock()
    listen = ("127.0.0.1", 0) if over == "http" else None
    reception = Reception(tmp_path, streams("a", channel="".join(channels)), channels, "secret", listen, clock=clock)
    plan = plan_of("a")

    def said(revision: int) -> EdgePlan | None:
        poll = encoded_poll(Poll("a", ORIGIN, 10.0), revision)
        reply = reception.central.handle(poll) if over == "http" else FolderSender(tmp_path, plan).send(poll)
        return None if reply.plan is None else from_json(reply.plan)

    with suppress(BadMessage, Refused):
        said(revision)
    now = 1
    for _ in range(20):
        clock.now += 1.0
        reception.turn()
        found = said(now)
        now = now if found is None else found.revision
    assert now == reception.central.desks["a"].plan.revision < MOST_REVISION * 3 // 4
    assert reception.failed is None
    reception.stop()
    Reception(tmp_path, streams("a", channel="".join(channels)), channels).stop()


def test_a_contact_that_cannot_be_is_none(tmp_path: Path) -> None:
    contacts = Contacts(tmp_path, Clock())
    assert contacts() is None
    for text in (
        "", "[1]", '{"origin": "00"}', '{"origin": "zz", "revision": 1, "offered_kbps": 1.0}',
        '{"origin": "6f726967696e412e", "revision": 2147483648, "offered_kbps": 1.0}', "[" * 100_000,
    ):
        (tmp_path / CONTACT).write_text(text)
        assert contacts() is None


def test_a_full_disk_is_told_once_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Incoming(plan=plan_of("weather"))
    told: list[str] = []
    monkeypatch.setattr("streamq.runtime.edge.at_run.reception.RETRY_S", 0.01)
    reception = Reception(tmp_path, [one], {}, told=told.append)
    rows = tmp_path / "weather" / "rows"
    rows.rmdir()
    rows.write_bytes(b"")
    reception.start()
    FolderSender(tmp_path, one.plan).send(rows_of(one.plan, 1))
    until(lambda: bool(told))
    rows.unlink()
    rows.mkdir()
    until(lambda: reception.counts()["weather"].rows == 2)
    reception.stop()
    assert len(told) == 1
    assert told[0].endswith("Not a directory")


def test_a_stream_that_cannot_land_keeps_no_other_from_it(tmp_path: Path) -> None:
    told: list[str] = []
    clock = Clock()
    reception = Reception(tmp_path, streams("a", "b"), {"uplink": 100.0}, told=told.append, clock=clock)
    for name in "ab":
        FolderSender(tmp_path, plan_of(name)).send(rows_of(plan_of(name), 1))
    (file,) = (tmp_path / "a").glob("*.rows")
    data = file.read_bytes()
    file.unlink()
    file.mkdir()
    for _ in range(3):
        reception.turn()
        clock.now += RETRY_S
    assert reception.counts()["b"].rows == 2
    assert told == ["rows of a cannot land now: Is a directory"]
    file.rmdir()
    file.write_bytes(data)
    while reception.turn():
        pass
    assert reception.counts()["a"].rows == 2
    reception.stop()


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    FolderSender(tmp_path, plan_of("a")).send(rows_of(plan_of("a"), 1))
    (file,) = (tmp_path / "a").glob("*.rows")
    old, new = (file.with_name(f".{file.name}.{pid}") for pid in (7, 8))
    for path in (old, new):
        path.write_bytes(b"SQED")
    for path in (old, file):
        os.utime(path, (time.time() - 4000,) * 2)
    Reception(tmp_path, streams("a", channel=""), {}).stop()
    assert [path.exists() for path in (old, new, file)] == [False, True, True]


def test_a_failure_that_nobody_expected_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    reception = Reception(tmp_path, streams("a", channel=""), {}, told=told.append)
    monkeypatch.setattr(reception, "turn", lambda: 1 / 0)
    reception.start()
    until(lambda: reception.failed is not None)
    reception.stop()
    assert told == ["no more rows land: ZeroDivisionError('division by zero')"]


def test_messages_that_were_made_for_other_columns_are_not_put_aside(tmp_path: Path) -> None:
    before = plan_of("weather")
    FolderSender(tmp_path, before).send(rows_of(before, 1))
    more = plan_of("weather", columns={**before.columns, "z": "double"})
    with pytest.raises(ValueError, match="1 messages of `weather` wait that were made when it had other columns"):
        Reception(tmp_path, [Incoming(plan=more)], {})
    reception = Reception(tmp_path, [Incoming(plan=before)], {})
    reception.once(0.0)
    reception.stop()
    again = Reception(tmp_path, [Incoming(plan=more)], {})
    again.stop()
    assert pq.read_table(tmp_path / "weather" / "rows").num_rows == 2


def test_bounds_are_told_of_columns_that_are_never_recovered(tmp_path: Path) -> None:
    one = Incoming(plan=plan_of("weather"), bounded=frozenset({"x", "y"}))
    sender = FolderSender(tmp_path, one.plan)
    sender.send(rows_of(one.plan, 1))
    sender.send(rows_of(one.plan, 2, ("x",)))
    reception = Reception(tmp_path, [one], {})
    reception.once(0.0)
    reception.stop()
    rows = pq.read_table(tmp_path / "weather" / "rows").to_pylist()
    assert [(r["x_lo"], r["x_hi"], r["y_lo"], r["y_hi"]) for r in rows] == [
        (1.0, 1.0, 3.0, 3.0), (2.0, 2.0, 4.0, 4.0), (None, None, 3.0, 3.0), (None, None, 4.0, 4.0)
    ]
