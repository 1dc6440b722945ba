"""An edge that sifts rows: what queries want goes first, within the wire, and every row is sent or counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamq.runtime.edge.at_run.central import Central
from streamq.runtime.edge.at_source.offered import Offered
from streamq.runtime.edge.at_source.pipeline import Pipeline
from streamq.runtime.edge.at_source.progress import Progress
from streamq.runtime.edge.at_source.sifting import Sifting, sift_column, sifted
from streamq.runtime.edge.at_source.site import Site
from streamq.runtime.edge.at_source.source import Position
from streamq.runtime.edge.messages import Rows
from streamq.runtime.edge.plan import CycleRule, EdgePlan
from streamq.runtime.edge.sift_rule import SiftRule
from streamq.stdlib.sifters.compact import Wish
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.predicates import Both, Compare, Predicate
from tests.unit.runtime.edge.support import (
    Clock,
    Fed,
    Wire,
    lines_of,
    most_above,
    received,
    run,
    site_of,
)

COLUMNS = {"id": "int64", "x": "double", "y": "double", "word": "string", "load": "string"}
BATCHES, EACH, PERIOD_S = 40, 300, 0.5
ROW_BYTES = 8 * 3 + (4 + 4) + (4 + 20)


def box(x: tuple[float, float], y: tuple[float, float]) -> Predicate:
    return Both((Compare(0, ">=", x[0]), Compare(0, "<", x[1]), Compare(1, ">=", y[0]), Compare(1, "<", y[1])))


BOXES = (((0.1, 0.4), (0.1, 0.4)), ((0.5, 0.8), (0.2, 0.5)), ((0.2, 0.6), (0.6, 0.9)))
WEIGHTS = (4.0, 1.0, 2.0)
RULE = SiftRule(
    attributes=("x", "y"), plan=Plan(64), wishes=tuple(Wish(box(*b), w) for b, w in zip(BOXES, WEIGHTS, strict=True))
)


def plan_of(**changes: Any) -> EdgePlan:
    """A third of the capacity that all rows would take."""
    given: dict[str, Any] = {
        "stream": "spots", "columns": COLUMNS, "cycle": CycleRule(length=10), "sift": RULE, "bucket_bytes": 20_000,
        "capacity_kbps": EACH / PERIOD_S * ROW_BYTES * 8 / 1000 / 3,
    }
    return EdgePlan(**(given | changes))


def rows_of(count: int = BATCHES * EACH, seed: int = 1) -> pa.RecordBatch:
    random = np.random.default_rng(seed)
    return pa.record_batch(
        {
            "id": np.arange(count), "x": random.random(count), "y": random.random(count),
            "word": pa.array([("rare", "many")[int(r > 0.1)] for r in random.random(count)]),
            "load": pa.array(["." * 20] * count),
        }
    )


def fed(clock: Clock, rows: pa.RecordBatch, each: int = EACH) -> Fed:
    lines = lines_of(rows)
    return Fed(clock, [
        (1000.0 + (i + 1) * PERIOD_S, b"".join(lines[first : first + each]))
        for i, first in enumerate(range(0, len(lines), each))
    ])


class Harness:
    """An edge, its wire and the central side, in a folder."""

    def __init__(self, path: Path, plan: EdgePlan, rows: pa.RecordBatch, each: int = EACH) -> None:
        self.clock = Clock()
        self.path, self.plan, self.source = path / "edge.db", plan, fed(self.clock, rows, each)
        self.central = Central.of(path / "central", {plan.stream: plan}, self.clock)
        self.wire = Wire(self.central, self.clock)
        self.site = self.opened()
        self.dropped = 0

    def opened(self) -> Site:
        return site_of(self.plan, self.source, self.path, self.wire, self.clock)

    def again(self) -> None:
        """As after a kill: only what is in the store is known."""
        self.dropped += self.site.counts.dropped
        self.site.store.close()
        self.site = self.opened()

    def run(self) -> None:
        run(self.site, self.clock, lambda: self.site.done and not self.site.progress.waits)

    @property
    def messages(self) -> list[Rows]:
        return received(self.central, self.plan.stream)

    @property
    def ids(self) -> list[int]:
        return [id_ for message in self.messages for id_ in message.rows.column("id").to_pylist()]


def quality(wanted: list[np.ndarray[Any, Any]], weights: tuple[float, ...], ids: list[int]) -> float:
    """Of all queries together: the share of its rows that each got, by its weight."""
    kept = np.zeros(len(wanted[0]), dtype=bool)
    kept[ids] = True
    return float(np.average([kept[want].mean() for want in wanted], weights=weights))


def best(wanted: list[np.ndarray[Any, Any]], weights: tuple[float, ...], count: int) -> float:
    """The best that so many rows can give: those that are worth most."""
    worth = sum(w / sum(weights) * want / want.sum() for w, want in zip(weights, wanted, strict=True))
    return float(np.sort(np.asarray(worth))[::-1][:count].sum())


def wanted_of(rows: pa.RecordBatch) -> list[np.ndarray[Any, Any]]:
    x, y = (rows.column(name).to_numpy() for name in ("x", "y"))
    return [(x >= a) & (x < b) & (y >= c) & (y < d) for (a, b), (c, d) in BOXES]


def test_queries_get_what_they_want_at_a_third_of_the_capacity(tmp_path: Path) -> None:
    rows, plan = rows_of(), plan_of()
    harness = Harness(tmp_path, plan, rows)
    harness.run()
    ids, wanted = harness.ids, wanted_of(rows)
    share = len(ids) / rows.num_rows
    assert 0.25 < share < 0.36
    # Rows that go at random leave each query its share; most of the way from there to the best.
    random, top = share, best(wanted, WEIGHTS, len(ids))
    assert top > 0.95
    assert quality(wanted, WEIGHTS, ids) > random + 0.75 * (top - random)
    assert most_above(harness.wire.went, plan.capacity_kbps) <= plan.bucket
    sent = sum(size for _, size in harness.wire.went)
    assert sent > 0.9 * plan.capacity_kbps * 125 * BATCHES * PERIOD_S
    # Messages go as they are made: nothing piles up.
    assert harness.clock.now < 1000.0 + BATCHES * PERIOD_S + 3.0


def test_every_row_is_sent_or_counted(tmp_path: Path) -> None:
    rows = rows_of(10 * EACH + 7)
    harness = Harness(tmp_path, plan_of(), rows)
    at, lines = harness.source.blocks[3]
    harness.source.blocks[3] = at, lines + b"no row\n{}[\n"
    harness.run()
    counts, messages = harness.site.counts, harness.messages
    assert counts.malformed == 2
    assert counts.rows == rows.num_rows
    assert counts.rows == len(harness.ids) + counts.dropped
    assert sum(message.dropped for message in messages) == counts.dropped > 0
    assert all(message.plan.attrs == () for message in messages)
    # Rows have their number at the source, so that what is missing between them is what was dropped.
    numbers = np.concatenate([message.cycle_no for message in messages])
    assert (numbers - 1).tolist() == harness.ids


def test_what_all_went_of_is_told_with_the_next_message_or_at_the_end(tmp_path: Path) -> None:
    harness = Harness(tmp_path, plan_of(capacity_kbps=0.5, bucket_bytes=4096), rows_of(8 * EACH, 3), each=20)
    harness.run()
    messages, counts = harness.messages, harness.site.counts
    assert len(messages) < 120 / 2
    assert sum(message.dropped for message in messages) == counts.dropped
    assert counts.rows == 8 * EACH == len(harness.ids) + counts.dropped
    assert harness.site.progress.untold == 0
    pipeline = Pipeline(plan_of(), b"12345678", Offered(0.0))
    step = pipeline.after(Progress(), rows_of(30), Position("-", 1), 1.0)
    told = pipeline.after(Progress(cycle=step.progress.cycle, keys=step.progress.keys, seq=1, untold=9), rows_of(0),
                          Position("-", 1), 2.0, all_of_it=True)
    assert (len(told.messages), told.progress.untold, told.progress.seq) == (1, 0, 2)


def test_a_stream_that_is_silent_tells_what_it_dropped(tmp_path: Path) -> None:
    harness = Harness(tmp_path, plan_of(capacity_kbps=0.5, bucket_bytes=4096, linger_s=5.0), rows_of(200, 3), each=20)
    at, lines = harness.source.blocks[-1]
    harness.source.blocks[-1] = at + 100.0, lines
    run(harness.site, harness.clock, lambda: harness.source.at == 9 and harness.site.progress.untold > 0)
    run(harness.site, harness.clock, lambda: harness.site.progress.untold == 0 and harness.site.store.waiting() is None)
    assert harness.clock.now < at + 100.0
    assert harness.messages[-1].rows.num_rows == 0
    assert sum(message.dropped for message in harness.messages) == harness.site.counts.dropped > 0


TEXTS = SiftRule(attributes=("x", "word"), plan=Plan(), wishes=(Wish(Compare(1, "=", "rare")), Wish(Compare(0, "<", 0.2))))


@pytest.mark.parametrize("rule", [RULE, TEXTS], ids=["numbers", "texts"])
@pytest.mark.parametrize("after", [1, 2, 9, 25])
def test_a_restart_changes_no_row(tmp_path: Path, after: int, rule: SiftRule) -> None:
    rows, plan = rows_of(30 * 40, 5), plan_of(capacity_kbps=16.0, sift=rule)
    plain, cut = (Harness(tmp_path / name, plan, rows, 40) for name in made(tmp_path, "plain", "cut"))
    plain.run()
    run(cut.site, cut.clock, lambda: cut.source.at >= after)
    cut.again()
    cut.run()
    assert 0 < len(cut.ids) < rows.num_rows / 2
    assert cut.ids == plain.ids
    assert cut.dropped + cut.site.counts.dropped == plain.site.counts.dropped


def test_a_batch_that_is_done_again_gives_the_same_rows(tmp_path: Path) -> None:
    harness = Harness(tmp_path, plan_of(), rows_of())
    run(harness.site, harness.clock, lambda: harness.source.at >= 7)
    store, plan = harness.site.store, harness.plan
    more = rows_of(EACH, 8)

    def done(progress: Progress) -> tuple[bytes, ...]:
        assert progress.sifting is not None
        assert progress.sifting.offered is not None
        pipeline = Pipeline(plan, store.origin, progress.sifting.offered)
        return pipeline.after(progress, more, Position("fed", 8), harness.clock.now + 0.5).messages

    assert done(harness.site.progress) == done(store.progress()) != ()


def made(path: Path, *names: str) -> tuple[str, ...]:
    for name in names:
        (path / name).mkdir()
    return names


def test_a_hot_spot_that_moves_is_followed(tmp_path: Path) -> None:
    count = BATCHES * EACH
    random = np.random.default_rng(11)
    rows = rows_of(count)
    late = np.arange(count) >= count // 2
    x = np.where(late, 100.0, 0.0) + random.random(count)
    rows = rows.set_column(1, "x", pa.array(x))
    wishes = (Wish(box((0.0, 0.3), (0.0, 1.0))), Wish(box((100.7, 101.0), (0.0, 1.0))))
    harness = Harness(tmp_path, plan_of(sift=SiftRule(attributes=("x", "y"), plan=Plan(16), wishes=wishes)), rows)
    harness.run()
    kept = np.zeros(count, dtype=bool)
    kept[harness.ids] = True
    settled = np.arange(count) >= 0.6 * count
    for want in ((x < 0.3) & ~late, (x >= 100.7) & settled):
        assert kept[want].mean() > 0.8 > 2 * kept.mean()


def test_other_queries_come_with_a_later_plan(tmp_path: Path) -> None:
    rows = rows_of()
    harness = Harness(tmp_path, plan_of(sift=SiftRule(attributes=("x", "y"), plan=Plan(), wishes=RULE.wishes[:1])), rows)
    run(harness.site, harness.clock, lambda: harness.source.at >= BATCHES // 2)
    for rule in (SiftRule(attributes=("x", "y"), plan=Plan(), wishes=RULE.wishes[1:2]),
                 SiftRule(attributes=("word",), plan=Plan(), wishes=(Wish(Compare(0, "=", "rare")),))):
        revision = harness.central.desks["spots"].plan.revision + 1
        harness.central.change(plan_of(sift=rule, revision=revision))
        until = harness.source.at + BATCHES // 4
        run(harness.site, harness.clock, lambda until=until: harness.source.at >= until)  # type: ignore[misc]
        assert harness.site.plan.sift == rule
    harness.run()
    kept = np.zeros(rows.num_rows, dtype=bool)
    kept[harness.ids] = True
    at = np.arange(rows.num_rows) / rows.num_rows
    first, second, _ = wanted_of(rows)
    rare = np.array([word == "rare" for word in rows.column("word").to_pylist()])
    # A plan comes with the reply to a message, and rows that wait for their window are sifted with it.
    for want, since, until in ((first, 0.0, 0.5), (second, 0.55, 0.75), (rare, 0.8, 1.0)):
        assert kept[want & (since <= at) & (at < until)].mean() > 0.85


def test_the_change_to_sifting_and_back_loses_no_row(tmp_path: Path) -> None:
    rows = rows_of(20 * EACH)
    harness = Harness(tmp_path, plan_of(), rows)
    for revision, sift in ((2, None), (3, RULE)):
        until = harness.source.at + 6
        run(harness.site, harness.clock, lambda until=until: harness.source.at >= until)  # type: ignore[misc]
        harness.central.change(plan_of(sift=sift, revision=revision))
    harness.run()
    numbers = np.concatenate([message.cycle_no for message in harness.messages])
    assert np.all(np.diff(numbers) > 0)
    assert len(numbers) + harness.site.counts.dropped == rows.num_rows == harness.site.counts.rows
    assert {"id" in message.plan.attrs or "load" in message.plan.attrs for message in harness.messages} == {True, False}


def test_values_as_sifters_take_them() -> None:
    floats = sift_column(pa.array([1.5, None, float("nan"), float("inf"), float("-inf")]))
    assert floats[:4].tolist() == [1.5, -np.inf, np.inf, np.inf]
    assert -np.inf < floats[4] < -1e308
    assert sift_column(pa.array([3, None, 2**63 - 1], pa.int64())).tolist() == [3.0, -np.inf, 2.0**63]
    assert sift_column(pa.array([1, 2], pa.int8())).tolist() == [1.0, 2.0]
    texts = sift_column(pa.array(["a", None, "x" * 10_000]))
    assert texts.tolist() == ["a", None, "x" * 256]
    assert texts.dtype == object


def test_null_and_nan_and_texts_are_sifted(tmp_path: Path) -> None:
    count = 4_000
    rows = rows_of(count)
    place = np.arange(count)
    x = pa.array(np.where(place % 3 == 0, np.nan, place % 10), mask=place % 3 == 1)
    word = pa.array([None if i % 5 == 0 else ("rare" if i % 10 == 1 else f"w{i % 7}") for i in range(count)])
    rows = rows.set_column(1, "x", x).set_column(3, "word", word)
    rule = SiftRule(
        attributes=("x", "word"), plan=Plan(),
        wishes=(Wish(Compare(1, "=", "rare")), Wish(Compare(0, "<", 2.0, True)), Wish(Compare(0, "<", float("nan")))),
    )
    state = Sifting()
    kept = []
    for first in range(0, count, 500):
        stay, state = sifted(rule, state, rows.slice(first, 500), 0.3)
        kept.append(stay)
    stays = np.concatenate(kept)
    assert stays.mean() == pytest.approx(0.3, abs=0.03)
    known = np.array([value is not None and value < 2.0 for value in x.to_pylist()])
    rare = np.array([value == "rare" for value in word.to_pylist()])
    assert stays[known].mean() > 0.9
    assert stays[rare].mean() > 0.9
    # All NULL, and as many rows as there are.
    for nothing in (pa.nulls(40, pa.float64()), pa.nulls(40, pa.float64()).fill_null(float("nan"))):
        some = rows.slice(0, 40).set_column(1, "x", nothing).set_column(3, "word", pa.nulls(40, pa.string()))
        assert sifted(rule, Sifting(), some, 0.5)[0].sum() == pytest.approx(20, abs=1)
        assert sifted(rule, Sifting(), some, 1.0)[0].all()


def test_a_few_rows_have_no_sifter_and_go_evenly() -> None:
    stay, state = sifted(RULE, Sifting(), rows_of(48).slice(0, 8), 0.25)
    assert state.sifter is None
    assert np.flatnonzero(stay).tolist() == [3, 7]


def test_rows_that_end_and_begin_again_are_not_taken_for_slow_ones() -> None:
    offered = Offered(0.0).after(1.0, 100, 1000).after(2.0, 100, 1000)
    assert offered.resumed(2.0) == offered
    assert offered.resumed(3.5) == offered
    late = offered.resumed(1000.0).after(1000.0, 400, 4000)
    assert late.rows_per_s == pytest.approx(100.0)


def test_a_plan_in_json_tells_of_the_store(tmp_path: Path) -> None:
    harness = Harness(tmp_path, plan_of(), rows_of(4 * EACH))
    harness.run()
    state, known = harness.site.progress.sifting, harness.site.store.progress().sifting
    assert state is not None
    assert known is not None
    assert state.sifter is not None
    assert known.sifter is not None
    assert known.sifter.to_json() == state.sifter.to_json()
    assert known.had.tolist() == state.had.tolist()
    assert (known.parts, known.above, known.offered) == (state.parts, state.above, state.offered)
    assert json.dumps([[c.tolist() for c in p] for p in known.recent]) == json.dumps([[c.tolist() for c in p] for p in state.recent])
