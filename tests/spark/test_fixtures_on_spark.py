"""Tests of programs run on Spark as well: every form of answer, late rows, open windows, what differs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyspark.sql import SparkSession

from streamq.compiler.ir.physical import PhysicalPlan, Select
from streamq.runtime import cli
from streamq.runtime.fixtures.engines import SparkAnswer
from streamq.runtime.fixtures.feed import Feed
from streamq.runtime.fixtures.model import FileOutcome, Outcome, Status
from streamq.runtime.fixtures.report import difference_text
from streamq.runtime.fixtures.runner import OnSpark, Runner
from streamq.runtime.reference.answers import Answer
from streamq.runtime.spark import fixture_runs
from streamq.runtime.spark.fixture_runs import FixtureRuns

PROGRAM = """\
CREATE STREAM s (k STRING, v BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 2 SECONDS)
  WITH (connector = 'file', path = 'not/there', format = 'json');
CREATE STREAM r (k STRING NOT NULL, w BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 2 SECONDS)
  WITH (connector = 'file', path = 'nor/there', format = 'csv');
CREATE TABLE names (k STRING, name STRING) WITH (connector = 'file', format = 'csv', path = 'no.csv');

CREATE QUERY kept AS SELECT k, v FROM s WHERE v > 1;
CREATE QUERY named AS SELECT s.k, s.v, n.name FROM s JOIN names AS n ON s.k = n.k;
CREATE QUERY framed AS
  SELECT k, COUNT(*) AS n, SUM(v) AS total, WINDOW_END AS until FROM s [TUMBLE 10 SECONDS] GROUP BY k;
CREATE QUERY pairs AS
  SELECT ISTREAM(s.k, v, w) FROM s [RANGE 5 SECONDS] JOIN r [RANGE 5 SECONDS] ON s.k = r.k;
CREATE QUERY lonely AS
  SELECT ISTREAM(s.k, v, w) FROM s [RANGE 5 SECONDS] LEFT JOIN r [RANGE 5 SECONDS] ON s.k = r.k;
CREATE QUERY moving AS SELECT k, COUNT(*) AS n FROM s [RANGE 7 SECONDS] GROUP BY k;
CREATE QUERY newest AS SELECT COUNT(*) AS n, k FROM s GROUP BY k;
CREATE QUERY many AS SELECT k, COUNT(*) AS n FROM s GROUP BY k HAVING COUNT(*) > 1;
CREATE QUERY all_rows AS SELECT COUNT(*) AS n FROM s;
CREATE QUERY sample AS SELECT k FROM s SHED RANDOM BY 50 PERCENT;
"""
EVERY_FORM = """\
- test: every form of answer
  input:
    names: [{k: a, name: Ann}]
    s:
      columns: [k, v, ts]
      rows:
        - [a, 1, 2024-01-01 00:00:01]
        - [b, 2, 2024-01-01 00:00:03]
        - [null, 3, 2024-01-01 00:00:04]
        - [lost, 9, null]
        - batch
        - [a, 5, 2024-01-01 00:00:11]
        - [a, null, 2024-01-01 00:00:12]
    r:
      columns: [k, w, ts]
      rows: [[a, 10, 2024-01-01 00:00:02], batch, [a, 20, 2024-01-01 00:00:12]]
  expect:
    kept: {columns: [k, v], rows: [[b, 2], [null, 3], [a, 5]]}
    named: {columns: [k, v, name], rows: [[a, 1, Ann], [a, 5, Ann], [a, null, Ann]]}
    framed:
      columns: [k, n, total, until]
      rows:
        - [a, 1, 1, 2024-01-01 00:00:10]
        - [b, 1, 2, 2024-01-01 00:00:10]
        - [null, 1, 3, 2024-01-01 00:00:10]
        - [a, 2, 5, 2024-01-01 00:00:20]
    pairs:
      columns: [k, v, w]
      rows: [[a, 1, 10], [a, 5, 20], [a, null, 20]]
      at: {2024-01-01 00:00:02: [[a, 1, 10]]}
    lonely:
      columns: [k, v, w]
      rows:
        - [a, 1, null]
        - [a, 1, 10]
        - [b, 2, null]
        - [null, 3, null]
        - [a, 5, null]
        - [a, 5, 20]
        - [a, null, 20]
    moving:
      columns: [k, n]
      rows: []
      at: {2024-01-01 00:00:05: [[a, 1], [b, 1], [null, 1]]}
      changes:
        - {at: 2024-01-01 00:00:01, add: [a, 1]}
        - {at: 2024-01-01 00:00:03, add: [b, 1]}
        - {at: 2024-01-01 00:00:04, add: [null, 1]}
        - {at: 2024-01-01 00:00:08, remove: [a, 1]}
        - {at: 2024-01-01 00:00:10, remove: [b, 1]}
        - {at: 2024-01-01 00:00:11, remove: [null, 1], add: [a, 1]}
        - {at: 2024-01-01 00:00:12, remove: [a, 1], add: [a, 2]}
        - {at: 2024-01-01 00:00:18, remove: [a, 2], add: [a, 1]}
        - {at: 2024-01-01 00:00:19, remove: [a, 1]}
    newest:
      columns: [n, k]
      rows: [[3, a], [1, b], [1, null]]
      at: {2024-01-01 00:00:03: [[1, a], [1, b]]}
    many: {columns: [k, n], rows: [[a, 3]], at: {2024-01-01 00:00:11: [[a, 2]]}}
    all_rows: {rows: [{n: 5}]}
    sample: {columns: [k], rows: [[a], [b], [null], [a], [a]]}
"""
LATE = """\
- test: late rows are left out, and no others
  watermark: true
  input:
    s:
      columns: [k, v, ts]
      rows:
        - [a, 1, 2024-01-01 00:00:13]
        - batch
        # The watermark is at 00:00:11.
        - [a, 2, 2024-01-01 00:00:10.5]
        - [b, 2, 2024-01-01 00:00:09]
        - batch
        - [b, 3, 2024-01-01 00:00:30]
        - batch
        # The watermark is at 00:00:28.
        - [b, 4, 2024-01-01 00:00:19]
  expect:
    kept: {columns: [k, v], rows: [[a, 2], [b, 2], [b, 3], [b, 4]]}
    framed:
      columns: [k, n, total, until]
      rows: [[a, 2, 3, 2024-01-01 00:00:20], [b, 1, 3, 2024-01-01 00:00:40]]
      late: 2
    moving:
      columns: [k, n]
      changes:
        - {at: 2024-01-01 00:00:13, add: [a, 1]}
        - {at: 2024-01-01 00:00:20, remove: [a, 1]}
        - {at: 2024-01-01 00:00:30, add: [b, 1]}
        - {at: 2024-01-01 00:00:37, remove: [b, 1]}
      late: 3
"""
OUT_OF_ORDER = """\
- test: without watermark no row is late
  input:
    s: [{k: a, v: 1, ts: 2024-01-01 00:05:00}, batch, {k: a, v: 2, ts: 2024-01-01 00:00:01}]
  expect:
    framed:
      columns: [k, n, total, until]
      rows: [[a, 1, 2, 2024-01-01 00:00:10], [a, 1, 1, 2024-01-01 00:05:10]]
    moving:
      columns: [k, n]
      at: {2024-01-01 00:00:01: [[a, 1]]}
      rows: []
"""
OPEN = """\
- test: what the watermark has not passed is open
  closed: false
  input:
    s:
      columns: [k, v, ts]
      rows:
        - [a, 1, 2024-01-01 00:00:01]
        # It leaves at the watermark.
        - [c, 1, 2024-01-01 00:00:06]
        - [b, 2, 2024-01-01 00:00:08]
        - batch
        - [a, 3, 2024-01-01 00:00:15]
  expect:
    framed:
      columns: [k, n, total, until]
      rows:
        - [a, 1, 1, 2024-01-01 00:00:10]
        - [b, 1, 2, 2024-01-01 00:00:10]
        - [c, 1, 1, 2024-01-01 00:00:10]
    moving: {columns: [k, n], at: {2024-01-01 00:00:09: [[b, 1], [c, 1]]}}
    lonely: {columns: [k, v, w], rows: [[a, 1, null], [c, 1, null], [b, 2, null], [a, 3, null]]}
- test: nothing comes
  expect:
    framed: {rows: []}
    moving: {rows: [], changes: []}
    newest: {rows: []}
"""
SMALL = """\
- test: rows above one
  input: {s: [{k: a, v: 2, ts: 2024-01-01 00:00:01}, {k: b, v: 3, ts: 2024-01-01 00:00:02}]}
  expect:
    kept: {columns: [k, v], rows: [[a, 2], [b, 3]]}
    moving: {columns: [k, n], rows: []}
"""
TYPES = """\
CREATE STREAM t (
  id INT, flag BOOLEAN, b TINYINT, h SMALLINT, l BIGINT, f FLOAT, x DOUBLE, d DECIMAL(10, 2), name VARCHAR(10),
  data BINARY, day DATE, list ARRAY<ARRAY<INT>>, by_id MAP<INT, STRING>,
  `of all` STRUCT<`a b` TIMESTAMP, c ARRAY<STRING>>, ts TIMESTAMP, WATERMARK FOR ts
) WITH (connector = 'file', path = 'not/there', format = 'json');
CREATE QUERY same AS SELECT * FROM t;
CREATE QUERY joined AS
  SELECT ISTREAM(a.*) FROM t [RANGE 5 SECONDS] AS a JOIN t [RANGE 5 SECONDS] AS o ON a.id = o.id;
"""
_ROWS = """\
        columns: [id, flag, b, h, l, f, x, d, name, data, day, list, by_id, of all, ts]
        rows:
          - [1, true, -1, 300, 9223372036854775807, 1.1, .nan, 12.50, née, "X'00FF'", 1969-12-31, [[1], []],
             {1: a, 2: null}, {a b: 2024-01-01 00:00:00.000001, c: [x, null]}, 2024-01-01 00:00:01]
          - [2, null, null, null, null, -.inf, 0.1, null, null, null, null, null, null, null,
             2024-01-01 00:00:02]
"""
ALL_TYPES = f"- test: values of every type\n  input:\n    t:\n{_ROWS}  expect:\n" + "".join(
    f"    {name}:\n{_ROWS}" for name in ("same", "joined")
).replace("        columns", "      columns").replace("        rows", "      rows")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path

OWN_FUNCTIONS = """\
import pyarrow as pa
import pyarrow.compute as pc

def shout(text): return pc.fill_null(pc.utf8_upper(text), 'NOTHING')
def later(at): return pc.add(at, pa.scalar(3_600_000_000, pa.duration('us')))
def pair(n, text): return pa.StructArray.from_arrays([n, text], names=['n', 'of'])
def price(n): return n.cast(pa.int32()).cast(pa.decimal128(12, 2))
"""
OWN_PROGRAM = """\
CREATE STREAM s (n BIGINT, k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts)
  WITH (connector = 'file', path = 's', format = 'json');
CREATE FUNCTION shout(x STRING) RETURNS STRING AS 'called_on_both:shout';
CREATE FUNCTION later(x TIMESTAMP) RETURNS TIMESTAMP AS 'called_on_both:later';
CREATE FUNCTION pair(n BIGINT, x STRING) RETURNS STRUCT<n: BIGINT, of: STRING> AS 'called_on_both:pair';
CREATE FUNCTION price(n BIGINT) RETURNS DECIMAL(12,2) AS 'called_on_both:price';
CREATE QUERY each AS SELECT shout(k) AS k, later(ts) AS ts, pair(n, k).of AS of, price(n) AS price FROM s;
CREATE QUERY counted AS
  SELECT shout(k) AS k, SUM(price(n)) AS total FROM s [TUMBLE 10 SECONDS] WHERE price(n) > 1 GROUP BY shout(k);
"""
OWN_TEST = """\
- test: functions of the program
  input:
    s:
      columns: [n, k, ts]
      rows: [[1, a, 2024-01-01 00:00:01], [2, null, 2024-01-01 00:00:02], [3, a, 2024-01-01 00:00:03]]
  expect:
    each:
      columns: [k, ts, of, price]
      rows:
        - [A, 2024-01-01 01:00:01, a, 1]
        - [NOTHING, 2024-01-01 01:00:02, null, 2]
        - [A, 2024-01-01 01:00:03, a, 3]
    counted: {columns: [k, total], rows: [[NOTHING, 2], [A, 3]]}
"""

SETS = """\
CREATE STREAM posts (
  id INT, lang STRING, tags ARRAY<STRING>, weights MAP<STRING, DOUBLE>, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 2 SECONDS
) WITH (connector = 'file', path = 'not/there', format = 'json');
CREATE STREAM news (
  id INT, lang STRING, tags ARRAY<STRING>, weights MAP<STRING, DOUBLE>, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 2 SECONDS
) WITH (connector = 'file', path = 'nor/there', format = 'json');
CREATE QUERY alike AS
  SELECT ISTREAM(a.id AS post, b.id AS story, OVERLAP(a.tags, b.tags) AS shared)
  FROM posts [RANGE 10 SECONDS] a JOIN news [RANGE 10 SECONDS] b ON OVERLAP(a.tags, b.tags) >= 2;
CREATE QUERY alike_in_one_language AS
  SELECT ISTREAM(a.id AS post, b.id AS story)
  FROM posts [RANGE 10 SECONDS] a JOIN news [RANGE 10 SECONDS] b ON a.lang = b.lang AND OVERLAP(a.tags, b.tags) >= 2;
CREATE QUERY covered AS
  SELECT a.id AS post, b.id AS story
  FROM posts [RANGE 10 SECONDS] a JOIN news [RANGE 10 SECONDS] b ON a.tags <@ b.tags;
CREATE QUERY near AS
  SELECT ISTREAM(a.id AS post, b.id AS story, INNER_PRODUCT(a.weights, b.weights) AS nearness)
  FROM posts [RANGE 10 SECONDS] a JOIN news [RANGE 10 SECONDS] b ON INNER_PRODUCT(a.weights, b.weights) > 0.5;
CREATE QUERY without_both AS
  SELECT id FROM posts [TUMBLE 10 SECONDS] WHERE tags IS NOT SUPERSET OF ARRAY('x', 'y');
"""
SETS_TEST = """\
- test: joins on sets
  input:
    posts:
      columns: [id, lang, tags, weights, ts]
      rows:
        - [1, en, [x, y, x], {a: 0.5, b: 1}, 2024-01-01 00:00:01]
        - [2, de, [y, null, z], {b: null, c: 2}, 2024-01-01 00:00:03]
        - [3, en, [], {}, 2024-01-01 00:00:04]
        - [4, en, null, null, 2024-01-01 00:00:05]
        # When it comes no story of before 00:00:04 is there any more.
        - [5, en, [x, y, z], {a: 1}, 2024-01-01 00:00:14]
    news:
      columns: [id, lang, tags, weights, ts]
      rows:
        - [11, en, [y, x], {c: 1, b: 0.25, a: 1}, 2024-01-01 00:00:02]
        - [12, de, [z, null, y, x], {b: 9, a: .inf}, 2024-01-01 00:00:03]
        - [13, de, [x, null, null], {}, 2024-01-01 00:00:06]
        - [14, en, null, {a: null}, 2024-01-01 00:00:06]
  expect:
    alike:
      columns: [post, story, shared]
      rows: [[1, 11, 2], [1, 12, 2], [2, 12, 2]]
    alike_in_one_language:
      columns: [post, story]
      rows: [[1, 11], [2, 12]]
    covered:
      columns: [post, story]
      changes:
        - {at: 2024-01-01 00:00:02, add: [1, 11]}
        - {at: 2024-01-01 00:00:03, add: [1, 12]}
        - {at: 2024-01-01 00:00:03, add: [2, 12]}
        - {at: 2024-01-01 00:00:04, add: [3, 11]}
        - {at: 2024-01-01 00:00:04, add: [3, 12]}
        - {at: 2024-01-01 00:00:06, add: [3, 13]}
        - {at: 2024-01-01 00:00:11, remove: [1, 11]}
        - {at: 2024-01-01 00:00:11, remove: [1, 12]}
        - {at: 2024-01-01 00:00:12, remove: [3, 11]}
        - {at: 2024-01-01 00:00:13, remove: [2, 12]}
        - {at: 2024-01-01 00:00:13, remove: [3, 12]}
        - {at: 2024-01-01 00:00:14, remove: [3, 13]}
    near:
      columns: [post, story, nearness]
      rows: [[1, 11, 0.75], [1, 12, .inf], [2, 11, 2]]
    without_both: {columns: [id], rows: [[2], [3]]}
"""


@pytest.fixture
def on_spark(spark: SparkSession) -> FixtureRuns:
    return FixtureRuns(spark)


def outcomes(folder: Path, on_spark: OnSpark, tests: str, program: str = PROGRAM) -> tuple[Outcome, ...]:
    (folder / "p.cql").write_text(program)
    (folder / "p.test.yaml").write_text(tests)
    outcome = Runner(on_spark=on_spark).run("p.test.yaml")
    assert outcome is not None
    assert outcome.diagnostics == (), shown(outcome)
    return outcome.outcomes


def shown(outcome: FileOutcome) -> str:
    return "\n".join(diagnostic.message for diagnostic in outcome.diagnostics)


def passed(outcome: Outcome) -> bool:
    """Whether the test passed; shows what differs."""
    assert [difference_text(d) for d in outcome.differences] == []
    assert [d.message for d in outcome.diagnostics] == []
    return outcome.status is Status.PASSED


def test_every_form_of_answer(folder: Path, on_spark: FixtureRuns) -> None:
    (one,) = outcomes(folder, on_spark, EVERY_FORM)
    assert passed(one)
    assert [text.split(",")[0] for text in one.not_compared] == [
        "`pairs`: at which instants its rows came", "`lonely`: its rows",
        "`newest`: what it held before the end",
        "`sample`: which rows it sheds",
    ]


def test_late_rows(folder: Path, on_spark: FixtureRuns) -> None:
    late, in_one_batch = outcomes(folder, on_spark, LATE + OUT_OF_ORDER)
    assert passed(late)
    assert [text.partition(",")[0] for text in late.not_compared] == [
        "`framed`: the number of late rows", "`moving`: the number of late rows",
    ]
    assert passed(in_one_batch)
    assert in_one_batch.not_compared == ()


def test_open_windows_and_no_input(folder: Path, on_spark: FixtureRuns) -> None:
    still_open, nothing = outcomes(folder, on_spark, OPEN)
    assert passed(still_open)
    assert still_open.not_compared == (
        "`moving`: what comes after 2024-01-01 00:00:13, which the watermark has not passed",
        "`lonely`: its rows, for Spark sends one without partner when none can come any more, the reference "
        "evaluator at once",
    )
    assert passed(nothing)
    assert nothing.not_compared == ()


def test_values_of_every_type(folder: Path, on_spark: FixtureRuns) -> None:
    (one,) = outcomes(folder, on_spark, ALL_TYPES, TYPES)
    assert passed(one)


def test_joins_on_sets(folder: Path, on_spark: FixtureRuns) -> None:
    """With an equality Spark joins by itself; without one the pairs are StreamQ's, and their test is Spark's."""
    (one,) = outcomes(folder, on_spark, SETS_TEST, SETS)
    assert passed(one)
    assert one.not_compared == ()


@pytest.mark.usefixtures("functions_allowed")
def test_functions_of_the_program_are_called_on_both(folder: Path, on_spark: FixtureRuns) -> None:
    """The functions work on values alone: whether they get many at once is nothing that a test may see."""
    (folder / "called_on_both.py").write_text(OWN_FUNCTIONS)
    (one,) = outcomes(folder, on_spark, OWN_TEST, OWN_PROGRAM)
    assert passed(one)
    assert one.not_compared == ()


def test_what_the_engines_do_not_agree_on_is_shown(folder: Path, on_spark: FixtureRuns) -> None:
    def on_less(
        plan: PhysicalPlan, feed: Feed, answers: Mapping[str, Answer]
    ) -> Mapping[str, SparkAnswer]:
        """Spark gets the first row only."""
        (source,) = feed.sources
        rows = [batch[:1] for batch in source.batches]
        return on_spark(plan, replace(feed, sources=(replace(source, batches=rows),)), answers)

    (one,) = outcomes(folder, on_less, SMALL)
    assert one.status is Status.FAILED
    assert [difference_text(d) for d in one.differences] == [
        """\
  kept, all rows, the engines differ: 1 equal, 1 only by the reference evaluator (-)
      k  v
    - b  3""",
        """\
  moving, changes at 2024-01-01 00:00:02, the engines differ: 1 only by the reference evaluator (-)
      change  k  n
    - add     b  1""",
        """\
  moving, changes at 2024-01-01 00:00:09, the engines differ: 1 only by the reference evaluator (-)
      change  k  n
    - remove  b  1""",
    ]


def test_an_error_of_spark_is_a_diagnostic(folder: Path, on_spark: FixtureRuns) -> None:
    def on_nonsense(
        plan: PhysicalPlan, feed: Feed, answers: Mapping[str, Answer]
    ) -> Mapping[str, SparkAnswer]:
        query = plan.queries[0]
        root = Select(query.root, (("k", "no_such_function(k)"), ("v", "v")), id="broken")
        return on_spark(replace(plan, queries=(replace(query, root=root),)), feed, answers)

    (one,) = outcomes(folder, on_nonsense, SMALL)
    assert one.status is Status.ERROR
    assert one.differences == ()
    (found,) = one.diagnostics
    assert found.code == "SQ0801"
    assert "no_such_function" in found.message


def test_the_command(
    folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(fixture_runs, "session_for_tests", lambda: nullcontext(spark))
    (folder / "p.cql").write_text(PROGRAM)
    (folder / "p.test.yaml").write_text(SMALL.replace("[b, 3]", "[b, 4]"))
    assert cli.main(["test", "--engine", "spark", "--junit", "out.xml"]) == 1
    printed = capsys.readouterr()
    assert printed.err == "p.test.yaml:1 rows above one …\nstarting Spark …\n"
    assert "  kept, all rows, both engines: 1 equal, 1 missing (-), 1 unexpected (+)" in printed.out
    root = ElementTree.fromstring((folder / "out.xml").read_text(encoding="utf-8"))
    assert [p.attrib for p in root.iter("property")] == [{"name": "engine", "value": "spark"}]


KAFKA = """\
CREATE STREAM s (k STRING, n INT, ts TIMESTAMP, at TIMESTAMP, WATERMARK FOR {time} AS {time} - INTERVAL 1 SECOND)
WITH (connector = 'kafka', bootstrap_servers = 'h:9092', topic = 'a', key = 'k', timestamp = 'at', format = '{kind}');
CREATE SINK out WITH (connector = 'kafka', bootstrap_servers = 'h:9092', topic = 'b');
CREATE QUERY sums INTO out AS SELECT k, SUM(n) AS total FROM s [TUMBLE 10 SECONDS] GROUP BY k;
CREATE QUERY keys AS SELECT k FROM s SHED RANDOM BY 1 PERCENT;
"""
RECORDS = """\
- test: rows stand for records
  input:
    s:
      columns: [k, n, ts, at]
      rows:
        - [a, 1, 2024-01-01 00:00:01, 2024-01-01 00:00:01]
        - [a, 2, 2024-01-01 00:00:02, 2024-01-01 00:00:02]
        - [b, null, 2024-01-01 00:00:03, 2024-01-01 00:00:03]
  expect:
    sums: {columns: [k, total], rows: [[a, 3], [b, null]]}
    keys: {columns: [k], rows: [[a], [a], [b]]}
"""


@pytest.mark.parametrize(("kind", "time"), [("json", "at"), ("csv", "ts"), ("avro", "ts")])
def test_streams_of_kafka_need_no_kafka(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_spark: FixtureRuns, kind: str, time: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (outcome,) = outcomes(tmp_path, on_spark, RECORDS, KAFKA.format(kind=kind, time=time))
    assert passed(outcome)
