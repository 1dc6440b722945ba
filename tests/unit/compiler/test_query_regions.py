"""The rows that a query may want, as ranges of attributes, through whatever lies between them and the stream."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.goals import Sift
from streamq.compiler.ir.rewrite import walk
from streamq.stdlib.sifters.boxes import boxes
from streamq.stdlib.sifters.predicates import Both, Compare, Either, Everywhere, Predicate
from tests.support.compiling import compile_text

SIFTER = "SHED SIFTER ON (i, x, t) BY 50 PERCENT"


def sift_of(text: str) -> Sift:
    """The sifter of the query ``q``, as the plan has it."""
    result = compile_text(text)
    assert result.optimized is not None, [d.message for d in result.diagnostics]
    query = next(q for q in result.optimized.queries if q.name == "q")
    return next(n.sift for n in walk(query.root) if isinstance(n, lg.Shed) and n.sift is not None)


def wanted(query: str, before: str = "", sifter: str = SIFTER) -> Predicate:
    return sift_of(f"{before} CREATE QUERY q AS {query} {sifter};").wanted


def of(test: str) -> Predicate:
    """What a single test in WHERE comes to."""
    return wanted(f"SELECT i FROM s WHERE {test}")


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("i > 5", Compare(0, ">", 5.0, True)),
        ("5 >= i", Compare(0, "<=", 5.0, True)),
        ("x < 2.5", Compare(1, "<", 2.5)),
        ("x = -1", Compare(1, "=", -1.0)),
        ("t = 'car'", Compare(2, "=", "car")),
        ("'car' < t", Compare(2, ">", "car")),
        ("CAST(i AS BIGINT) <> 4", Compare(0, "!=", 4.0, True)),
        ("i IN (1, 2)", Either((Compare(0, "=", 1.0, True), Compare(0, "=", 2.0, True)))),
        ("NOT (i < 3 OR x >= 1)", Both((Compare(0, ">=", 3.0, True), Compare(1, "<", 1.0)))),
        ("NOT (i < 3 AND x >= 1)", Either((Compare(0, ">=", 3.0, True), Compare(1, "<", 1.0)))),
        ("x > 1 OR tiny = 2", Everywhere()),
        ("x > 1 AND tiny = 2", Compare(1, ">", 1.0)),
        ("x > 1 AND FALSE", Either(())),
        ("x > 1 OR x > 1 OR (i = 3 OR i = 4)", Either((Compare(1, ">", 1.0), Compare(0, "=", 3.0, True), Compare(0, "=", 4.0, True)))),
    ],
)
def test_tests_become_ranges(test: str, expected: Predicate) -> None:
    found = of(test)
    assert found == expected


@pytest.mark.parametrize(
    "test", ["x > l", "ABS(x) > 1", "t LIKE 'a%'", "x IS NULL", "tiny > 1", "CAST(x AS INT) > 2", "NOT (t LIKE 'a%')", "i % 2 = 0"]
)
def test_what_is_no_range_is_wanted_everywhere(test: str) -> None:
    assert of(test) == Everywhere()


def held(test: str, column: str, values: np.ndarray) -> np.ndarray:
    """The values of a column that a test may hold for; NaN lies above all numbers, at plus infinity."""
    found = wanted(f"SELECT i FROM s WHERE {test}", sifter=f"SHED SIFTER ON ({column}) BY 50 PERCENT")
    return boxes(found, 1).holds(np.where(np.isnan(values), np.inf, values)[:, None])


SOME = np.concatenate([np.linspace(-3, 9, 4001), [0.1, 0.2, -0.1, 1 / 3, 8.0, 3 / 7, 1e9, -1e9]])
X = {"x": SOME}
WHOLE = {"i": np.append(np.arange(-50.0, 50.0), [2.0**31 - 1, -(2.0**31), 2.0**31 - 3])}


def wrapped(values: np.ndarray) -> np.ndarray:
    """Of 32 bits, as Spark has them where they overflow."""
    return (values + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize(
    ("test", "rows", "truth", "more"),
    [
        ("x * 3 > 1", X, lambda x: x * 3 > 1, 1),
        ("x / 4 <= 2", X, lambda x: x / 4 <= 2, 1),
        ("x + 0.1 = 0.3", X, lambda x: x + 0.1 == 0.3, 1),
        ("0.1 - x >= 0.2", X, lambda x: 0.1 - x >= 0.2, 1),
        ("-2 * x < 1", X, lambda x: -2 * x < 1, 1),
        ("x + 1e9 >= 1e9", {"x": np.array([-5e-8, -1e-3, 1.0, -2.0])}, lambda x: x + 1e9 >= 1e9, 1),
        ("-x > 4", {"x": np.array([np.nan, -5.0, -3.0])}, lambda x: np.isnan(x) | (-x > 4), 0),
        ("10 - x > 4", {"x": np.array([np.nan, 5.0, 7.0])}, lambda x: np.isnan(x) | (10 - x > 4), 0),
        ("x > 4", {"x": np.array([np.nan, 5.0, 3.0])}, lambda x: np.isnan(x) | (x > 4), 0),
        ("i + 3 < 10", WHOLE, lambda i: wrapped(i + 3) < 10, 1),
        ("10 - i <= 4", WHOLE, lambda i: wrapped(10 - i) <= 4, 2),
        ("-i < 4", WHOLE, lambda i: wrapped(-i) < 4, 1),
        ("i * 7 = 14", WHOLE, lambda i: wrapped(i * 7) == 14, 3),
        ("i * 1000000000 < 5", WHOLE, lambda i: wrapped(i * 1_000_000_000) < 5, 60),
        ("l = 4503599627370498", {"l": np.array([4503599627370498.0, 5.0])}, lambda v: v == 4503599627370498, 0),
        ("l + 9007199254740993 > 9007199254740995", {"l": np.arange(0.0, 9.0)}, lambda v: v > 2, 9),
        ("d * 2 > 5", {"d": np.arange(0.0, 9.0)}, lambda d: d * 2 > 5, 9),
        ("d / 7 = 0.142857", {"d": np.array([1.0, 2.0])}, lambda d: d == 1, 2),
        ("d >= 2.5", {"d": np.arange(0.0, 9.0, 0.25)}, lambda d: d >= 2.5, 0),
        ("CAST(x AS DECIMAL(10,0)) >= 6", {"x": np.array([5.6, 1.0])}, lambda x: np.rint(x) >= 6, 1),
        ("CAST(x AS FLOAT) >= 16777218", {"x": np.array([16777217.5, 1.0])}, lambda x: np.float32(x) >= 16777218, 1),
        ("f = CAST(0.1 AS FLOAT)", {"f": np.array([float(np.float32(0.1)), 5.0])}, lambda f: np.float32(f) == np.float32(0.1), 1),
        ("f + 1 >= 3", {"f": np.array([1.9999999, 0.0])}, lambda f: np.float32(f) + np.float32(1) >= 3, 1),
    ],
)
def test_ranges_hold_all_rows_and_few_more(
    test: str, rows: dict[str, np.ndarray], truth: Callable[[np.ndarray], np.ndarray], more: int
) -> None:
    """Rows that overflow, or whose arithmetic rounds, may be held too."""
    ((column, values),) = rows.items()
    holds, found = truth(values), held(test, column, values)
    assert np.all(found[holds])
    assert np.count_nonzero(found & ~holds) <= more


def test_text_of_a_varchar_is_compared_as_it_is() -> None:
    found = wanted("SELECT i FROM s WHERE v = 'car' OR v IN ('bus')", sifter="SHED SIFTER ON (v) BY 50 PERCENT")
    assert found == Either((Compare(0, "=", "car"), Compare(0, "=", "bus")))


def test_through_views_projections_windows_and_groups() -> None:
    views = "CREATE VIEW a AS SELECT i AS k, x * 2 AS y, t, ts FROM s WHERE x > 1; CREATE VIEW b AS SELECT k, y, ts FROM a WHERE k < 9;"
    found = boxes(wanted("SELECT k, COUNT(*) AS n, WINDOW_END FROM b [TUMBLE 1 MINUTE] WHERE y < 8 GROUP BY k HAVING k > 3", views), 3)
    assert len(found) == 1
    assert found.lo[0, :2].tolist() == pytest.approx([3.5, 1.0])
    assert found.hi[0, :2].tolist() == pytest.approx([8.5, 4.0], abs=1e-6)


def test_through_joins_and_unions() -> None:
    join = "SELECT ISTREAM(s.x) FROM s [RANGE 1 MINUTE] JOIN r [RANGE 1 MINUTE] ON s.i = r.i WHERE s.x > 3 AND r.y < 1"
    for names, place in (("x, t", 0), ("s.i, s.x", 1)):
        assert boxes(wanted(join, sifter=f"SHED SIFTER ON ({names}) BY 50 PERCENT"), 2).lo[0, place] == pytest.approx(3.0)
    union = "SELECT i FROM s WHERE x < 1 UNION ALL SELECT i FROM s WHERE x > 5"
    found = boxes(wanted(union), 3)
    rows = np.zeros((3, 3))
    rows[:, 1] = [0, 3, 6]
    assert found.holds(rows).tolist() == [True, False, True]


def test_without_a_test_all_rows_are_wanted() -> None:
    assert wanted("SELECT i FROM s") == Everywhere()


def test_what_the_sifter_is_asked() -> None:
    found = sift_of(
        "CREATE QUERY q AS SELECT i FROM s QOS LATENCY 2 SECONDS WEIGHT 3 SLOPE 0.5 FAIRNESS 0.2 COMPLETENESS >= 0.3 "
        "SHED SIFTER ON (X, t) REGIONS 64 PARTITION DATA SAMPLE 5 PERCENT;"
    )
    plan = found.plan
    assert (found.stream, found.attributes, found.text) == ("s", ("x", "t"), (False, True))
    assert (plan.regions, plan.method, plan.fairness, plan.sampled) == (64, "DATA", 0.2, 0.05)
    assert (found.weight, found.slope, found.least) == (3.0, 0.5, 0.3)


def test_queries_that_ask_alike_share_a_sifter() -> None:
    one = sift_of("CREATE QUERY q AS SELECT i FROM s WHERE i < 5 SHED SIFTER ON (i) BY 5 PERCENT;")
    same = sift_of("CREATE QUERY q AS SELECT x FROM s QOS WEIGHT 2 SHED SIFTER ON (I) BY 50 PERCENT;")
    other = sift_of("CREATE QUERY q AS SELECT i FROM s SHED SIFTER ON (i) REGIONS 4 BY 5 PERCENT;")
    assert one.group == same.group != other.group
    orders = [sift_of(f"CREATE QUERY q AS SELECT i FROM s SHED SIFTER ON ({names}) BY 5 PERCENT;") for names in ("i, x", "X, i")]
    assert orders[0].group == orders[1].group
