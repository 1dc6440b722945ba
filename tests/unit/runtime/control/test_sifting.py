"""Queries that share a sifter: built from what one of them looks at, handed to all, and found again after a restart."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from streamq.compiler.ir.goals import Goal, Sift
from streamq.dsl.records import replace
from streamq.runtime.control.decisions import Decided, DecisionLog
from streamq.runtime.control.forward import DECISIONS, KNOBS
from streamq.runtime.control.knobs import published
from streamq.runtime.control.looked import Looked, Sampled
from streamq.runtime.control.sifting import FOLDER, kept_of_cells, stored
from streamq.runtime.control.steering import Steering
from streamq.runtime.control.throttle import Decision, Throttle, first_throttle
from streamq.runtime.metrics import QuerySample
from streamq.runtime.spark.control_source import HASH_STEPS, row_of
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.predicates import Both, Compare

PLAN = Plan(regions=16, sampled=0.01)
DEAR = Sift("s", ("price", "kind"), (False, True), PLAN, wanted=Compare(0, ">", 900.0))
CARS = replace(DEAR, wanted=Both((Compare(1, "=", "car"), Compare(0, "<", 200.0))), weight=2.0)
HALF = Goal(percent=50.0, ranked=True)


def rows(random: np.random.Generator, count: int = 512, most: float = 1000.0) -> Sampled:
    """Sampled rows as Spark gives them: NULL is not there, NaN is text."""
    price = random.uniform(0, most, count).tolist()
    kind = random.choice(["car", "bus", "tram"], count).tolist()
    found: list[dict[str, float | str]] = [{"a0": p, "a1": k} for p, k in zip(price, kind, strict=True)]
    return ({"a1": "car"}, {"a0": "NaN"}, *found)


def sample(query: str, batch: int, ms: int = 500) -> QuerySample:
    return QuerySample(query, batch, 100.0 + batch, 10_000, 5_000, 5_000, batch_ms=ms, result_age_ms=2 * ms)


def run(folder: Path, sifts: dict[str, Sift], goal: Goal = HALF) -> Steering:
    steering = Steering()
    for name, sift in sifts.items():
        (folder / name).mkdir(exist_ok=True)
        steering.add(name, goal, folder / name, sift)
    return steering


def throttle_of(folder: Path) -> Throttle:
    """What is in force for a query now."""
    found = published(folder / KNOBS)
    return first_throttle(HALF) if found is None else found


def test_all_queries_of_a_sifter_get_the_same_one(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    steering = run(tmp_path, {"dear": DEAR, "cars": CARS})
    for batch in range(4):
        for name in ("dear", "cars"):
            steering.after(sample(name, batch), Looked(rows=rows(random)))
    texts = {name: [p.read_text() for p in sorted((tmp_path / name / FOLDER).glob("*.json"))] for name in ("dear", "cars")}
    assert texts["dear"] == texts["cars"] != []
    for name in ("dear", "cars"):
        throttle = published(tmp_path / name / KNOBS)
        assert throttle is not None
        assert throttle.sifter == len(texts[name]) - 1


def test_what_both_want_is_kept(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    steering = run(tmp_path, {"dear": DEAR, "cars": CARS})
    for batch in range(4):
        steering.after(sample("dear", batch), Looked(rows=rows(random)))
    throttle = published(tmp_path / "cars" / KNOBS)
    assert throttle is not None
    assert throttle.sifter is not None
    sifter = stored(tmp_path / "cars", throttle.sifter)
    assert sifter is not None
    drop = sifter.drop(0.5)
    some = [np.array([950.0, 100.0, 500.0, 100.0]), np.array(["bus", "car", "bus", "tram"], dtype=object)]
    assert drop[sifter.find(some)].tolist() == pytest.approx([0, 0, 1, 1], abs=0.3)


def test_queries_that_ask_otherwise_have_sifters_of_their_own(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    other = replace(CARS, plan=replace(PLAN, regions=4))
    steering = run(tmp_path, {"dear": DEAR, "cars": other})
    steering.after(sample("dear", 0), Looked(rows=rows(random)))
    assert list((tmp_path / "dear" / FOLDER).iterdir())
    assert not (tmp_path / "cars" / FOLDER).exists()
    steering.after(sample("cars", 0), Looked(rows=rows(random)))
    found = stored(tmp_path / "cars", 0)
    assert found is not None
    assert len(found.share) == 4


def test_a_restart_goes_on_with_the_sifter_and_takes_in_a_new_query(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    first = run(tmp_path, {"dear": DEAR})
    for batch in range(4):
        first.after(sample("dear", batch), Looked(rows=rows(random)))
    before = published(tmp_path / "dear" / KNOBS)
    assert before is not None
    assert before.sifter is not None
    again = run(tmp_path, {"dear": DEAR, "cars": CARS})
    again.after(sample("dear", 4))  # no rows are looked at: the sifter stays
    after = published(tmp_path / "dear" / KNOBS)
    assert after is not None
    assert after.sifter == before.sifter
    again.after(sample("dear", 5), Looked(rows=rows(random)))
    for name in ("dear", "cars"):
        throttle = published(tmp_path / name / KNOBS)
        assert throttle is not None
        assert throttle.sifter == before.sifter + 1
        assert stored(tmp_path / name, before.sifter + 1) is not None


def test_a_query_that_begins_anew_gets_the_sifter_of_the_others(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    both = {"dear": DEAR, "cars": CARS}
    first = run(tmp_path, both)
    for batch in range(4):
        first.after(sample("dear", batch), Looked(rows=rows(random)))
    before = published(tmp_path / "dear" / KNOBS)
    shutil.rmtree(tmp_path / "cars")
    again = run(tmp_path, both)
    again.after(sample("dear", 4), Looked(rows=rows(random)))
    after = published(tmp_path / "cars" / KNOBS)
    assert before is not None
    assert after is not None
    assert after.sifter == before.sifter
    assert stored(tmp_path / "cars", after.sifter or 0) is not None


def test_the_control_relation_has_the_cells_and_axes_of_the_decision(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    steering = run(tmp_path, {"dear": DEAR})
    steering.after(sample("dear", 0), Looked(rows=rows(random)))
    throttle = published(tmp_path / "dear" / KNOBS)
    assert throttle is not None
    decided = Decided(Decision(keep=0.25), 1_000_000, 0.0, throttle)
    row = row_of(decided, tmp_path / "dear")
    sifter = stored(tmp_path / "dear", 0)
    assert sifter is not None
    assert row["cells"] == kept_of_cells(sifter, 0.25, 512 / 1_000_000)
    assert 0 <= min(row["cells"]) < max(row["cells"]) <= HASH_STEPS
    assert [set(a) for a in row["axes"]] == [{"lower", "scale", "curved", "salt"}] * 2
    assert row["axes"][1]["salt"] % 2 == 1
    assert min(row["cells"]) == round(512 / 1_000_000 * HASH_STEPS)  # those that are looked at
    assert json.dumps(row)
    # Without its file, and before there is one, all rows have the same threshold.
    (tmp_path / "dear" / FOLDER / "0.json").write_text("{")
    assert row_of(decided, tmp_path / "dear")["cells"] is None
    assert row_of(Decided(Decision(keep=0.25), 10, 0.0, first_throttle(HALF)), tmp_path)["cells"] is None


def test_a_folder_that_cannot_be_written_keeps_the_old_sifter(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    steering = run(tmp_path, {"dear": DEAR})
    steering.after(sample("dear", 0), Looked(rows=rows(random)))
    folder = tmp_path / "dear" / FOLDER
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    folder.write_text("in the way")
    for batch in range(1, 5):
        steering.after(sample("dear", batch), Looked(rows=rows(random, most=100.0)))
    throttle = published(tmp_path / "dear" / KNOBS)
    assert throttle is not None
    assert throttle.sifter == 0


def test_queries_with_a_goal_keep_one_share_together(tmp_path: Path) -> None:
    steering = run(tmp_path, {"dear": DEAR, "cars": CARS}, Goal(latency_ms=2000, ranked=True))
    for batch in range(6):
        steering.after(sample("dear", batch, 400))
        steering.after(sample("cars", batch, 1500))
    shares = [published(tmp_path / name / KNOBS) for name in ("dear", "cars")]
    assert shares[0] is not None
    assert shares[1] is not None
    assert shares[0].share == shares[1].share is not None
    assert shares[0].share < 0.5  # the slower one was too old


def test_what_was_expected_of_a_sifter_stands_beside_what_it_did(tmp_path: Path) -> None:
    """As long as rows lie as they did; once all of them are dear, one query gets less and all lie in few regions."""
    random = np.random.default_rng(2)
    steering = run(tmp_path, {"dear": DEAR, "cars": CARS})
    assert steering.sifted() == ()

    def batches(first: int, last: int, least: float) -> None:
        for batch in range(first, last):
            made = Decided(Decision(0.1), 10_000, 0.0, throttle_of(tmp_path / "dear"))
            DecisionLog(tmp_path / "dear" / DECISIONS).decide(batch, lambda _, made=made: made)
            one = QuerySample("dear", batch, 100.0 + batch, 10_000, 1_000, 9_000, batch_ms=500, result_age_ms=1_000)
            found = tuple(r | {"a0": max(float(r.get("a0", 0)), least)} for r in rows(random)) if least else rows(random)
            steering.after(one, Looked(rows=found))

    batches(0, 20, 0.0)
    (told,) = steering.sifted()
    assert (told.stream, told.attributes) == ("s", ("price", "kind"))
    assert told.keep == pytest.approx(0.1)
    # The first sifters knew a few hundred rows; 16 regions do not meet the bounds of both queries.
    assert told.expected_keep == pytest.approx(0.1, abs=0.06)
    assert told.quality == pytest.approx(told.expected_quality, abs=0.05)
    assert [q.name for q in told.queries] == ["dear", "cars"]
    batches(20, 24, 901.0)
    (moved,) = steering.sifted()
    assert moved.queries[0].got < told.queries[0].got
    assert moved.quality < moved.expected_quality
