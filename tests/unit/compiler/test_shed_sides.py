"""Which of the streams of a query lose rows, where their rows go at random under QOS LATENCY."""

from __future__ import annotations

import pytest

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.physical import Observe, Where
from streamq.compiler.ir.physical import walk as steps_of
from streamq.compiler.ir.rewrite import walk
from tests.support.compiling import compile_text

AUCTION = """
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 4 SECONDS)
  WITH (connector = 'nexmark', table = 'bid', rate = 10000);
CREATE STREAM auction (id BIGINT, category BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 4 SECONDS)
  WITH (connector = 'nexmark', table = 'auction', rate = 10000);
CREATE STREAM click (auction BIGINT, who STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 4 SECONDS)
  WITH (connector = 'memory');
CREATE TABLE item (id BIGINT, name STRING) WITH (connector = 'memory');
"""
MINUTE = "[TUMBLE 1 MINUTE]"
GOAL = "QOS LATENCY 2 SECONDS"
PAIRS = f"SELECT category, COUNT(*) AS n FROM auction {MINUTE} JOIN bid {MINUTE} ON id = auction GROUP BY category"


def sheds(text: str) -> dict[str, bool]:
    """The streams with a shedder, and whether it lets rows go."""
    result = compile_text(AUCTION + text, prelude=False)
    assert result.optimized is not None, [d.message for d in result.diagnostics]
    found = [n for n in walk(result.optimized.queries[-1].root) if isinstance(n, lg.Shed)]
    return {next(n.source.name for n in walk(shed) if isinstance(n, lg.Scan)): not shed.spared for shed in found}


def notices(text: str) -> list[str]:
    result = compile_text(AUCTION + text, prelude=False)
    return [f"{n.message} ({n.hint})" for n in result.notices if n.kind in ("shedder", "approximate", "estimate")]


def test_of_an_inner_join_the_stream_goes_whose_rows_save_most() -> None:
    """There are 46 bids to 3 auctions."""
    assert sheds(f"{PAIRS} {GOAL};") == {"bid": True, "auction": False}
    shedder, *others = notices(f"{PAIRS} {GOAL};")
    assert "of `bid`, at the source, but no row of `auction` (as large a part of `bid` saves " in shedder
    assert not any("squared" in text for text in others)


@pytest.mark.parametrize("policy", [
    "SHED RANDOM BY 10 PERCENT", f"{GOAL} SHED FAIR", f"{GOAL} ERROR <= 5 PERCENT RECOVER ESTIMATE", "SHED RANDOM TO RATE 5 ROWS PER SECOND",
])
def test_where_the_query_says_how_much_of_each_all_streams_lose_rows(policy: str) -> None:
    assert sheds(f"{PAIRS} {policy};") == {"bid": True, "auction": True}


def test_keys_go_on_both_sides() -> None:
    text = f"SELECT COUNT(*) AS n FROM bid {MINUTE} JOIN click {MINUTE} ON bid.auction = click.auction {GOAL} SHED RANDOM BY KEY (auction);"
    assert sheds(text) == {"bid": True, "click": True}


def test_where_a_rate_is_not_known_both_lose_rows() -> None:
    join = f"SELECT who, COUNT(*) AS n FROM click {MINUTE} JOIN bid {MINUTE} ON click.auction = bid.auction GROUP BY who {GOAL};"
    assert sheds(join) == {"click": True, "bid": True}
    assert any("squared" in text for text in notices(join))


@pytest.mark.parametrize(("kind", "kept"), [("LEFT", "bid"), ("RIGHT", "click"), ("FULL", None)])
def test_of_an_outer_join_only_the_side_that_is_put_out_whole_loses_rows(kind: str, kept: str | None) -> None:
    """Whatever the rates; of a FULL one both are."""
    join = f"SELECT who, price FROM click {MINUTE} {kind} JOIN bid {MINUTE} ON click.auction = bid.auction {GOAL};"
    assert sheds(join) == {stream: stream != kept for stream in ("click", "bid")}
    if kept is not None:
        assert "there would be wrong answers, not fewer" in notices(join)[0]


def test_what_is_taken_away_stays_whole() -> None:
    text = f"SELECT id FROM auction {MINUTE} AS a WHERE NOT EXISTS (SELECT 1 FROM bid {MINUTE} WHERE bid.auction = a.id) {GOAL};"
    assert sheds(text) == {"auction": True, "bid": False}


@pytest.mark.parametrize("window", [MINUTE, "[RANGE 1 MINUTE]"])
@pytest.mark.parametrize(("op", "spared"), [("EXCEPT", {"click"}), ("INTERSECT", set())])
def test_of_except_what_is_taken_away_stays_whole(op: str, spared: set[str], window: str) -> None:
    """As a grouping of equal windows, and row by row."""
    text = f"SELECT auction FROM bid {window} {op} SELECT auction FROM click {window} {GOAL};"
    assert {stream for stream, loses in sheds(text).items() if not loses} == spared


def test_a_stream_that_must_stay_whole_does_so_wherever_it_is_read() -> None:
    left = f"SELECT who FROM click {MINUTE} LEFT JOIN bid {MINUTE} ON click.auction = bid.auction"
    other = f"SELECT who FROM click {MINUTE} JOIN bid {MINUTE} ON click.auction = bid.price"
    assert sheds(f"{left} UNION ALL {other} {GOAL};") == {"click": True, "bid": False}


@pytest.mark.parametrize("join", [
    f"click {MINUTE} FULL JOIN bid {MINUTE} ON click.auction = bid.auction",
    f"bid {MINUTE} AS a LEFT JOIN bid {MINUTE} AS b ON a.auction = b.price",
])
def test_where_no_side_may_lose_rows_all_do_and_a_notice_says_what_comes_of_it(join: str) -> None:
    text = f"SELECT 1 AS one FROM {join} {GOAL};"
    assert set(sheds(text).values()) == {True}
    assert any("may make an answer wrong, not only absent" in n for n in notices(text))


def test_a_fixed_share_of_an_outer_join_is_told_to_make_answers_wrong() -> None:
    join = f"SELECT who FROM click {MINUTE} LEFT JOIN bid {MINUTE} ON click.auction = bid.auction SHED RANDOM"
    assert any("a row of `bid` that is dropped may make an answer wrong" in n for n in notices(f"{join} BY 20 PERCENT;"))
    assert not any("wrong" in n for n in notices(f"{join} BY KEY (auction) BY 20 PERCENT;"))


def test_a_side_that_is_grouped_sheds_as_the_other_does() -> None:
    """A row that is lost there changes a value, or takes no answer away; which share of the answers goes is not known."""
    half = f"SELECT id FROM auction {MINUTE} AS a WHERE EXISTS (SELECT 1 FROM bid {MINUTE} WHERE bid.auction = a.id) {GOAL};"
    assert sheds(half) == {"auction": True, "bid": True}
    grouped = (
        f"SELECT id, n FROM auction {MINUTE} JOIN (SELECT auction, COUNT(*) AS n FROM bid {MINUTE} GROUP BY auction) AS b "
        f"ON id = b.auction {GOAL};"
    )
    assert sheds(grouped) == {"auction": True, "bid": True}


def test_unions_and_joins_with_tables_shed_all_streams() -> None:
    union = f"SELECT auction FROM bid UNION ALL SELECT id AS auction FROM auction {GOAL};"
    assert set(sheds(union).values()) == {True}
    assert sheds(f"SELECT name FROM bid JOIN item ON item.id = bid.auction {GOAL};") == {"bid": True}
    assert sheds(f"SELECT name FROM bid LEFT JOIN item ON item.id = bid.auction {GOAL};") == {"bid": True}


def test_a_stream_that_is_joined_with_itself_loses_rows_on_both_sides() -> None:
    text = f"SELECT COUNT(*) AS n FROM bid {MINUTE} AS a JOIN bid {MINUTE} AS b ON a.auction = b.auction {GOAL};"
    assert sheds(text) == {"bid": True}


def test_of_several_joins_one_stream_loses_rows() -> None:
    """The rate of one is unknown, but it is the side of an outer join that may not lose any."""
    text = (
        f"SELECT category, COUNT(*) AS n FROM auction {MINUTE} JOIN bid {MINUTE} ON id = bid.auction "
        f"LEFT JOIN click {MINUTE} ON click.auction = id GROUP BY category {GOAL};"
    )
    assert sheds(text) == {"auction": False, "bid": True, "click": False}


def test_pairs_have_the_weight_of_the_side_that_sheds() -> None:
    text = f"{PAIRS} {GOAL} RECOVER ESTIMATE;"
    result = compile_text(AUCTION + text, prelude=False)
    assert result.optimized is not None
    assert result.optimized.queries[-1].estimates == ("n",)
    assert [n for n in notices(text) if "not estimated" in n] == []
    assert any("several partners" in n for n in notices(text))


def test_the_spared_stream_is_counted_and_not_tested() -> None:
    result = compile_text(AUCTION + f"{PAIRS} {GOAL};", prelude=False)
    (query,) = result.require().queries
    observed = [s for s in steps_of(query.root) if isinstance(s, Observe) and "shed" in s.name]
    assert sorted(sorted(dict(s.metrics)) for s in observed) == [["arrived", "kept"], ["arrived", "spared"]]
    tests = [s for s in steps_of(query.root) if isinstance(s, Where) and "__keep" in s.condition]
    assert len(tests) == 1
    assert query.controls[0].spared == ("auction",)


@pytest.mark.parametrize("op", ["EXCEPT", "UNION ALL"])
def test_only_joins_are_said_to_have_pairs(op: str) -> None:
    """And the groupings by which EXCEPT is worked out are not the query's."""
    text = f"SELECT auction FROM bid {MINUTE} {op} SELECT auction FROM click {MINUTE} SHED RANDOM BY 10 PERCENT;"
    assert not any("squared" in n or "MAX" in n for n in notices(text))
    assert any("squared" in n for n in notices(f"{PAIRS} SHED RANDOM BY 10 PERCENT;"))
