from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streamq.dsl.records import replace
from streamq.runtime.edge.plan import BadPlan, CycleRule, EdgePlan
from streamq.runtime.edge.plan_file import MOST_BYTES, from_json, parsed, read_plan, to_json
from streamq.runtime.edge.sift_file import sift_to_json
from streamq.runtime.edge.sift_rule import SiftRule
from streamq.stdlib.attributes.ranking import Ranking
from streamq.stdlib.attributes.reevaluation import Schedule
from streamq.stdlib.sifters.compact import Wish
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.predicates import Both, Compare, Either, Everywhere, Not, Predicate
from tests.unit.runtime.edge.support import COLUMNS, plan_of

FULL = plan_of(
    protected=frozenset({"humidity"}), errors={"barometer": 1.5}, unit="BYTES", utilisation=0.9, retain_s=60.0,
    ranking=Ranking(clock=frozenset({"sun_rise"}), scale={"temperature": 0.1}, dispersion="CV", alpha=0.5),
    reevaluation=Schedule(2.0, 1.5, 30.0), revision=7, bucket_bytes=5000, linger_s=5.0,
    unread=frozenset({"wind_speed"}), retained=frozenset({"barometer", "wind_speed"}), error_auto=True, error_cap_pct=4.81, lease_s=30.0,
    floor_kbps=2.5,
)
SIFT = SiftRule(
    attributes=("temperature", "location"), plan=Plan(64, "DATA", 0.5, 0.1, counted=True),
    wishes=(
        Wish(Both((Compare(0, "<", 5, whole=True), Not(Compare(1, "=", "a"))))),
        Wish(Either((Compare(0, ">=", 5.0), Compare(0, "!=", -2.5), Everywhere())), 2.0, 0.5, 0.25),
    ),
)
SIFTED = plan_of(cycle=CycleRule(length=20), sift=SIFT)


@pytest.mark.parametrize("plan", [plan_of(), FULL, plan_of(cycle=CycleRule(training_rows=500, tolerance=0.1)), plan_of(cycle=CycleRule(length=20)), plan_of(retained=frozenset()), SIFTED])
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
        ({"sift": sift_to_json(SIFT)}, "windows of so many of them, without a key"),
        ({"sift": []}, "a sifter has attributes, plan, wishes"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(BadPlan, match=says):
        from_json(to_json(plan_of()) | change)


def many(count: int, depth: int = 0) -> list[Any]:
    """So many comparisons, in so many brackets."""
    found: list[Any] = ["or", *[["<", 0, i] for i in range(count)]]
    for _ in range(depth):
        found = ["not", found]
    return found


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"attributes": "temperature"}, "a sifter has attributes"),
        ({"attributes": [1]}, "a list of columns"),
        ({"attributes": []}, "1 to 6 different attributes"),
        ({"attributes": ["temperature", "temperature"]}, "1 to 6 different attributes"),
        ({"attributes": ["nothing", "location"]}, "sifted by nothing, which the stream does not have"),
        ({"attributes": ["sun_rise", "location"]}, "column sun_rise has type bool"),
        ({"attributes": ["location", "temperature"]}, "compared with something else"),
        ({"attributes": ["temperature"]}, "have numbers from 0"),
        ({"rows": 1}, "and nothing else"),
        ({"plan": {"lines": 64}}, "the plan of a sifter has only"),
        ({"plan": {"regions": 16.0}}, "the plan of a sifter has only"),
        ({"plan": {"counted": 1}}, "the plan of a sifter has only"),
        ({"plan": {"regions": 0}}, "from 1 to 4096 regions"),
        ({"plan": {"regions": 1 << 20}}, "from 1 to 4096 regions"),
        ({"plan": {"fairness": float("nan")}}, "from 0 to 1"),
        ({"plan": {"method": "BEST"}}, "made by QDPART"),
        ({"wishes": []}, "for 1 to 2000 queries"),
        ({"wishes": [{"wants": ["all"]}] * 2001}, "for 1 to 2000 queries"),
        ({"wishes": [["all"]]}, "a query says what it wants"),
        ({"wishes": [{"weight": 1}]}, "a query says what it wants"),
        ({"wishes": [{"wants": ["all"], "worth": 1}]}, "a query says what it wants"),
        ({"wishes": [{"wants": ["all"], "weight": "1"}]}, "a query says what it wants"),
        ({"wishes": [{"wants": ["all"], "weight": float("inf")}]}, "a weight and a slope from 0"),
        ({"wishes": [{"wants": ["all"], "slope": -1}]}, "a weight and a slope from 0"),
        ({"wishes": [{"wants": ["all"], "least": 1.5}]}, "a weight and a slope from 0"),
        *(
            ({"wishes": [{"wants": wants}]}, "a comparison of an attribute by its number")
            for wants in (
                [], "all", ["all", 1], ["not"], ["not", ["all"], ["all"]], ["<", 0], ["<", True, 1], ["<", 0.0, 1], ["<", 0, None],
                ["<", 0, True], ["=>", 0, 1], ["<", 0, 1, False], [["<"], 0, 1], {"<": 1}, ["and", 1],
            )
        ),
        ({"wishes": [{"wants": ["<", 2, 1]}]}, "have numbers from 0"),
        ({"wishes": [{"wants": ["<", -1, 1]}]}, "have numbers from 0"),
        ({"wishes": [{"wants": ["<", 0, 1 << 63]}]}, "compared with numbers, and texts of at most"),
        ({"wishes": [{"wants": ["=", 1, "x" * 257]}]}, "compared with numbers, and texts of at most"),
        ({"wishes": [{"wants": ["=", 1, 5]}]}, "column location has type string, and is compared"),
        ({"wishes": [{"wants": ["=", 0, "x"]}]}, "column temperature has type double, and is compared"),
        ({"wishes": [{"wants": many(10_001)}]}, "at most 10000 parts"),
        ({"wishes": [{"wants": many(100)}] * 100}, "at most 10000 parts"),
        ({"wishes": [{"wants": many(1, 20)}]}, "nested at most 20 deep"),
    ],
)
def test_what_cannot_be_sifted_is_refused(change: dict[str, Any], says: str) -> None:
    given = to_json(SIFTED)
    given["columns"] = [[name, "bool" if name == "sun_rise" else type_] for name, type_ in given["columns"]]
    with pytest.raises(BadPlan, match=says):
        from_json(given | {"sift": given["sift"] | change})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cycle": CycleRule(training_rows=5)}, "without a key"),
        ({"retained": frozenset({"barometer"})}, "nothing is retained"),
        ({"error_auto": True, "cycle": CycleRule(length=9, training_rows=5)}, "nothing is retained"),
        ({"unread": frozenset(COLUMNS)}, "nobody reads"),
    ],
)
def test_where_rows_are_sifted_nothing_else_is_shed(change: dict[str, Any], says: str) -> None:
    with pytest.raises(BadPlan, match=says):
        replace(SIFTED, **change)


def test_a_rule_that_no_file_could_hold_is_refused_too() -> None:
    deep: Predicate = Everywhere()
    for _ in range(100_000):
        deep = Not(deep)
    for bad, says in ((deep, "20 deep"), (Predicate(), "said by comparisons")):
        with pytest.raises(BadPlan, match=says):
            SiftRule(attributes=("temperature",), plan=Plan(), wishes=(Wish(bad),))
    with pytest.raises(BadPlan, match="at the steps"):
        SiftRule(attributes=("temperature",), plan=Plan(lines=4), wishes=(Wish(Everywhere()),))


def test_queries_may_change_while_an_edge_runs() -> None:
    later = replace(SIFTED, sift=replace(SIFT, wishes=(Wish(Everywhere()),)), revision=2)
    assert later.succeeds(SIFTED).sift == later.sift
    assert replace(SIFTED, sift=None, revision=2).succeeds(SIFTED).sift is None


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
