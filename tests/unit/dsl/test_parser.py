"""Text to syntax tree: every statement, clause and window of the language, names, spans, size."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from streamq.dsl import ast
from streamq.dsl.ast import R2S, Duration, Ident, JoinKind, Name, Number
from streamq.dsl.diagnostics import CompileFailed, DiagnosticSink
from streamq.dsl.lark_tables import STORED, make_tables, tables_text
from streamq.dsl.parser import ACTIONS, parse_expression, parse_program, parse_type
from streamq.dsl.printer import from_leaves
from streamq.dsl.source import SourceFile
from streamq.dsl.tables import load_tables
from streamq.dsl.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Array,
    Chars,
    Decimal,
    Map,
    Struct,
    Type,
)


def parse(text: str) -> tuple[ast.Statement, ...]:
    sink = DiagnosticSink()
    program = parse_program(SourceFile("f.cql", text), sink)
    assert sink.sorted() == ()
    return program.statements


def one(text: str) -> ast.Statement:
    (statement,) = parse(text)
    return statement


def query(text: str) -> ast.Query:
    statement = one(text)
    assert isinstance(statement, ast.CreateQuery)
    return statement.query


def select(text: str) -> ast.Select:
    body = query(text).body
    assert isinstance(body, ast.Select)
    return body


def policies(text: str) -> tuple[ast.Policy, ...]:
    statement = one(f"SELECT a FROM s {text}")
    assert isinstance(statement, ast.CreateQuery)
    return statement.policies


def policy(text: str) -> ast.Policy:
    (clause,) = policies(text)
    return clause


def window(text: str) -> ast.Window | None:
    source = select(f"SELECT * FROM s {text} AS t").from_
    assert isinstance(source, ast.TableRef)
    return source.window


def name(text: str) -> Name:
    return Name(parts=tuple(Ident(text=part) for part in text.split(".")))


def names(text: str) -> tuple[Name, ...]:
    return tuple(name(part) for part in text.split())


def ms(count: int) -> Duration:
    return Duration(ms=count)


# --- the tables ----------------------------------------------------------------------------------


def test_stored_tables_are_those_of_the_grammar() -> None:
    stored = STORED.read_text(encoding="utf-8")
    assert stored == tables_text(make_tables()), "run python -m streamq.dsl.lark_tables"


def test_every_rule_has_its_action_and_every_action_its_rule() -> None:
    assert {rule.action for rule in load_tables().rules if rule.action} == set(ACTIONS)


# --- statements ----------------------------------------------------------------------------------

PROGRAM = """
CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price DOUBLE, channel STRING, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL 4 SECONDS
) WITH (connector = 'nexmark', table = 'bid', rate = 50000);

CREATE VIEW dear AS SELECT auction, price, ts FROM bid WHERE price > 10000;

CREATE QUERY hot_items AS
  SELECT auction, COUNT(*) AS bids, AVG(price) AS avg_price, WINDOW_END, COMPLETENESS() AS completeness
  FROM   dear [RANGE 10 SECONDS SLIDE 2 SECONDS]
  GROUP  BY auction
  QOS    LATENCY 2 SECONDS COMPLETENESS >= 0.5 WEIGHT 2
  SHED   SIFTER ON (price, auction) REGIONS 16
  RECOVER ESTIMATE CONFIDENCE 95 PERCENT;
"""


def test_a_whole_program() -> None:
    stream, view, hot = parse(PROGRAM)
    assert isinstance(stream, ast.CreateStream)
    assert [(c.name.text, c.type) for c in stream.columns] == [
        ("auction", BIGINT),
        ("bidder", BIGINT),
        ("price", DOUBLE),
        ("channel", STRING),
        ("ts", TIMESTAMP),
    ]
    assert stream.watermark == ast.WatermarkDef(column=Ident(text="ts"), delay=ms(4_000))
    assert [(o.key, o.value) for o in stream.options] == [
        ("connector", "nexmark"),
        ("table", "bid"),
        ("rate", 50_000),
    ]
    assert isinstance(view, ast.CreateView)
    assert view.name.text == "dear"
    assert isinstance(hot, ast.CreateQuery)
    assert hot.name == Ident(text="hot_items")
    assert hot.policies == (
        ast.Qos(
            items=(
                ast.QosLatency(latency=ms(2_000)),
                ast.QosCompleteness(least=0.5),
                ast.QosWeight(weight=2.0),
            )
        ),
        ast.Shed(method=ast.ShedSifter(attributes=names("price auction"), regions=16)),
        ast.Recover(method=ast.RecoverEstimate(confidence=0.95)),
    )
    body = hot.query.body
    assert isinstance(body, ast.Select)
    assert body.from_ == ast.TableRef(
        name=Ident(text="dear"), window=ast.RangeWindow(range=ms(10_000), slide=ms(2_000))
    )
    assert body.group_by == names("auction")


@pytest.mark.parametrize("text", ["", " \n", ";;", "-- nothing", "\ufeff", "/* a */ ; # b"])
def test_empty_programs(text: str) -> None:
    assert parse(text) == ()


def test_bom_crlf_and_a_missing_last_semicolon() -> None:
    assert parse("\ufeffSELECT a\r\nFROM s;\r\nSELECT b FROM t") == parse(
        "SELECT a FROM s; SELECT b FROM t;"
    )


def test_create_stream_in_full() -> None:
    stream = one(
        "CREATE STREAM s (a INT NOT NULL, b INT AS a + 1, c AS a * 2, ts TIMESTAMP(3),"
        " WATERMARK FOR ts) SHED RANDOM BY 10 PERCENT RECOVER ALL FROM NEAREST"
        " WITH (connector = 'file', path = 'x', 'odd key' = -1.5, kafka.group.id = TRUE)"
    )
    assert isinstance(stream, ast.CreateStream)
    assert stream.columns[:3] == (
        ast.ColumnDef(name=Ident(text="a"), type=INT, not_null=True),
        ast.ColumnDef(name=Ident(text="b"), type=INT, computed=parse_expression("a + 1")),
        ast.ColumnDef(name=Ident(text="c"), type=None, computed=parse_expression("a * 2")),
    )
    assert stream.watermark == ast.WatermarkDef(column=Ident(text="ts"), delay=ms(0))
    assert [type(p) for p in stream.policies] == [ast.Shed, ast.Recover]
    assert [(o.key, o.value) for o in stream.options] == [
        ("connector", "file"),
        ("path", "x"),
        ("odd key", -1.5),
        ("kafka.group.id", True),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM S (A INTEGER, B FLOAT, D CHAR(10))",
        "REGISTER STREAM S (A INTEGER, B FLOAT, D CHAR(10));",
        "register stream S (A int, B float, D char(10))",
    ],
)
def test_register_is_create(text: str) -> None:
    stream = one(text)
    assert isinstance(stream, ast.CreateStream)
    assert [c.type for c in stream.columns] == [INT, FLOAT, Chars("CHAR", 10)]
    assert stream.options == ()


@pytest.mark.parametrize("verb", ["CREATE TABLE", "CREATE RELATION", "REGISTER RELATION"])
def test_tables_and_their_keys(verb: str) -> None:
    table = one(f"{verb} r (a INT, b STRING, PRIMARY KEY (a, b)) WITH (path = 'r.csv')")
    assert isinstance(table, ast.CreateTable)
    assert [k.text for k in table.primary_key] == ["a", "b"]
    inline = one(f"{verb} r (a INT PRIMARY KEY, b STRING) WITH (path = 'r.csv')")
    assert isinstance(inline, ast.CreateTable)
    assert [k.text for k in inline.primary_key] == ["a"]
    assert [c.name.text for c in inline.columns] == ["a", "b"]


@pytest.mark.parametrize(
    "text", ["CREATE VIEW v (x, y) AS SELECT a, b FROM s", "v (x, y): SELECT a, b FROM s"]
)
def test_views_and_labels(text: str) -> None:
    view = one(text)
    assert isinstance(view, ast.CreateView)
    assert [c.text for c in view.columns] == ["x", "y"]


def test_label_without_columns() -> None:
    load = one(
        "Load: SELECT srcIP, Sum(len) AS traffic FROM Packets [Range 20 Minute] GROUP BY srcIP"
    )
    assert isinstance(load, ast.CreateView)
    assert (load.name.text, load.columns) == ("Load", ())


def test_sinks_functions_settings_includes() -> None:
    assert parse(
        "CREATE SINK out WITH (connector = 'file', path = 'out', 'a' = FALSE);"
        "CREATE FUNCTION f(x DOUBLE, y ARRAY<INT>) RETURNS MAP<STRING, INT> AS 'm:f';"
        "CREATE FUNCTION g() RETURNS INT AS 'm:g';"
        "SET quality = TRUE; SET spark.sql.shuffle = 4; SET x = 'it''s';"
        "INCLUDE 'other.cql'"
    ) == (
        ast.CreateSink(
            name=Ident(text="out"),
            options=(
                ast.Option(key="connector", value="file"),
                ast.Option(key="path", value="out"),
                ast.Option(key="a", value=False),
            ),
        ),
        ast.CreateFunction(
            name=Ident(text="f"),
            parameters=(
                ast.Parameter(name=Ident(text="x"), type=DOUBLE),
                ast.Parameter(name=Ident(text="y"), type=Array(INT)),
            ),
            returns=Map(STRING, INT),
            target="m:f",
        ),
        ast.CreateFunction(name=Ident(text="g"), parameters=(), returns=INT, target="m:g"),
        ast.SetOption(key="quality", value=True),
        ast.SetOption(key="spark.sql.shuffle", value=4),
        ast.SetOption(key="x", value="it's"),
        ast.Include(path="other.cql"),
    )


def test_three_forms_of_a_query() -> None:
    def form(text: str) -> tuple[str | None, str | None]:
        statement = one(text)
        assert isinstance(statement, ast.CreateQuery)
        named, sink = statement.name, statement.sink
        return named and named.text, sink and sink.text

    assert form("CREATE QUERY q INTO out AS SELECT a FROM s SHED NONE") == ("q", "out")
    assert form("CREATE QUERY q AS SELECT a FROM s") == ("q", None)
    assert form("INSERT INTO out SELECT a FROM s QOS WEIGHT 2") == (None, "out")
    assert form("SELECT a FROM s QOS WEIGHT 2") == (None, None)


# --- queries -------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", R2S)
def test_both_places_of_the_stream_operators(op: R2S) -> None:
    block = query(f"{op.value}(SELECT a, b FROM s [NOW])")
    assert isinstance(block.body, ast.Streamed)
    assert block.body.op is op
    assert query(f"SELECT {op.value}(a, b) FROM s [NOW]") == block
    assert query(f"SELECT {op.value.title()}(*) FROM s") == query(f"{op.value}(SELECT * FROM s)")
    assert query(f"SELECT {op.value}(T.*) FROM s T") == query(f"{op.value}(SELECT T.* FROM s T)")
    assert query(f"SELECT DISTINCT {op.value}(a) FROM s WHERE b GROUP BY a HAVING c") == query(
        f"{op.value}(SELECT DISTINCT a FROM s WHERE b GROUP BY a HAVING c)"
    )


def test_all_clauses_of_a_query() -> None:
    got = query(
        "WITH c (x) AS (SELECT 1), d AS (c) SELECT APPROX DISTINCT a AS b, c.*, * FROM c"
        " WHERE a = 1 GROUP BY a, b + 1 HAVING COUNT(*) > 1 ORDER BY a DESC, b NULLS LAST, c ASC"
        " LIMIT 3"
    )
    assert [(c.name.text, len(c.columns)) for c in got.ctes] == [("c", 1), ("d", 0)]
    assert got.ctes[1].query.body == ast.NamedOperand(name=Ident(text="c"))
    assert got.limit == 3
    assert [(o.descending, o.nulls_first) for o in got.order_by] == [
        (True, None),
        (False, False),
        (False, None),
    ]
    body = got.body
    assert isinstance(body, ast.Select)
    assert body.distinct is ast.Distinct.APPROX
    assert body.items == (
        ast.SelectItem(expr=name("a"), alias=Ident(text="b")),
        ast.SelectItem(expr=ast.Star(qualifier=Ident(text="c"))),
        ast.SelectItem(expr=ast.Star()),
    )
    assert body.group_by == (name("a"), parse_expression("b + 1"))
    assert body.having == parse_expression("COUNT(*) > 1")


def test_select_without_from() -> None:
    assert select("SELECT 1, 'x'").from_ is None


def operand(text: str) -> ast.SetExpr:
    return ast.NamedOperand(name=Ident(text=text))


def set_op(op: str, left: ast.SetExpr, right: ast.SetExpr, all: bool = False) -> ast.SetOp:
    return ast.SetOp(op=op, all=all, left=left, right=right)


def test_set_operations_of_names_and_blocks() -> None:
    a, b, c = operand("a"), operand("b"), operand("c")
    assert query("a UNION b INTERSECT c").body == set_op("UNION", a, set_op("INTERSECT", b, c))
    assert query("a EXCEPT b UNION ALL c").body == set_op(
        "UNION", set_op("EXCEPT", a, b), c, all=True
    )
    assert query("(a UNION b) INTERSECT c").body == set_op("INTERSECT", set_op("UNION", a, b), c)
    assert query("a EXCEPT (b EXCEPT c)").body == set_op("EXCEPT", a, set_op("EXCEPT", b, c))
    assert query("AffSegWest UNION AffSegEast").body == set_op(
        "UNION", operand("AffSegWest"), operand("AffSegEast")
    )
    one = ast.Select(items=(ast.SelectItem(expr=Number(text="1")),))
    assert query("SELECT 1 UNION a").body == set_op("UNION", one, a)
    assert query("(((SELECT 1)))").body == one
    assert query("TABLE a").body == a


def test_parentheses_keep_the_clauses_inside_them() -> None:
    got = query("(SELECT 1 LIMIT 5) UNION (SELECT 1) LIMIT 3")
    assert got.limit == 3
    assert isinstance(got.body, ast.SetOp)
    assert isinstance(got.body.left, ast.Query)
    assert got.body.left.limit == 5
    assert isinstance(got.body.right, ast.Select)


def test_joins() -> None:
    s, t, u = (ast.TableRef(name=Ident(text=x)) for x in "stu")

    def joined(text: str) -> ast.FromItem | None:
        return select(f"SELECT * FROM {text}").from_

    on = parse_expression("s.a = t.a")
    for text, kind in [
        ("JOIN", JoinKind.INNER),
        ("INNER JOIN", JoinKind.INNER),
        ("LEFT JOIN", JoinKind.LEFT),
        ("RIGHT OUTER JOIN", JoinKind.RIGHT),
        ("FULL OUTER JOIN", JoinKind.FULL),
    ]:
        assert joined(f"s {text} t ON s.a = t.a") == ast.Join(kind=kind, left=s, right=t, on=on)
    cross = ast.Join(kind=JoinKind.CROSS, left=s, right=t)
    assert joined("s, t") == joined("s CROSS JOIN t") == cross
    assert joined("s, t LEFT JOIN u USING (a, b)") == ast.Join(
        kind=JoinKind.LEFT, left=cross, right=u, using=(Ident(text="a"), Ident(text="b"))
    )


def test_self_join_with_windows_and_aliases() -> None:
    got = select("SELECT * FROM S [Now] AS S1, S [Range 30 Seconds] S2 WHERE S1.A = S2.A").from_
    assert got == ast.Join(
        kind=JoinKind.CROSS,
        left=ast.TableRef(name=Ident(text="S"), window=ast.NowWindow(), alias=Ident(text="S1")),
        right=ast.TableRef(
            name=Ident(text="S"),
            window=ast.RangeWindow(range=ms(30_000)),
            alias=Ident(text="S2"),
        ),
    )


def test_subqueries_in_from() -> None:
    text = (
        "SELECT Avg(light) FROM (SELECT Rstream(id, sample1(light) AS light) FROM Sensors"
        " [Range 1 Second Slide 1 Second] GROUP BY id) [Range 30 Second] AS r"
    )
    got = select(text).from_
    assert isinstance(got, ast.SubqueryRef)
    assert isinstance(got.query.body, ast.Streamed)
    assert got.window == ast.RangeWindow(range=ms(30_000))
    assert got.alias == Ident(text="r")
    assert select("SELECT * FROM (a UNION b) x").from_ == ast.SubqueryRef(
        query=ast.Query(body=set_op("UNION", operand("a"), operand("b"))), alias=Ident(text="x")
    )
    assert (
        select("SELECT * FROM ISTREAM(s) [NOW]").from_
        == select("SELECT * FROM (ISTREAM(s)) [NOW]").from_
    )


# --- windows -------------------------------------------------------------------------------------

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[NOW]", ast.NowWindow()),
        ("[RANGE 10 MINUTES]", ast.RangeWindow(range=ms(10 * MINUTE))),
        ("[RANGE 1 HOUR SLIDE 1 MINUTE]", ast.RangeWindow(range=ms(HOUR), slide=ms(MINUTE))),
        ("[TUMBLE 1 HOUR]", ast.RangeWindow(range=ms(HOUR), slide=ms(HOUR))),
        ("[RANGE UNBOUNDED]", ast.RangeWindow(range=None)),
        ("[UNBOUNDED]", ast.RangeWindow(range=None)),
        ("[ROWS 100]", ast.RowsWindow(rows=100)),
        ("[ROWS 100 SLIDE 10]", ast.RowsWindow(rows=100, slide=10)),
        (
            "[PARTITION BY a, b ROWS 10 RANGE 1 DAY]",
            ast.RowsWindow(rows=10, partition=names("a b"), range=ms(DAY)),
        ),
        ("[Partition By seller Rows 10]", ast.RowsWindow(rows=10, partition=names("seller"))),
        ("[SESSION 5 MINUTES]", ast.SessionWindow(gap=ms(5 * MINUTE))),
        (
            "[SESSION 5 MINUTES PARTITION BY a]",
            ast.SessionWindow(gap=ms(5 * MINUTE), partition=names("a")),
        ),
        ("[ROWS 0]", ast.RowsWindow(rows=0)),
        ("[RANGE -5 SECONDS]", ast.RangeWindow(range=ms(-5_000))),
    ],
)
def test_windows(text: str, expected: ast.Window) -> None:
    assert window(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 MILLISECOND", 1),
        ("250 milliseconds", 250),
        ("10", 10_000),
        ("1 Second", 1_000),
        ("15 Seconds", 15_000),
        ("0.5 SECONDS", 500),
        ("1.5 HOURS", 5_400_000),
        ("2 DAYS", 2 * DAY),
        ("1 WEEK", 7 * DAY),
        ("3 m", 3 * MINUTE),
        ("500ms", 500),
        ("10s", 10_000),
        ("5m", 5 * MINUTE),
        ("2h", 2 * HOUR),
        ("1d", DAY),
        ("INTERVAL '10' SECOND", None),
    ],
)
def test_lengths_of_time(text: str, expected: int | None) -> None:
    if expected is not None:
        assert window(f"[RANGE {text}]") == ast.RangeWindow(range=ms(expected))
        assert policy(f"QOS LATENCY {text}") == ast.Qos(
            items=(ast.QosLatency(latency=ms(expected)),)
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INTERVAL '5' SECOND", 5_000),
        ("INTERVAL 5 SECONDS", 5_000),
        ("INTERVAL '5 seconds'", 5_000),
        ("INTERVAL '1 day 2 hours'", DAY + 2 * HOUR),
        ("INTERVAL -5 SECONDS", -5_000),
        ("INTERVAL '-5' MINUTES", -5 * MINUTE),
        ("INTERVAL 10s", 10_000),
        ("10s", 10_000),
    ],
)
def test_intervals(text: str, expected: int) -> None:
    assert parse_expression(text) == ast.Interval(duration=ms(expected))
    stream = one(f"CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR ts AS ts - {text})")
    assert isinstance(stream, ast.CreateStream)
    assert stream.watermark
    assert stream.watermark.delay == ms(expected)


# --- policies ------------------------------------------------------------------------------------


def test_every_item_of_qos() -> None:
    got = policy(
        "QOS LATENCY 2 SECONDS COMPLETENESS >= 0.6 SLOPE 0.8 WEIGHT 2"
        " ERROR <= 5 PERCENT CONFIDENCE 95 PERCENT"
        " UTILITY CASE WHEN kind = 'security' THEN 1 ELSE 0.25 END FAIRNESS 0.5"
        " CRITICALITY 'very critical'"
    )
    assert got == ast.Qos(
        items=(
            ast.QosLatency(latency=ms(2_000)),
            ast.QosCompleteness(least=0.6),
            ast.QosSlope(slope=0.8),
            ast.QosWeight(weight=2.0),
            ast.QosError(most=0.05, confidence=0.95),
            ast.QosUtility(
                utility=parse_expression("CASE WHEN kind = 'security' THEN 1 ELSE 0.25 END")
            ),
            ast.QosFairness(fairness=0.5),
            ast.QosCriticality(criticality="very critical"),
        )
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("5 PERCENT", 0.05), ("5%", 0.05), ("0.05", 0.05), ("0.1 PERCENT", 0.001), ("7 %", 0.07)],
)
def test_percent_becomes_a_fraction(text: str, expected: float) -> None:
    assert policy(f"QOS ERROR <= {text}") == ast.Qos(items=(ast.QosError(most=expected),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NONE", ast.ShedNone()),
        ("AUTO", ast.ShedAuto()),
        ("RANDOM", ast.ShedRandom()),
        ("RANDOM BY KEY (a, s.b)", ast.ShedRandom(keys=names("a s.b"))),
        ("OLDER THAN 30 SECONDS", ast.ShedOlder(age=ms(30_000))),
        ("BY UTILITY", ast.ShedByUtility()),
        ("SIFTER ON (a, b)", ast.ShedSifter(attributes=names("a b"))),
        (
            "SIFTER ON (a) SAMPLE 1 PERCENT PARTITION QDPART REGIONS 16",
            ast.ShedSifter(attributes=names("a"), regions=16, partition="QDPART", sample=0.01),
        ),
        ("SIFTER ON (a) PARTITION data", ast.ShedSifter(attributes=names("a"), partition="DATA")),
        ("SIFTER ON (a) drop counter", ast.ShedSifter(attributes=names("a"), drop="COUNTER")),
        ("FAIR", ast.ShedFair()),
        ("FAIR WINDOW 10 SECONDS", ast.ShedFair(window=ms(10_000))),
        ("WINDOWS", ast.ShedWindows()),
        ("JOIN", ast.ShedJoin()),
        (
            "JOIN BASIC WINDOW 1 SECOND SAMPLE 10 PERCENT",
            ast.ShedJoin(basic_window=ms(1_000), sample=0.1),
        ),
        ("ATTRIBUTES", ast.ShedAttributes()),
        ("ATTRIBUTES KEEP (a, b)", ast.ShedAttributes(keep=names("a b"))),
    ],
)
@pytest.mark.parametrize(
    ("goal", "shed_goal"),
    [
        ("", None),
        ("TO CAPACITY 120 KBPS", ast.ShedGoal(unit="KBPS", amount=120.0)),
        ("TO CAPACITY 1.5 MBPS", ast.ShedGoal(unit="KBPS", amount=1500.0)),
        ("TO RATE 5000 ROWS PER SECOND", ast.ShedGoal(unit="ROWS", amount=5000.0)),
        ("BY 30 PERCENT", ast.ShedGoal(unit="PERCENT", amount=30.0)),
    ],
)
def test_every_way_to_shed_with_every_goal(
    text: str, expected: ast.ShedMethod, goal: str, shed_goal: ast.ShedGoal | None
) -> None:
    assert policy(f"SHED {text} {goal}") == ast.Shed(method=expected, goal=shed_goal)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "(barometer, humidity) FROM SYNOPSIS",
            ast.RecoverSynopsis(columns=names("barometer humidity")),
        ),
        (
            "ALL FROM SYNOPSIS ERROR 5 PERCENT CYCLE (location) RETAIN 2 HOURS",
            ast.RecoverSynopsis(error=0.05, cycle=names("location"), retain=ms(2 * HOUR)),
        ),
        (
            "ALL FROM SYNOPSIS CYCLE AUTO ERROR AUTO",
            ast.RecoverSynopsis(error="AUTO", cycle="AUTO"),
        ),
        ("(temperature) FROM NEAREST", ast.RecoverNearest(columns=names("temperature"))),
        ("ALL FROM NEAREST", ast.RecoverNearest()),
        ("ESTIMATE", ast.RecoverEstimate()),
        ("ESTIMATE CONFIDENCE 95 PERCENT", ast.RecoverEstimate(confidence=0.95)),
        ("DROPPED INTO cheap", ast.RecoverDropped(sink=Ident(text="cheap"))),
    ],
)
def test_every_way_to_recover(text: str, expected: ast.RecoverMethod) -> None:
    assert policy(f"RECOVER {text}") == ast.Recover(method=expected)


def test_policies_in_any_order() -> None:
    got = policies("RECOVER ESTIMATE SHED AUTO RECOVER DROPPED INTO d QOS LATENCY 1s")
    assert [type(p) for p in got] == [ast.Recover, ast.Shed, ast.Recover, ast.Qos]


# --- types ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("boolean", BOOLEAN),
        ("BYTE", TINYINT),
        ("TEXT", STRING),
        ("REAL", FLOAT),
        ("TIMESTAMP(3)", TIMESTAMP),
        ("DECIMAL(10, 2)", Decimal(10, 2)),
        ("NUMERIC(5)", Decimal(5, 0)),
        ("VARCHAR(8)", Chars("VARCHAR", 8)),
        ("VARCHAR", STRING),
        ("ARRAY<ARRAY<INT>>", Array(Array(INT))),
        ("MAP<STRING, ARRAY<DOUBLE>>", Map(STRING, Array(DOUBLE))),
        (
            "STRUCT<a INT, order: STRUCT<`b c` TEXT>>",
            Struct((("a", INT), ("order", Struct((("b c", STRING),))))),
        ),
    ],
)
def test_types(text: str, expected: Type) -> None:
    assert parse_type(text) == expected
    assert parse_type(str(expected)) == expected


# --- expressions ---------------------------------------------------------------------------------


def test_precedence() -> None:
    for plain, explicit in [
        ("a OR b AND c", "a OR (b AND c)"),
        ("NOT a = b AND c", "(NOT (a = b)) AND c"),
        ("a + b * -c % d", "a + ((b * (-c)) % d)"),
        ("a - b - c", "(a - b) - c"),
        ("a || b || c", "(a || b) || c"),
        ("a + 1 BETWEEN b AND c + 1 AND d", "((a + 1) BETWEEN b AND (c + 1)) AND d"),
        ("a + b > c OR d IS NOT NULL", "((a + b) > c) OR (d IS NOT NULL)"),
        ("a || b @> c || d AND e", "((a || b) @> (c || d)) AND e"),
        ("a @> b <@ c = d", "((a @> b) <@ c) = d"),
        ("a IS SUBSET OF b || c OR d", "(a IS SUBSET OF (b || c)) OR d"),
        ("NOT EXISTS (SELECT 1) OR a", "(NOT (EXISTS (SELECT 1))) OR a"),
        ("-a.b[1].c", "-((a.b[1]).c)"),
    ]:
        assert parse_expression(plain) == parse_expression(explicit)


def test_synonyms() -> None:
    assert parse_expression("a == b") == parse_expression("a = b")
    assert parse_expression("a != b") == parse_expression("a <> b")
    assert parse_expression("a > SOME (s)") == parse_expression("a > any (s)")


def test_sets_in_signs_and_in_words() -> None:
    contains = ast.Binary(op="@>", left=name("a"), right=name("b"))
    contained = ast.Binary(op="<@", left=name("a"), right=name("b"))
    assert parse_expression("a @> b") == parse_expression("a is superset of b") == contains
    assert parse_expression("a <@ b") == parse_expression("a IS SUBSET OF b") == contained
    for text, test in (("SUPERSET", contains), ("SUBSET", contained)):
        negated = parse_expression(f"a IS NOT {text} OF b")
        assert negated == ast.Unary(op="NOT", operand=test)
        assert negated.span.end == len(f"a IS NOT {text} OF b")


def test_words_of_sets_may_be_names() -> None:
    superset, subset, of = (name(word) for word in ("superset", "subset", "of"))
    assert parse_expression("subset IS SUBSET OF of") == ast.Binary("<@", subset, of)
    assert parse_expression("superset @> subset + of") == ast.Binary(
        "@>", superset, ast.Binary("+", subset, of)
    )
    assert select("SELECT a IS SUBSET OF b of FROM subset superset").items[0].alias == of.parts[0]


def test_names_fields_and_indexes() -> None:
    s_a = Name(parts=(Ident(text="s"), Ident(text="a")))
    assert parse_expression("s.a") == s_a
    assert parse_expression("s.a[0]") == ast.Index(operand=s_a, index=Number(text="0"))
    assert parse_expression("(s).a") == ast.FieldOf(operand=name("s"), name=Ident(text="a"))
    assert parse_expression("f(x).a.b") == ast.FieldOf(
        operand=ast.FieldOf(
            operand=ast.Call(name=Ident(text="f"), args=(name("x"),)), name=Ident(text="a")
        ),
        name=Ident(text="b"),
    )
    assert parse_expression('"a.b"."c""d".end') == Name(
        parts=(Ident(text="a.b"), Ident(text='c"d'), Ident(text="end"))
    )


def test_calls() -> None:
    count = Ident(text="COUNT")
    assert parse_expression("COUNT(*)") == ast.Call(name=count, star=True)
    assert parse_expression("COUNT(DISTINCT a, b)") == ast.Call(
        name=count, args=names("a b"), distinct=True
    )
    assert parse_expression("COUNT(a) FILTER (WHERE b)") == ast.Call(
        name=count, args=(name("a"),), filter=name("b")
    )
    assert parse_expression("now()") == ast.Call(name=Ident(text="now"))


def test_what_parentheses_may_hold() -> None:
    one_ = ast.Query(body=ast.Select(items=(ast.SelectItem(expr=Number(text="1")),)))
    assert parse_expression("((a))") == name("a")
    assert parse_expression("(a, b)") == ast.Row(items=names("a b"))
    assert parse_expression("((SELECT 1))") == ast.ScalarQuery(query=one_)
    assert parse_expression("a IN (b)") == ast.InList(operand=name("a"), items=names("b"))
    assert parse_expression("a NOT IN (SELECT 1)") == ast.InQuery(
        operand=name("a"), query=one_, negated=True
    )
    assert parse_expression("(a, b) IN ((SELECT 1) UNION c)") == ast.InQuery(
        operand=ast.Row(items=names("a b")),
        query=ast.Query(body=set_op("UNION", one_.body, operand("c"))),
    )
    assert parse_expression("EXISTS (s)") == ast.Exists(query=ast.Query(body=operand("s")))
    assert parse_expression("a IN (TABLE s)") == ast.InQuery(
        operand=name("a"), query=ast.Query(body=operand("s"))
    )
    assert parse_expression("a >= ALL (SELECT 1)") == ast.Quantified(
        op=">=", operand=name("a"), quantifier="ALL", query=one_
    )


@pytest.mark.parametrize(
    "word",
    "ts key rate window sample range rows utility time date count value data state type error"
    " capacity query stream table view sink year interval timestamp now session slide none auto"
    " weight all any first last key partition second minute m s latency filter percent set include"
    " register istream left right shed watermark primary struct map array".split(),
)
def test_keywords_are_names_where_no_keyword_can_stand(word: str) -> None:
    if word not in ("left", "right", "shed"):
        assert parse_expression(f"{word} + t.{word}") == ast.Binary(
            op="+", left=name(word), right=name(f"t.{word}")
        )
        got = select(
            f"SELECT {word}, a AS {word} FROM s AS {word} WHERE {word} > 1 GROUP BY {word}"
        )
        assert got.group_by == names(word)
        one(
            f"CREATE STREAM {word} ({word} INT, b {word}) WITH ({word} = 1)".replace(
                f"b {word}", "b INT"
            )
        )
    assert parse_expression(f"x.{word}") == name(f"x.{word}")


def test_functions_with_the_names_of_keywords() -> None:
    for word in "left right date timestamp count first last shed range rows second any".split():
        assert parse_expression(f"1 + {word}(a)") == ast.Binary(
            op="+",
            left=Number(text="1"),
            right=ast.Call(name=Ident(text=word), args=(name("a"),)),
        )
    assert select("SELECT SHED() AS s, LATE() FROM x").items[0].alias == Ident(text="s")


def test_a_keyword_wins_over_an_alias() -> None:
    source = select("SELECT a FROM s SHED NONE").from_
    assert source == ast.TableRef(name=Ident(text="s"))
    assert select("SELECT a rate FROM s rows").from_ == ast.TableRef(
        name=Ident(text="s"), alias=Ident(text="rows")
    )


def test_parse_expression_says_what_is_wrong() -> None:
    with pytest.raises(CompileFailed, match="SQ0102"):
        parse_expression("a +")
    with pytest.raises(CompileFailed, match="SQ0106"):
        parse_type("INTT")


# --- spans ---------------------------------------------------------------------------------------


def nodes(text: str) -> Iterator[tuple[ast.Node, str]]:
    sink = DiagnosticSink()
    program = parse_program(SourceFile("f.cql", text), sink)
    assert sink.sorted() == ()
    for node in from_leaves(program):
        assert node.span.file == "f.cql"
        yield node, text[node.span.start : node.span.end]


def test_every_node_covers_its_own_text() -> None:
    text = (
        "CREATE QUERY q AS SELECT (a + b) * 2 AS c, COUNT(*) FROM s [RANGE 10 s] AS t, u"
        "  WHERE x IN (1, 2) AND NOT y QOS LATENCY 2 SECONDS SHED RANDOM BY 5 PERCENT ;"
    )
    found = {(type(node).__name__, covered) for node, covered in nodes(text)}
    assert {
        ("CreateQuery", text[:-2]),
        ("Ident", "q"),
        ("Select", text[text.index("SELECT") : text.index(" QOS")]),
        ("SelectItem", "(a + b) * 2 AS c"),
        ("Binary", "(a + b) * 2"),
        ("Binary", "a + b"),
        ("Call", "COUNT(*)"),
        ("TableRef", "s [RANGE 10 s] AS t"),
        ("RangeWindow", "RANGE 10 s"),
        ("Duration", "10 s"),
        ("Join", "s [RANGE 10 s] AS t, u"),
        ("InList", "x IN (1, 2)"),
        ("Unary", "NOT y"),
        ("Qos", "QOS LATENCY 2 SECONDS"),
        ("QosLatency", "LATENCY 2 SECONDS"),
        ("Shed", "SHED RANDOM BY 5 PERCENT"),
        ("ShedGoal", "BY 5 PERCENT"),
    } <= found


def test_children_lie_within_their_parents() -> None:
    sink = DiagnosticSink()
    program = parse_program(SourceFile("f.cql", PROGRAM), sink)
    for node in from_leaves(program):
        for field in node.__match_args__:
            value = getattr(node, field)
            for child in value if isinstance(value, tuple) else (value,):
                if isinstance(child, ast.Node):
                    assert node.span.start <= child.span.start <= child.span.end <= node.span.end


# --- size ----------------------------------------------------------------------------------------


def deep(expr: ast.Expr) -> int:
    depth = 0
    while isinstance(expr, ast.Unary | ast.Call):
        expr = expr.operand if isinstance(expr, ast.Unary) else expr.args[0]
        depth += 1
    return depth


def test_parentheses_may_be_as_deep_as_one_likes() -> None:
    assert parse_expression("(" * 5_000 + "a" + ")" * 5_000) == name("a")
    assert query("(" * 500 + "SELECT 1" + ")" * 500) == query("SELECT 1")
    assert select("SELECT 1 FROM " + "(" * 500 + "s" + ")" * 500) == select("SELECT 1 FROM (s)")


def test_nesting_has_a_limit() -> None:
    assert deep(parse_expression("f(" * 900 + "a" + ")" * 900)) == 900
    for text in (
        "SELECT " + "f(" * 1_200 + "a" + ")" * 1_200,
        "SELECT " + "NOT " * 3_000 + "a",
        "SELECT " + " + ".join(["a"] * 3_000),
        "SELECT a IN (" * 1_100 + "1" + ")" * 1_100,
        "(" * 200_000,
    ):
        sink = DiagnosticSink()
        parse_program(SourceFile("f.cql", text + "; SELECT FROM"), sink)
        assert [d.code for d in sink.sorted()] == ["SQ0108", "SQ0101"]


def test_long_lists_are_no_nesting() -> None:
    assert len(select("SELECT " + ", ".join(["a"] * 5_000)).items) == 5_000
    assert len(parse("SELECT a FROM s;" * 500)) == 500


def seconds(text: str) -> tuple[float, list[str]]:
    """Processor time of a parse, and the codes it gives."""
    sink = DiagnosticSink()
    begin = time.process_time()
    parse_program(SourceFile("f.cql", text), sink)
    return time.process_time() - begin, [d.code for d in sink.sorted()]


def test_two_thousand_queries() -> None:
    text = "".join(
        f"CREATE QUERY q{n} AS SELECT a, COUNT(*) AS n FROM s [RANGE {n + 1} SECONDS]"
        f" WHERE b > {n} GROUP BY a;\n"
        for n in range(2_000)
    )
    taken, codes = seconds(text)
    assert codes == []
    assert taken < 10


@pytest.mark.parametrize(
    "junk", ["\x00\x01\x02ÿ", "@ü¿ ", "a b; ", "(])[ ", "' \" ` ", "select ", "-1.5e3 + ", "\n/*"]
)
def test_a_megabyte_of_junk_gives_a_handful_of_diagnostics(junk: str) -> None:
    taken, codes = seconds(junk * (1_000_000 // len(junk)))
    assert 0 < len(codes) <= 12
    assert taken < 10
