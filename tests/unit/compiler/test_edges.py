"""Streams from an edge: what may be shed, what never is, what comes back, and what a query sees of it."""

from __future__ import annotations

import pytest

from streamq.compiler.analysis.edges import edges_of
from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.explain import render
from streamq.compiler.ir.edges import EdgeStream
from streamq.stdlib.sifters.predicates import Both, Compare, Either, Everywhere

STREAM = """
CREATE CHANNEL uplink CAPACITY 60 KBPS SPLIT WEIGHTED;
CREATE STREAM weather (
  location STRING, temperature DOUBLE, humidity DOUBLE, barometer DOUBLE, wind DOUBLE, storm BOOLEAN NOT NULL,
  celsius AS (temperature - 32) * 5 / 9, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE
)
{clauses}
WITH (connector = 'edge', folder = 'inbox'{options});
"""
SHARED = STREAM.format(clauses="SHED ATTRIBUTES", options=", channel = 'uplink'")
OWN = STREAM.format(clauses="SHED ATTRIBUTES TO CAPACITY 60 KBPS", options=", texts = 'shed'").replace(
    "CREATE CHANNEL uplink CAPACITY 60 KBPS SPLIT WEIGHTED;", ""
)


def compiled(queries: str, stream: str = OWN) -> CompileResult:
    return compile_program(stream + queries)


def edge(queries: str, stream: str = OWN) -> EdgeStream:
    result = compiled(queries, stream)
    assert [d.message for d in result.diagnostics if d.severity.value == "error"] == []
    (found,) = result.require().edges
    return found


def codes(queries: str, stream: str = OWN) -> list[str]:
    return [d.code for d in compiled(queries, stream).diagnostics]


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("SELECT location, humidity FROM weather;", set()),
        ("SELECT humidity FROM weather WHERE wind > 3;", {"wind"}),
        ("SELECT humidity FROM weather WHERE celsius > 30 AND location LIKE 'A%';", {"temperature", "location"}),
        ("SELECT location, AVG(humidity) AS h FROM weather [TUMBLE 1 HOUR] GROUP BY location;", {"location"}),
        ("SELECT location, AVG(humidity) AS h FROM weather [TUMBLE 1 HOUR] GROUP BY location HAVING MAX(wind) > 3;",
         {"location", "wind"}),
        ("SELECT COUNT(*) FILTER (WHERE barometer < 29) AS lows, AVG(wind) AS w FROM weather [TUMBLE 1 HOUR];", {"barometer"}),
        ("SELECT humidity * 2 AS h, wind > 3 AS windy, CASE WHEN ts IS NULL THEN wind ELSE barometer END AS b FROM weather;", set()),
        ("SELECT humidity * 2 AS h, CASE WHEN wind > 3 THEN 1 ELSE 0 END AS windy FROM weather;", {"wind"}),
        ("SELECT SUM(CASE WHEN wind > 3 THEN humidity END) AS h FROM weather [TUMBLE 1 HOUR];", {"wind"}),
        ("SELECT COALESCE(humidity, 0) AS h, wind IS NULL AS calm FROM weather;", {"humidity", "wind"}),
        ("SELECT MAX_BY(humidity, wind) AS h FROM weather [TUMBLE 1 HOUR];", {"wind"}),
        ("ISTREAM(SELECT MAX(humidity) AS h FROM weather [RANGE 10 SECONDS]);", {"humidity"}),
        ("SELECT WINDOW_END AS e, MAX(humidity) AS h FROM weather [RANGE 10 SECONDS SLIDE 1 SECOND];", set()),
        ("SELECT humidity FROM weather WHERE humidity_lo > 3;", {"humidity"}),
        ("SELECT DISTINCT location, wind FROM weather [TUMBLE 1 HOUR];", {"location", "wind"}),
        ("SELECT location, humidity FROM weather [PARTITION BY location ROWS 3];", {"location"}),
        ("SELECT location, COUNT(*) AS n FROM weather [SESSION 1 HOUR PARTITION BY location] GROUP BY location;", {"location"}),
        ("SELECT humidity, wind FROM weather [TUMBLE 1 HOUR] ORDER BY wind LIMIT 3;", {"wind"}),
        ("SELECT ISTREAM(a.humidity, b.wind) FROM weather [RANGE 1 MINUTE] AS a JOIN weather [RANGE 1 MINUTE] AS b "
         "ON a.location = b.location AND a.barometer < b.barometer;", {"location", "barometer"}),
        ("SELECT humidity FROM weather SHED RANDOM BY KEY (wind) BY 5 PERCENT;", {"wind"}),
    ],
)
def test_columns_that_decide_on_rows_are_never_shed(query: str, kept: set[str]) -> None:
    """Beside event time and NOT NULL; what is only shown or added up may go."""
    assert dict(edge(query).kept).keys() == kept | {"ts", "storm"}


def test_each_column_that_is_kept_says_why() -> None:
    found = edge(
        "CREATE QUERY calm AS SELECT location, humidity, barometer, wind FROM weather WHERE wind < 3;",
        STREAM.format(clauses="SHED ATTRIBUTES KEEP (barometer) RECOVER (humidity) FROM SYNOPSIS CYCLE (location)",
                      options=", channel = 'uplink'"),
    )
    assert dict(found.kept) == {
        "location": "the key of the cycle", "barometer": "KEEP", "wind": "`calm` tests, groups or joins by it",
        "storm": "NOT NULL", "ts": "event time",
    }


def test_what_no_query_reads_is_not_sent() -> None:
    one, two = "SELECT location, humidity FROM weather;", "SELECT celsius FROM weather;"
    assert set(edge(one).unread) == {"temperature", "barometer", "wind"}
    assert set(edge(one + two).unread) == {"barometer", "wind"}
    assert edge("SELECT * FROM weather;").unread == ()
    assert set(edge("SELECT humidity_lo FROM weather;").unread) == {"location", "temperature", "barometer", "wind"}


def test_what_an_edge_tells_has_to_be_asked_for_by_name() -> None:
    declared = ["location", "temperature", "humidity", "barometer", "wind", "storm", "celsius", "ts"]
    for query in ("SELECT * FROM weather;", "SELECT w.* FROM weather AS w;", "SELECT * FROM (SELECT * FROM weather);"):
        (found,) = compiled(query).require().queries
        assert [name for name, _ in found.columns] == declared
    (named,) = compiled("SELECT humidity, humidity_lo, w.wind_hi, shed_columns FROM weather AS w;").require().queries
    assert named.columns == (
        ("humidity", "DOUBLE"), ("humidity_lo", "DOUBLE"), ("wind_hi", "DOUBLE"), ("shed_columns", "ARRAY<STRING>")
    )
    (union,) = compiled("TABLE weather UNION ALL TABLE weather;").require().queries
    assert [name for name, _ in union.columns] == declared
    assert codes("SELECT location_lo FROM weather;") == ["SQ0202"]
    assert codes("SELECT storm_lo FROM weather;") == ["SQ0202"]


def test_columns_come_back_for_all_queries_or_for_those_that_ask() -> None:
    found = edge(
        "SELECT humidity, wind FROM weather; SELECT wind, barometer FROM weather RECOVER (wind) FROM SYNOPSIS ERROR 2 PERCENT;",
        STREAM.format(clauses="SHED ATTRIBUTES RECOVER ALL FROM SYNOPSIS ERROR 5 PERCENT RETAIN 2 HOURS", options=", channel = 'uplink'"),
    )
    assert found.synopsis == (("humidity", 5.0), ("barometer", 5.0), ("wind", 2.0))
    assert found.finds_cycle
    assert found.retain_ms == 7_200_000
    assert found.channel is not None
    assert (found.channel.name, found.channel.kbps, found.channel.weighted) == ("uplink", 60.0, True)


def test_the_strictest_criticality_of_queries_that_leave_the_error_to_the_edge() -> None:
    asks = "SELECT humidity FROM weather RECOVER (humidity) FROM SYNOPSIS ERROR AUTO QOS CRITICALITY"
    found = edge(f"{asks} 'low critical'; {asks} 'Very Critical';")
    assert (found.synopsis, found.criticality) == ((("humidity", None),), "very critical")


def test_a_query_may_bring_the_capacity() -> None:
    stream = OWN.replace("SHED ATTRIBUTES TO CAPACITY 60 KBPS", "")
    assert not edge("SELECT humidity FROM weather;", stream).sheds
    assert edge("SELECT humidity FROM weather SHED ATTRIBUTES TO CAPACITY 5 KBPS;", stream).capacity_kbps == 5.0


def test_a_stream_is_read_as_files_of_what_came() -> None:
    text = render(compiled("SELECT humidity, shed_columns FROM weather;"), "spark")
    assert 'stream_path("inbox/weather/rows")' in text
    assert "`humidity` DOUBLE" in text
    assert "`shed_columns` ARRAY<STRING>" in text
    assert "rows of stream 'weather' come from an edge" in text.replace('"', "'")
    compile(text, "program", "exec")


def test_explain_says_of_each_column_what_happens_to_it() -> None:
    (notice,) = compiled(
        "CREATE QUERY q AS SELECT location, humidity, barometer, wind FROM weather WHERE location <> 'A' "
        "RECOVER (humidity) FROM SYNOPSIS ERROR 5 PERCENT RECOVER (barometer) FROM NEAREST;"
    ).notices
    assert notice.kind == "edge"
    assert notice.message == (
        "columns of `weather` may be shed at its edge: `humidity` comes back within 5 %; `barometer` is that of the nearest "
        "row then, without a bound; `wind` is NULL where it was; `location` is never shed (`q` tests, groups or joins by it)"
    )
    assert "60 kbit/s" in notice.hint


@pytest.mark.parametrize(
    ("stream", "told"),
    [(OWN, "exact but for what is shed"), (SHARED, "exact but for what is shed"), (OWN.replace("SHED ATTRIBUTES TO CAPACITY 60 KBPS", ""), "exact")],
)
def test_explain_calls_a_query_exact_where_its_edge_sheds_nothing(stream: str, told: str) -> None:
    shown = render(compiled("CREATE QUERY q AS SELECT humidity FROM weather;", stream)).splitlines()
    assert shown[3] == f"  {told}"


def test_an_edge_without_a_capacity_sheds_nothing() -> None:
    result = compiled("SELECT humidity FROM weather;", OWN.replace("SHED ATTRIBUTES TO CAPACITY 60 KBPS", ""))
    assert result.notices == ()
    assert result.optimized is not None
    assert edges_of(result.optimized)[0][0].capacity_kbps is None


def test_texts_stay_unless_they_may_go() -> None:
    keeps = OWN.replace(", texts = 'shed'", "")
    found = edge("SELECT location, humidity FROM weather RECOVER (humidity) FROM SYNOPSIS;", keeps)
    assert dict(found.kept) == {"location": "text", "storm": "NOT NULL", "ts": "event time"}
    assert codes("SELECT location FROM weather RECOVER (location) FROM SYNOPSIS;", keeps) == ["SQ0902", "SQ0902"]


def test_bounds_are_told_of_columns_whose_bounds_are_read() -> None:
    found = edge("SELECT humidity_lo, wind FROM weather WHERE barometer_hi < 30;")
    assert found.bounded == ("humidity", "barometer")
    assert dict(found.kept)["barometer"] == "`query` tests, groups or joins by it"


def test_an_event_time_is_kept_with_all_that_it_is_made_of() -> None:
    stream = """
    CREATE STREAM weather (day STRING, hour INT, humidity DOUBLE, t AS TO_TIMESTAMP(CONCAT(day, CAST(hour AS STRING))), WATERMARK FOR t)
    SHED ATTRIBUTES TO CAPACITY 5 KBPS WITH (connector = 'edge', folder = 'inbox', texts = 'shed');
    """
    assert dict(edge("SELECT t, humidity FROM weather;", stream).kept) == {"day": "event time", "hour": "event time"}


def test_a_channel_holds_for_streams_of_which_nothing_is_shed() -> None:
    found = edge("SELECT humidity FROM weather;", SHARED.replace("SHED ATTRIBUTES", ""))
    assert found.channel is not None
    assert not found.sheds
    assert dict(found.kept) == {"humidity": "nothing is shed", "storm": "NOT NULL", "ts": "event time"}


@pytest.mark.parametrize(
    "clause", ["RECOVER (celsius) FROM SYNOPSIS", "RECOVER (humidity_lo) FROM NEAREST", "RECOVER (humidity) FROM SYNOPSIS CYCLE (celsius)"]
)
def test_an_edge_does_not_know_what_a_run_computes(clause: str) -> None:
    assert codes(f"SELECT humidity FROM weather {clause};") == ["SQ0602"]
    assert codes("SELECT humidity FROM weather;", OWN.replace("KBPS", f"KBPS {clause}")) == ["SQ0602"]
    assert codes("SELECT humidity FROM weather SHED ATTRIBUTES KEEP (shed_columns);") == ["SQ0602"]


def test_names_that_an_edge_cannot_send() -> None:
    for name in ('"my stream"', '"../x"', '"1x"', "a" * 120):
        assert codes(f"SELECT humidity FROM {name};", OWN.replace("STREAM weather", f"STREAM {name}")) == ["SQ0602"]
    assert codes("SELECT humidity FROM weather;", OWN.replace("barometer DOUBLE", f"{'b' * 201} DOUBLE")) == ["SQ0602"]


def test_a_channel_has_room_for_all_of_its_streams() -> None:
    two = SHARED.replace("60 KBPS", "1.5 KBPS") + SHARED.split(";", 1)[1].replace("STREAM weather", "STREAM other")
    assert codes("SELECT humidity FROM weather;", two) == ["SQ0902"]
    assert codes("SELECT humidity FROM weather; SELECT humidity FROM other;", two) == ["SQ0603"]


def test_where_all_that_is_read_is_kept_that_is_said() -> None:
    assert codes("SELECT storm, ts FROM weather;") == ["SQ0902"]
    whole = OWN.replace("SHED ATTRIBUTES", "SHED ATTRIBUTES KEEP (location, temperature, humidity, barometer, wind)")
    assert codes("SELECT * FROM weather;", whole) == ["SQ0602"]


SIFTED = STREAM.format(clauses="SHED SIFTER ON (wind, location) REGIONS 32 PARTITION DATA TO CAPACITY 60 KBPS", options="").replace(
    "CREATE CHANNEL uplink CAPACITY 60 KBPS SPLIT WEIGHTED;", ""
)


def test_an_edge_may_sift_rows_by_what_queries_want_of_them() -> None:
    found = edge(
        "SELECT humidity FROM weather WHERE wind > 30 AND location IN ('a', 'b') QOS WEIGHT 2 SLOPE 0.5 COMPLETENESS >= 0.3;"
        "SELECT AVG(wind) AS w FROM weather [TUMBLE 1 HOUR] WHERE wind * 2 <= 8 QOS FAIRNESS 0.5;"
        "SELECT location FROM weather SHED NONE;",
        SIFTED,
    )
    first, second, third = found.sifts
    assert (first.attributes, first.text) == (("location", "wind"), (True, False))
    assert (first.plan.regions, first.plan.method) == (32, "DATA")
    assert (first.weight, first.slope, first.least) == (2.0, 0.5, 0.3)
    assert first.wanted == Both((Compare(1, ">", 30.0), Either((Compare(0, "=", "a"), Compare(0, "=", "b")))))
    assert isinstance(second.wanted, Compare)
    assert (second.wanted.attribute, second.wanted.op) == (1, "<=")
    assert (second.plan.fairness, third.wanted, third.least) == (0.5, Everywhere(), 1.0)
    assert found.synopsis == ()
    assert not found.finds_cycle
    assert set(found.unread) == {"temperature", "barometer"}


def test_what_a_sifting_edge_cannot() -> None:
    assert codes("SELECT wind FROM weather RECOVER (wind) FROM SYNOPSIS;", SIFTED) == ["SQ0602"]
    assert codes("SELECT wind FROM weather SHED ATTRIBUTES;", SIFTED) == ["SQ0602"]
    assert codes("SELECT wind FROM weather QOS WEIGHT 2;") == ["SQ0601"]
    assert codes("SELECT wind FROM weather;", SIFTED.replace("TO CAPACITY 60 KBPS", "BY 20 PERCENT")) == ["SQ0602"]
    assert codes("SELECT wind FROM weather;", SIFTED.replace("TO CAPACITY 60 KBPS", "")) == ["SQ0602"]
    assert codes("SELECT wind FROM weather;", SIFTED.replace("(wind, location)", "(wind, nothing)")) == ["SQ0202"]


def test_a_query_that_lets_nothing_go_keeps_the_columns_that_it_reads() -> None:
    found = edge("SELECT humidity, wind FROM weather; SELECT barometer FROM weather SHED NONE;")
    assert dict(found.kept)["barometer"] == "`query_2` says SHED NONE"
    assert "humidity" not in dict(found.kept)
