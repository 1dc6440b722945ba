"""Generates queries over relations that gain and lose rows at any instant, beside those of ``programs``.

``STREAMQ_GENERATED_FEATURES=rows,sets`` adds two kinds of them to a run, ``all`` adds all.
"""

from __future__ import annotations

import os

from hypothesis import strategies as st

from tests.contract.programs import queries, tests_of, where, windows

counts = st.integers(1, 4)
spans = st.integers(1, 15)

# The last row alone, under no operator, is given as rows that replace each other, and not as changes.
row_windows = st.one_of(
    st.builds("[ROWS {}]".format, st.integers(2, 4)),
    st.builds("[ROWS {} SLIDE {}]".format, counts, counts),
    st.builds("[ROWS {} RANGE {} SECONDS]".format, counts, spans),
    st.builds("[PARTITION BY k ROWS {}]".format, st.integers(2, 4)),
    st.builds("[PARTITION BY k ROWS {} SLIDE {}]".format, counts, st.integers(2, 3)),
    st.builds("[PARTITION BY k ROWS {} RANGE {} SECONDS]".format, counts, spans),
)
ranges = st.builds("[RANGE {} SECONDS]".format, spans)
moving_windows = st.one_of(ranges, row_windows)

operators = st.sampled_from(("ISTREAM", "DSTREAM"))

calls = st.lists(st.sampled_from((
    "COUNT(*)", "COUNT(v)", "SUM(v)", "MIN(v)", "MAX(v)", "AVG(v)", "SUM(x)", "MAX(x)",
    "COUNT(*) FILTER (WHERE v > 3)", "MAX(ts)",
)), min_size=1, max_size=3, unique=True).map(
    lambda chosen: ", ".join(f"{call} AS a{i}" for i, call in enumerate(chosen))
)


def groups(window: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        "SELECT k, {} FROM s {}{} GROUP BY k{}".format, calls, window, where(tests_of("", "v")),
        st.sampled_from(("", "", " HAVING COUNT(*) > 1")),
    )


def sums(stream: str, number: str) -> st.SearchStrategy[str]:
    """One row per key, with the number ``m``, from groups over a window that moves or over none."""
    return st.builds(
        f"(SELECT k, {{}}({number}) AS m FROM {stream} {{}} GROUP BY k)".format,
        st.sampled_from(("SUM", "MAX", "COUNT")), st.one_of(st.just(""), moving_windows),
    )


passed_on = st.builds("SELECT k, v FROM s {}{}".format, moving_windows, where(tests_of("", "v")))
timed = st.builds("SELECT k, v, ts FROM s {}{}".format, moving_windows, where(tests_of("", "v")))

FEATURES: dict[str, st.SearchStrategy[str]] = {
    "relations": passed_on,
    "rows": groups(row_windows),
    "ranges": groups(ranges),
    "totals": st.builds("SELECT {} FROM s {}".format, calls, moving_windows),
    "differences": st.one_of(
        # With its time no row that comes is equal to one that leaves.
        st.builds("{}({})".format, operators, timed),
        st.builds("{}({})".format, operators, groups(moving_windows)),
        st.builds("{}({})".format, operators, groups(windows)),
        st.builds("{}({})".format, operators, groups(st.just(""))),
    ),
    "distinct": st.builds("SELECT DISTINCT k, v % 3 AS m FROM s {}".format, moving_windows),
    "lookups": st.one_of(
        st.builds(
            "RSTREAM(SELECT s.k AS k, v, m FROM s [NOW], {} q WHERE s.k = q.k AND {})".format,
            sums("r", "w"), tests_of("s.", "v"),
        ),
        st.builds(
            "RSTREAM(SELECT s.k AS k, v, w FROM s [NOW] JOIN r {} ON s.k = r.k)".format,
            moving_windows,
        ),
    ),
    "joins": st.one_of(
        st.builds(
            "SELECT s.k AS k, v, w FROM s {} JOIN r {} ON s.k = r.k AND {}".format,
            moving_windows, moving_windows, tests_of("s.", "v"),
        ),
        st.builds(
            "SELECT s.k AS k, v, w FROM s {} JOIN r {} ON v < w".format, moving_windows, moving_windows
        ),
        st.builds(
            "ISTREAM(SELECT a.k AS k, a.v AS v, w, c.v AS u FROM s {} a JOIN r {} b ON a.k = b.k "
            "JOIN s {} c ON b.k = c.k AND a.v < c.v)".format,
            moving_windows, moving_windows, moving_windows,
        ),
        st.builds(
            "SELECT a.k AS k, a.m AS m, b.m AS o FROM {} a JOIN {} b ON a.k = b.k".format,
            sums("s", "v"), sums("r", "w"),
        ),
    ),
    "sets": st.builds(
        "SELECT k, v FROM s {} {} SELECT k, w FROM r {}".format, moving_windows,
        st.sampled_from(("UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL")),
        moving_windows,
    ),
    "nested": st.builds(
        "SELECT {}(m) AS o, COUNT(*) AS n FROM {} q".format,
        st.sampled_from(("MAX", "MIN", "SUM")), sums("s", "v"),
    ),
    "framed": st.builds(
        "SELECT k, COUNT(*) AS n, MAX(m) AS o, WINDOW_END FROM ({}({})) {} q GROUP BY k".format,
        operators,
        st.builds(
            "SELECT k, SUM(v) AS m FROM s {} GROUP BY k".format, st.one_of(moving_windows, windows)
        ),
        st.one_of(windows, st.just("[SESSION 4 SECONDS PARTITION BY k]")),
    ),
    "asking": st.builds(
        "SELECT k, v FROM s {} WHERE k {} (SELECT k FROM r {}{})".format, moving_windows,
        st.sampled_from(("IN", "NOT IN")), moving_windows, where(tests_of("", "w")),
    ),
}
"""Kinds of queries, by name."""


def chosen(text: str) -> tuple[str, ...]:
    """The kinds named in a text, with commas between them; raises ValueError for one that is unknown."""
    names = tuple(FEATURES) if text == "all" else tuple(n for n in text.split(",") if n)
    unknown = [name for name in names if name not in FEATURES]
    if unknown:
        raise ValueError(f"unknown features {unknown}: known are {list(FEATURES)}")
    return names


MOVING = chosen(os.environ.get("STREAMQ_GENERATED_FEATURES", ""))
"""The kinds that a run adds to the queries of ``programs``."""


def all_queries(features: tuple[str, ...]) -> st.SearchStrategy[str]:
    """The queries of ``programs``, and those of the kinds named."""
    if not features:
        return queries
    return st.one_of(queries, *(FEATURES[name] for name in features))
