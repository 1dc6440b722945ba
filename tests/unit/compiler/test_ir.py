"""The plan's classes: frozen, made of tuples, and known to every function that must know them all."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from types import ModuleType, UnionType

import pytest

from streamq.compiler.analysis.moving import runs_on_changes
from streamq.compiler.explain.words import show_expr, show_operator, show_window
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.goals import Goal
from streamq.compiler.ir.graph import OPERATOR_NAMES, build_graph
from streamq.compiler.ir.rewrite import exprs_of, walk, with_inputs
from streamq.compiler.lowering.changes import lower_moving
from streamq.compiler.lowering.moving import Moving
from streamq.compiler.lowering.rules import lower
from streamq.compiler.lowering.sql import to_sql
from streamq.compiler.lowering.state import LowerContext, Lowered
from streamq.compiler.passes.share_subplans import own_parts
from streamq.dsl import ast
from streamq.dsl.diagnostics import Abort, Diagnostic, InternalError
from streamq.dsl.source import NO_SPAN
from streamq.dsl.types import BIGINT, BOOLEAN, INT, STRING, TIMESTAMP, Type
from tests.support.compiling import compile_text, expression

IR_MODULES: list[ModuleType] = [lg, ph, ir, ast]


def classes(module: ModuleType) -> list[type]:
    return [
        c for c in vars(module).values()
        if isinstance(c, type) and c.__module__ == module.__name__ and dataclasses.is_dataclass(c)
    ]  # fmt: skip


ALL = [c for module in IR_MODULES for c in classes(module)]


def descendants(base: type) -> list[type]:
    """The classes that nodes are made of: those without a subclass."""
    subclasses = base.__subclasses__()
    return [base] if not subclasses else [d for c in subclasses for d in descendants(c)]


@pytest.mark.parametrize("cls", ALL, ids=lambda c: f"{c.__module__.rpartition('.')[2]}.{c.__name__}")
def test_frozen_with_nothing_that_changes_inside(cls: type) -> None:
    blank = cls.__new__(cls)
    with pytest.raises(dataclasses.FrozenInstanceError):
        blank.anything = 1  # type: ignore[attr-defined]
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        for part in parts(hints[field.name]):
            assert part not in (list, dict, set, frozenset), f"{cls.__name__}.{field.name}"


def parts(hint: object) -> Iterator[object]:
    """A type and all that it is made of."""
    origin = typing.get_origin(hint)
    yield hint if origin is None else origin
    if origin in (tuple, typing.Union, UnionType):
        for inner in typing.get_args(hint):
            yield from parts(inner)


def test_spans_do_not_take_part_in_equality() -> None:
    for cls in ALL:
        for field in dataclasses.fields(cls):
            if field.name in ("origin", "span"):
                assert not field.compare, cls.__name__


# --- expressions: one example of each class -------------------------------------------------------

EXAMPLES: dict[type[ir.Expr], str] = {
    ir.Column: "i",
    ir.Literal: "'it''s'",
    ir.Op: "i + l * 2",
    ir.Cast: "CAST(t AS INT)",
    ir.Case: "CASE WHEN b THEN i WHEN i > 1 THEN 2 ELSE 3 END",
    ir.Like: "t LIKE 'a%'",
    ir.IsNull: "t IS NULL",
    ir.InList: "i IN (1, 2, l)",
    ir.FieldOf: "o.p",
    ir.Index: "m[t]",
    ir.Call: "CONCAT_WS(',', t, 'x')",
    ir.Udf: "own(x, t)",
    ir.AggCall: "SUM(i) FILTER (WHERE b)",
    ir.Quality: "COMPLETENESS()",
}


def example(cls: type[ir.Expr]) -> ir.Expr:
    """An expression of the class; aggregates are taken from below the projection."""
    if cls is ir.AggCall:
        result = compile_text("SELECT SUM(i) FILTER (WHERE b) AS c FROM s;")
        assert result.logical is not None
        (node,) = (n for n in walk(result.logical.queries[-1].root) if isinstance(n, lg.Aggregate))
        return node.aggregates[0][1]
    return expression(EXAMPLES[cls])


def test_there_is_an_example_of_every_expression() -> None:
    assert set(EXAMPLES) == set(descendants(ir.Expr))


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda c: c.__name__)
def test_every_expression_is_known_everywhere(cls: type[ir.Expr]) -> None:
    found = example(cls)
    assert isinstance(found, cls)
    assert ir.with_children(found, ir.children(found)) == found
    assert hash(ir.with_children(found, ir.children(found))) == hash(found)
    assert ir.transform(found, lambda _: None) is found
    assert next(iter(ir.walk(found))) is found
    assert show_expr(found)
    if cls is ir.Quality:
        with pytest.raises(InternalError):
            to_sql(found, ir.columns_of(found))
    else:
        assert to_sql(found, ir.columns_of(found))


def test_new_parts_stand_where_the_old_ones_stood() -> None:
    for cls in EXAMPLES:
        found = example(cls)
        marks = tuple(ir.Column(name=f"c{n}", type=p.type) for n, p in enumerate(ir.children(found)))
        assert ir.children(ir.with_children(found, marks)) == marks


def test_something_else_is_no_expression() -> None:
    for function in (ir.children, show_expr):
        with pytest.raises(TypeError):
            function(object())  # type: ignore[operator]
    with pytest.raises(TypeError):
        to_sql(object(), frozenset())  # type: ignore[arg-type]


# --- operators: one example of each class ----------------------------------------------------------

FIELDS = (lg.Field("k", BIGINT), lg.Field("t", STRING), lg.Field("ts", TIMESTAMP))
STREAM = lg.SourceDecl(
    name="s", is_table=False, fields=FIELDS, connector="memory", options=(), event_time="ts",
    watermark_ms=0,
)  # fmt: skip
SCAN = lg.Scan(STREAM, owner="s")
STAMPED = lg.Watermark(SCAN, "ts", 0, owner="s")


def column(name: str, type_: Type) -> ir.Column:
    return ir.Column(name=name, type=type_)


def renamed(below: lg.Logical, prefix: str) -> lg.Project:
    return lg.Project(below, tuple((f"{prefix}.{f.name}", column(f.name, f.type)) for f in FIELDS))


MOVING = lg.Window(STAMPED, lg.TimeRange(60_000), owner="q")
SLIDING = lg.Window(STAMPED, lg.Sliding(60_000, 60_000), owner="q")
COUNT = ir.AggCall(
    function="COUNT", args=(), spec=expression("UPPER(t)").spec, type=BIGINT  # type: ignore[attr-defined]
)
SAME_KEY = ir.Op(op="=", args=(column("a.k", BIGINT), column("b.k", BIGINT)), type=BOOLEAN)
OPERATORS: dict[type[lg.Logical], lg.Logical] = {
    lg.Scan: SCAN,
    lg.Watermark: STAMPED,
    lg.Filter: lg.Filter(STAMPED, ir.IsNull(operand=column("k", BIGINT), type=BOOLEAN)),
    lg.Project: lg.Project(STAMPED, (("k", column("k", BIGINT)),)),
    lg.Shed: lg.Shed(STAMPED, "q", ("k",), Goal(percent=10.0)),
    lg.Window: SLIDING,
    lg.Aggregate: lg.Aggregate(SLIDING, (("k", column("k", BIGINT)),), (("n", COUNT),)),
    lg.Distinct: lg.Distinct(SLIDING),
    lg.Sort: lg.Sort(SLIDING, (lg.SortItem(column("k", BIGINT), True, False),), 3),
    lg.Join: lg.Join(renamed(SLIDING, "a"), renamed(SLIDING, "b"), ast.JoinKind.INNER, SAME_KEY),
    lg.Union: lg.Union((STAMPED, STAMPED)),
    lg.Compare: lg.Compare(MOVING, MOVING, "EXCEPT", True),
    lg.ToStream: lg.ToStream(SLIDING, ast.R2S.RSTREAM),
}


def operator_classes() -> set[type]:
    return {c for c in descendants(lg.Logical) if not c.__name__.startswith("_")}


def test_there_is_an_example_of_every_operator() -> None:
    assert set(OPERATORS) == operator_classes()
    assert set(OPERATOR_NAMES) == operator_classes()
    assert len(set(OPERATOR_NAMES.values())) == len(OPERATOR_NAMES)


@pytest.mark.parametrize("cls", OPERATORS, ids=lambda c: c.__name__)
def test_every_operator_is_known_everywhere(cls: type[lg.Logical]) -> None:
    node = OPERATORS[cls]
    assert node.schema
    assert isinstance(node.change, lg.Change)
    assert node.window is None or isinstance(node.window, lg.WindowSpec)
    assert node.event_time is None or node.field(node.event_time) is not None
    assert with_inputs(node, node.inputs) is node
    copies = tuple(dataclasses.replace(i) for i in node.inputs)
    if copies:
        assert with_inputs(node, copies) == node
        assert with_inputs(node, copies) is not node
    assert all(isinstance(e, ir.Expr) for e in exprs_of(node))
    assert hash((cls, own_parts(node)))
    assert show_operator(node)


@pytest.mark.parametrize("cls", OPERATORS, ids=lambda c: c.__name__)
def test_every_operator_is_lowered_or_refused(cls: type[lg.Logical]) -> None:
    """The lowering has a rule for each class: a step, or a diagnostic with a way out."""
    found = lowered_or_refused(OPERATORS[cls])
    if isinstance(found, Diagnostic):
        assert found.code.startswith("SQ05")
        assert found.help
    else:
        assert found.names == tuple(f.name for f in OPERATORS[cls].schema)
        assert ph.walk(found.step)[-1] is found.step


def lowered_or_refused(node: lg.Logical) -> Lowered | Moving | Diagnostic:
    try:
        rule = lower_moving if runs_on_changes(node) else lower
        return rule(node, LowerContext("q"))
    except Abort as refused:
        return refused.diagnostic


def test_an_operator_without_a_rule_is_noticed() -> None:
    class Unheard(lg.Logical):
        inputs = ()

    with pytest.raises(TypeError, match="Unheard"):
        lower(Unheard(), LowerContext("q"))


def test_every_window_can_be_shown_lowered_or_refused() -> None:
    specs: dict[type[lg.WindowSpec], lg.WindowSpec] = {
        lg.Unbounded: lg.Unbounded(),
        lg.Now: lg.Now(),
        lg.TimeRange: lg.TimeRange(1_000),
        lg.Sliding: lg.Sliding(2_000, 1_000),
        lg.Session: lg.Session(1_000, ("k",)),
        lg.LastRows: lg.LastRows(5, 2, ("k",), 1_000),
    }
    assert set(specs) == set(descendants(lg.WindowSpec))
    for spec in specs.values():
        assert show_window(spec).startswith("[")
        found = lowered_or_refused(lg.Window(STAMPED, spec))
        assert isinstance(found, Lowered | Moving) or found.code == "SQ0501"


def test_every_step_has_inputs() -> None:
    result = compile_text("""
        SELECT DISTINCT i, ts FROM s UNION ALL SELECT i, ts FROM r;
        SELECT s.i, COUNT(*) AS c FROM s [TUMBLE 1 MINUTE] JOIN item ON s.l = item.id GROUP BY s.i
        SHED RANDOM BY 5 PERCENT;
        SELECT ISTREAM(*) FROM s [ROWS 2];
        SELECT ISTREAM(s.i) FROM s [NOW] JOIN r [NOW] ON s.i < r.i;
        CREATE STREAM k (i INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 'a');
        SELECT i FROM k;
    """)
    seen = {type(step) for q in result.require().queries for step in ph.walk(q.root)}
    assert seen == set(descendants(ph.Step))


# --- walking and naming ----------------------------------------------------------------------------


def test_walk_gives_inputs_first_and_shared_operators_once() -> None:
    union = lg.Union((STAMPED, lg.Filter(STAMPED, SAME_KEY), STAMPED))
    assert [type(n) for n in walk(union)] == [lg.Scan, lg.Watermark, lg.Filter, lg.Union]


def test_ids_come_from_names_and_count_on() -> None:
    result = compile_text("CREATE QUERY q AS SELECT i FROM (SELECT i FROM s WHERE i > 1) a WHERE i > 2;")
    assert result.logical is not None
    graph = build_graph(result.logical)
    mine = [n for n in graph.nodes if n.startswith("q.")]
    assert mine == ["q.filter", "q.select", "q.filter_2", "q.select_2", "q.stream"]
    assert graph.roots["q"] == "q.stream"
    assert graph.inputs["q.filter"] == ("s.watermark",)


def test_who_reads_an_operator() -> None:
    text = "CREATE QUERY a AS SELECT i FROM s WHERE i > 1; CREATE QUERY b AS SELECT i FROM s;"
    plan = compile_text(text).logical
    assert plan is not None
    graph = build_graph(plan)
    assert set(graph.consumers("s.watermark")) >= {"a.filter", "b.select"}
    assert graph.queries_over("a.filter") == ("a",)
    assert graph.queries_over("s.watermark")[-2:] == ("a", "b")
    assert graph.queries_over("b.stream") == ("b",)
    assert list(graph.network.successors("a.filter")) == ["a.select"]
    assert list(graph.nodes) == sorted(graph.nodes, key=list(graph.nodes).index)


def test_spans_lead_back_to_the_text() -> None:
    """Every operator and expression of a plan knows the place it comes from."""
    result = compile_text("SELECT i + 1 AS a, COUNT(*) AS c FROM s [TUMBLE 1 MINUTE] WHERE b GROUP BY i + 1;")
    assert result.logical is not None
    for query in result.logical.queries:
        for node in walk(query.root):
            assert node.origin != NO_SPAN, type(node).__name__
    last = result.logical.queries[-1].root
    (aggregate,) = (n for n in walk(last) if isinstance(n, lg.Aggregate))
    (text,) = result.sources.files.values()
    spans = [e.origin for e in exprs_of(aggregate)]
    assert [text.text[s.start : s.end] for s in spans] == ["i + 1", "COUNT(*)"]


def test_int_is_not_boolean_in_the_types_of_literals() -> None:
    """Equality of expressions is by type too: 1, 1.0 and TRUE are three."""
    one = ir.Literal(value=1, type=INT)
    assert one != ir.Literal(value=True, type=BOOLEAN)
    assert one != ir.Literal(value=1.0, type=BIGINT)
