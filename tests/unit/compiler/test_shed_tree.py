"""The drawing of ``explain --shed``: each operator once, each shedder where it stands."""

from __future__ import annotations

from streamq.compiler.analysis.placement import KEEP_ALL, Plan, Shedder
from streamq.compiler.analysis.shed_places import Place
from streamq.compiler.explain.render import render_shedding
from streamq.compiler.explain.shed_tree import to_tree
from streamq.compiler.ir.graph import build_graph
from tests.support.compiling import compile_text

PROGRAM = """
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts)
  WITH (connector = 'nexmark', table = 'bid', rate = 10000);
CREATE VIEW dear AS SELECT auction, price, ts FROM bid WHERE price > 1000;
CREATE QUERY counts AS SELECT auction, COUNT(*) AS n FROM dear [TUMBLE 1 MINUTE] GROUP BY auction QOS LATENCY 2 SECONDS;
CREATE QUERY rows AS SELECT auction FROM dear WHERE price < 5000 QOS LATENCY 2 SECONDS WEIGHT 5;
"""


def place(operator: str, reader: str | None) -> Place:
    return Place(
        operator=operator, reader=reader, name="", rate=1.0, saving=1.0, loss=1.0, test=0.0, most=1.0, answers=(), keepers=(),
    )


def test_each_operator_is_drawn_once_and_each_shedder_on_its_way() -> None:
    result = compile_text(PROGRAM, prelude=False)
    assert result.optimized is not None
    graph = build_graph(result.optimized)
    lines = list(to_tree(graph, KEEP_ALL))
    assert [line for line in lines if not line.startswith(" ")] == ["counts", "rows"]
    names = [line.strip().split(": ")[0] for line in lines if line.startswith(" ") and "drawn above" not in line]
    assert sorted(names) == sorted(graph.nodes)
    assert not any("drops" in line for line in lines)
    first = next(iter(graph.nodes))
    reader = next(n for n, inputs in graph.inputs.items() if first in inputs)
    marked = list(to_tree(graph, Plan((Shedder(place(first, reader), 0.25), Shedder(place(first, None), 0.5)), 0.0, 0.0, 0.0)))
    (line,) = [line for line in marked if "drops" in line]
    assert line.strip().startswith(f"{first}: ")
    assert "drops 25%, of those that come this way" in line
    assert line.endswith("<- drops 50%")


def test_explain_draws_the_plan_that_saves_half() -> None:
    result = compile_text(PROGRAM, prelude=False)
    text = render_shedding(result)
    drawing = text.split("the plan that saves 50%, drawn:\n")[1]
    half = text.split("to save 50% of what shedding can save")[1].split("\n\n")[0]
    assert drawing.count("<- drops") == half.count("\n  drop ") > 0
