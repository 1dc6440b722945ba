from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streamq.runtime.edge.plan import BadPlan, CycleRule, EdgePlan
from streamq.runtime.edge.plan_file import MOST_BYTES, from_json, parsed, read_plan, to_json
from streamq.stdlib.attributes.ranking import Ranking
from streamq.stdlib.attributes.reevaluation import Schedule
from tests.unit.runtime.edge.support import plan_of

FULL = plan_of(
    protected=frozenset({"humidity"}), errors={"barometer": 1.5}, unit="BYTES", utilisation=0.9, retain_s=60.0,
    ranking=Ranking(clock=frozenset({"sun_rise"}), scale={"temperature": 0.1}, dispersion="CV", alpha=0.5),
    reevaluation=Schedule(2.0, 1.5, 30.0), revision=7, bucket_bytes=5000, linger_s=5.0,
    unread=frozenset({"wind_speed"}), retained=frozenset({"barometer", "wind_speed"}), error_auto=True, error_cap_pct=4.81, lease_s=30.0,
    floor_kbps=2.5,
)


@pytest.mark.parametrize("plan", [plan_of(), FULL, plan_of(cycle=CycleRule(training_rows=500, tolerance=0.1)), plan_of(cycle=CycleRule(length=20)), plan_of(retained=frozenset())])
def test_a_plan_there_and_back(plan: EdgePlan) -> None:
    assert from_json(json.loads(json.dumps(to_json(plan)))) == plan


def test_a_token_is_never_shown() -> None:
    assert "secret" not in repr(FULL)
    assert "secret" not in json.dumps(to_json(FULL, token=False))
    for bad in ('{"token": "secret-token"', '["secret-token"]', '{"version": 1, "token": "secret-token"}'):
        with pytest.raises(BadPlan) as caught:
            parsed(bad.encode())
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 2}, "version 2"),
        ({"capacity": 3}, "a plan has no capacity"),
        ({"stream": "../etc"}, "a stream is named by letters"),
        ({"stream": 3}, "stream is a text"),
        ({"columns": []}, "from 1 to"),
        ({"columns": [["a", "double"], ["a", "double"]]}, "the same name"),
        ({"columns": [["a", "list<int>"]]}, "column a has type"),
        ({"columns": {"a": "double"}}, "columns are pairs"),
        ({"capacity_kbps": 0}, "above 0 kbit/s"),
        ({"capacity_kbps": "60"}, "capacity_kbps is a number"),
        ({"capacity_kbps": True}, "capacity_kbps is a number"),
        ({"capacity_kbps": float("inf")}, "above 0 kbit/s"),
        ({"protected": ["nothing"]}, "protected names nothing"),
        ({"protected": ["temperature", "dew_point", "barometer", "wind_speed", "humidity", "sun_rise", "visibility", "sun_set"]},
         "all columns are protected"),
        ({"cycle": {"key": ["nothing"], "length": 3}}, "the cycle key names nothing"),
        ({"cycle": {"key": ["location"], "length": 0}}, "from 1 to"),
        ({"cycle": {"key": ["location"], "length": 1.5}}, "length is a whole number"),
        ({"cycle": {}}, "training rows"),
        ({"cycle": {"key": ["location"], "length": 75, "rows": 1}}, "cycle has no rows"),
        ({"errors": {"barometer": 101}}, "0 to 100 percent"),
        ({"errors": [1]}, "errors is a JSON object"),
        ({"ranking": {"dispersion": "MAD"}}, "dispersion is one of"),
        ({"ranking": {"alpha": "x"}}, "alpha is a number"),
        ({"reevaluation": {"factor": 0.5}}, "grow by a factor"),
        ({"unit": "BITS"}, "COUNT or BYTES"),
        ({"denominator": "x"}, "sv or mv"),
        ({"bucket_bytes": 10}, "a bucket holds"),
        ({"retain_s": 0}, "some time"),
        ({"retain_s": float("inf")}, "some time"),
        ({"linger_s": float("nan")}, "some time"),
        ({"ranking": {"alpha": 0}}, "above 0 and at most 1"),
        ({"ranking": {"alpha": float("nan")}}, "above 0 and at most 1"),
        ({"ranking": {"scale": {"humidity": -1}}}, "a scale is from 0"),
        ({"ranking": {"seed": float("inf")}}, "starts from a number"),
        ({"ranking": {"seed": "SMA"}}, "at least one row"),
        ({"token": 5}, "token is a text"),
        ({"lease_s": -1}, "lent for some seconds"),
        ({"lease_s": float("inf"), "floor_kbps": 1}, "lent for some seconds"),
        ({"lease_s": 5, "floor_kbps": 61}, "a part of it is left"),
        ({"floor_kbps": float("nan")}, "a part of it is left"),
        ({"lease_s": 5}, "something is left"),
        ({"unread": ["nothing"]}, "unread names nothing"),
        ({"unread": ["location"]}, "location cannot be unread"),
        ({"retained": ["nothing"]}, "retained names nothing"),
        ({"retained": "barometer"}, "retained is a list"),
        ({"error_auto": 1}, "error_auto is true or false"),
        ({"error_cap_pct": 101}, "0 to 100 percent"),
        ({"error_cap_pct": float("nan")}, "0 to 100 percent"),
        ({"error_cap_pct": "x"}, "error_cap_pct is a number"),
        ({"cycle": {"key": ["location"]}}, "training rows"),
        ({"cycle": {"length": -1}}, "from 1 to"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(BadPlan, match=says):
        from_json(to_json(plan_of()) | change)


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "weather.json"
    with pytest.raises(BadPlan, match=r"weather\.json cannot be read"):
        read_plan(file)
    file.write_text(json.dumps(to_json(FULL)))
    assert read_plan(file) == FULL
    for bad in ("[" * 100_000, "x" * (MOST_BYTES + 1), "\xff", "null"):
        file.write_text(bad, "latin-1")
        with pytest.raises(BadPlan, match=r"weather\.json: "):
            read_plan(file)


def test_a_later_plan_is_of_the_same_rows() -> None:
    assert plan_of(capacity_kbps=30.0, token="").succeeds(FULL).token == FULL.token
    with pytest.raises(BadPlan, match="cannot change its cycle"):
        plan_of(cycle=CycleRule(key=("location",), length=76)).succeeds(plan_of())
