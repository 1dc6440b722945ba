"""Every example of the language's definition parses, binds, formats and explains.

What cannot be run yet is refused with codes of the 05xx and 06xx ranges only: everything else about the examples
is right, and the plan can be looked at.
"""

from __future__ import annotations

import pytest

from streamq.compiler.driver import compile_program
from streamq.compiler.explain import render
from streamq.dsl.diagnostics import DiagnosticSink
from streamq.dsl.formatter import format_source
from streamq.dsl.source import SourceFile

STREAMS = """
CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price DOUBLE, channel STRING, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL 4 SECONDS
) WITH (connector = 'nexmark', table = 'bid', rate = 50000);
CREATE SINK cheap WITH (connector = 'noop');
"""

WHOLE = """
CREATE VIEW dear AS SELECT auction, price, ts FROM bid WHERE price > 10000;

CREATE QUERY hot_items AS
  SELECT auction, COUNT(*) AS bids, AVG(price) AS avg_price, WINDOW_END,
         COMPLETENESS() AS completeness
  FROM   dear [RANGE 10 SECONDS SLIDE 2 SECONDS]
  GROUP  BY auction
  QOS    LATENCY 2 SECONDS COMPLETENESS >= 0.5 WEIGHT 2
  SHED   SIFTER ON (price, auction) REGIONS 16
  RECOVER ESTIMATE CONFIDENCE 95 PERCENT;
"""

WINDOWS = [
    "[NOW]", "[RANGE 10 MINUTES]", "[RANGE 1 HOUR SLIDE 1 MINUTE]", "[TUMBLE 1 HOUR]",
    "[RANGE UNBOUNDED]", "[UNBOUNDED]", "[ROWS 100]", "[ROWS 100 SLIDE 10]",
    "[PARTITION BY auction, bidder ROWS 10 RANGE 1 DAY]", "[PARTITION BY auction ROWS 10]",
    "[SESSION 5 MINUTES]", "[SESSION 5 MINUTES PARTITION BY auction]", "[RANGE 10s]", "[RANGE 30]",
    "[RANGE INTERVAL '10' SECOND]",
]

QOS = [
    "QOS LATENCY 2 SECONDS COMPLETENESS >= 0.6 SLOPE 0.8 WEIGHT 2 ERROR <= 5 PERCENT CONFIDENCE "
    "95 PERCENT UTILITY CASE WHEN channel = 'security' THEN 1 ELSE 0.25 END FAIRNESS 0.5 "
    "CRITICALITY 'very critical'",
]

SHED = [
    "SHED NONE", "SHED AUTO", "SHED RANDOM", "SHED RANDOM BY KEY (auction)",
    "SHED OLDER THAN 30 SECONDS", "QOS UTILITY price SHED BY UTILITY",
    "SHED SIFTER ON (price, auction) REGIONS 16 PARTITION QDPART SAMPLE 1 PERCENT",
    "SHED SIFTER ON (price) PARTITION UNIFORM", "SHED SIFTER ON (price) PARTITION DATA",
    "SHED SIFTER ON (price) PARTITION QUERY", "SHED FAIR", "SHED FAIR WINDOW 10 SECONDS",
    "SHED WINDOWS",
    "SHED ATTRIBUTES KEEP (auction) TO CAPACITY 120 KBPS", "SHED ATTRIBUTES",
    "SHED RANDOM TO RATE 5000 ROWS PER SECOND", "SHED RANDOM BY 30 PERCENT",
]

SHED_JOIN = [
    "SHED JOIN BASIC WINDOW 1 SECOND SAMPLE 10 PERCENT", "SHED JOIN", "QOS LATENCY 2 SECONDS SHED JOIN",
    "SHED JOIN BASIC WINDOW 1 SECOND BY 30 PERCENT",
]

RECOVER = [
    "RECOVER (price, channel) FROM SYNOPSIS ERROR 5 PERCENT CYCLE (auction) RETAIN 2 HOURS",
    "RECOVER ALL FROM SYNOPSIS ERROR AUTO CYCLE AUTO", "RECOVER (price) FROM NEAREST",
    "RECOVER ESTIMATE CONFIDENCE 95 PERCENT", "RECOVER ESTIMATE",
    "SHED RANDOM BY 30 PERCENT RECOVER DROPPED INTO cheap",
]

QUALITY = ["COMPLETENESS()", "SOURCE_COVERAGE()", "KEPT()", "SHED()", "LATE()"]

R2S = [
    f"SELECT {op}(auction, price) FROM bid [RANGE 1 MINUTE]" for op in
    ("ISTREAM", "DSTREAM", "RSTREAM")
] + [
    "ISTREAM(SELECT auction FROM bid)", "SELECT RSTREAM(*) FROM bid [NOW]",
    "SELECT RSTREAM(b.*) FROM bid [NOW] AS b",
]

EXAMPLES = {
    "section 7": WHOLE,
    **{f"window {w}": f"SELECT * FROM bid {w} AS b;" for w in WINDOWS},
    **{c: f"SELECT auction, price FROM bid {c};" for c in (*QOS, *SHED, *RECOVER)},
    **{c: f"SELECT ISTREAM(a.price) FROM bid [NOW] a JOIN bid [RANGE 1 MINUTE] b ON a.price < b.price {c};" for c in SHED_JOIN},
    **{q: f"SELECT COUNT(*) AS n, {q} AS q FROM bid [TUMBLE 1 MINUTE];" for q in QUALITY},
    **{r: f"{r};" for r in R2S},
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str) -> None:
    program = STREAMS + EXAMPLES[name]
    result = compile_program(program)
    codes = {d.code for d in result.diagnostics}
    assert {c for c in codes if not c.startswith(("SQ05", "SQ06"))} <= {"SQ0408", "SQ0901", "SQ0902"}
    assert result.logical is not None
    for stage in ("logical", "annotated"):
        for output in ("text", "json", "mermaid"):
            assert render(result, stage, output)
    sink = DiagnosticSink()
    formatted = format_source(SourceFile("example.cql", program), sink)
    assert formatted is not None
    assert not sink.has_errors
    again = format_source(SourceFile("example.cql", formatted), DiagnosticSink())
    assert again == formatted
    assert {d.code for d in compile_program(formatted).diagnostics} == codes
