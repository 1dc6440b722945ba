"""The invariants of plans: what a pass must not do is noticed right after it, with its name."""

from __future__ import annotations

import pytest

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import AggCall, Column, IsNull, Literal
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.ir.verify import verify
from streamq.compiler.passes.base import Pass, PassContext, run_passes
from streamq.dsl.ast import JoinKind
from streamq.dsl.diagnostics import InternalError
from streamq.dsl.types import BIGINT, BOOLEAN, INT, STRING, TIMESTAMP
from tests.support.compiling import compile_text

FIELDS = (lg.Field("k", BIGINT), lg.Field("ts", TIMESTAMP))
SCAN = lg.Scan(
    lg.SourceDecl(name="s", is_table=False, fields=FIELDS, connector="memory", options=()), owner="s"
)
K = Column(name="k", type=BIGINT)
TEST = IsNull(operand=K, type=BOOLEAN)


def plan(root: lg.Logical) -> lg.LogicalPlan:
    return lg.LogicalPlan(queries=(lg.LogicalQuery(name="q", root=root, sink=None, policies=()),))


def aggregate_call() -> AggCall:
    logical = compile_text("SELECT COUNT(*) AS m FROM s [TUMBLE 1 MINUTE];").logical
    assert logical is not None
    (node,) = (n for n in walk(logical.queries[-1].root) if isinstance(n, lg.Aggregate))
    return node.aggregates[0][1]


BROKEN: dict[str, tuple[lg.Logical, str]] = {
    "a column that is not there": (
        lg.Filter(SCAN, IsNull(operand=Column(name="z", type=INT), type=BOOLEAN)), "reads `z`",
    ),
    "a column of another type": (
        lg.Project(SCAN, (("k", Column(name="k", type=INT)),)), "reads `k` as INT",
    ),
    "a test that is no test": (lg.Filter(SCAN, K), "tests a BIGINT"),
    "a join on no test": (
        lg.Join(SCAN, lg.Project(SCAN, (("j", K),)), JoinKind.INNER, K), "tests a BIGINT",
    ),
    "two columns of one name": (lg.Join(SCAN, SCAN, JoinKind.INNER, None), "two columns of one name"),
    "bounds without a window": (
        lg.Project(SCAN, (("e", Column(name="WINDOW_END", type=TIMESTAMP)),)), "bounds without a window",
    ),
    "different shapes united": (
        lg.Union((SCAN, lg.Project(SCAN, (("k", K),)))), "unites different shapes",
    ),
    "a stamp that is not there": (lg.Watermark(SCAN, "tz", 0), "stamps by `tz`"),
    "an aggregate outside a grouping": (lg.Project(SCAN, (("m", aggregate_call()),)), "holds an aggregate"),
    "an aggregate in a test": (
        lg.Filter(SCAN, IsNull(operand=aggregate_call(), type=BOOLEAN)), "Filter .*holds an aggregate",
    ),
    "an aggregate in a join": (
        lg.Join(
            SCAN, lg.Project(SCAN, (("j", K),)), JoinKind.LEFT,
            IsNull(operand=aggregate_call(), type=BOOLEAN),
        ),
        "Join .*holds an aggregate",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("root", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_plans(root: lg.Logical, message: str) -> None:
    with pytest.raises(InternalError, match=f"after some_pass: .*{message}"):
        verify(plan(root), "some_pass")


def test_sound_plans() -> None:
    window = lg.Window(lg.Watermark(SCAN, "ts", 0), lg.Sliding(10, 10))
    bound = Column(name="WINDOW_END", type=TIMESTAMP)
    verify(plan(lg.Project(lg.Filter(window, TEST), (("e", bound), ("k", K)))), "some_pass")


def test_the_runner_names_the_pass_that_broke_it() -> None:
    def break_it(before: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan:
        return plan(lg.Filter(SCAN, Literal(value="x", type=STRING)))

    passes = (Pass("nothing", lambda *_: None, "-"), Pass("break_it", break_it, "-"))
    with pytest.raises(InternalError, match="after break_it"):
        run_passes(plan(SCAN), passes, PassContext(), check=True)
    last, trace = run_passes(plan(SCAN), passes, PassContext(), check=False)
    assert last.queries[0].root != SCAN
    assert [(e.name, e.changed) for e in trace] == [("nothing", False), ("break_it", True)]


def test_all_passes_keep_what_a_query_gives() -> None:
    """Names, types and the way a result changes are the user's: no pass may touch them."""
    result = compile_text("""
        CREATE QUERY z1 AS SELECT * FROM s JOIN item ON l = id WHERE name LIKE 'a%' SHED RANDOM BY 5 PERCENT;
        CREATE QUERY z2 AS SELECT i, COUNT(*) AS c, WINDOW_END FROM s [TUMBLE 1 MINUTE] GROUP BY i;
        CREATE QUERY z3 AS SELECT ISTREAM(s.*) FROM s [RANGE 1 DAY] JOIN r [RANGE 1 DAY] ON s.i = r.i;
        CREATE QUERY z4 AS SELECT i, MAX(x) AS m FROM s GROUP BY i;
    """)
    assert result.logical is not None
    for entry in result.trace:
        for before, after in zip(result.logical.queries, entry.plan.queries, strict=True):
            assert after.root.schema == before.root.schema, entry.name
            assert after.root.change is before.root.change, entry.name
            assert (after.name, after.sink) == (before.name, before.sink)
