"""Four queries of different weight under three times the load that their machine can take: SHED AUTO against SHED RANDOM.

Three of them work out the same dear score of each bid, and count 9, 3 and 1; the fourth, of weight 1, counts bids. What the
machine can take is found first, by a run in which nothing is shed. With AUTO the queries know of each other. With RANDOM each
of them sheds for its own goal; who is late keeps more rows, and RANDOM is given that for nothing.

Printed are, of each query after the first 60 seconds, the share of rows that it kept and the age that 95 % of its rows did
not exceed; and the worth that is left of all answers: their weights times what they kept. Where a third of all work can be
done, and all of it is that of scores, 0.67 would be left with AUTO, and 0.38 with one share for all.

Run from the root of the repository::

    python -m tests.benchmarks.weights [--seconds 180] [--goal 10] [--capacity 12000]

Ends with 1 where results of a query with AUTO are older than its goal, or of the three one that counts less keeps more. What is
left with RANDOM is a matter of chance (0.30 and 0.66 in two runs), so it is only printed.
"""

from __future__ import annotations

import argparse
import sys

from tests.benchmarks.fair import LOAD, PILOT, SCORE, STREAM, capacity, recorded
from tests.benchmarks.loads import steady

WARM_UP_S = 60.0

QUERIES = {
    "payments": (9, "SELECT AVG(score) AS m, WINDOW_END AS until FROM scored [TUMBLE 4 SECONDS]"),
    "sections": (3, "SELECT section, SUM(score) AS n, WINDOW_END AS until FROM scored [TUMBLE 4 SECONDS] GROUP BY section"),
    "trend": (1, "SELECT AVG(score) AS m, WINDOW_END AS until FROM scored [TUMBLE 4 SECONDS] WHERE price > 100"),
    "bids": (1, "SELECT COUNT(*) AS n, WINDOW_END AS until FROM bid [TUMBLE 4 SECONDS]"),
}
METHODS = ("AUTO", "RANDOM")
SCORED = ("payments", "sections", "trend")
"""Of falling weight, and the same work."""


def program(bids_per_s: float, goal_ms: int | None = None, method: str = "") -> str:
    text = STREAM.format(load=steady(bids_per_s), score=SCORE)
    for name, (weight, select) in QUERIES.items():
        weighed = f"WEIGHT {weight}" if method == "AUTO" else ""
        policy = "" if goal_ms is None else f"QOS LATENCY {goal_ms} MILLISECONDS {weighed} SHED {method}"
        text += f"CREATE QUERY {name} INTO none AS {select} {policy};\n"
    return text


def measured(method: str, bids_per_s: float, goal_ms: int, seconds: float) -> dict[str, tuple[float, float]]:
    """Of each query the share that it kept, and the 95 % age in seconds."""
    recorder, report = recorded(program(bids_per_s, goal_ms, method), seconds, None)
    found = {}
    for query in recorder.record("", report, {}).queries:
        judged = [p for p in query.points if p.seconds >= WARM_UP_S]
        age = query.age_ms(0.95, WARM_UP_S)
        if age is None:
            raise SystemExit(f"{method}: `{query.name}` had no rows after {WARM_UP_S:g} s; give it more --seconds")
        found[query.name] = (sum(p.keep * p.rows_in for p in judged) / sum(p.rows_in for p in judged), age / 1000)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--goal", type=float, default=10.0)
    parser.add_argument("--capacity", type=float, help="bids per second; else it is measured")
    args = parser.parse_args()
    goal_ms = round(args.goal * 1000)
    takes = args.capacity or capacity(program(PILOT), len(QUERIES), goal_ms)
    print(f"capacity {takes:,.0f} bids/s, load {LOAD * takes:,.0f}, goal {args.goal:g} s\n", flush=True)
    print(f"{'':8}" + "".join(f"{f'{name} ({weight})':>20}" for name, (weight, _) in QUERIES.items()) + f"{'worth left':>12}")
    left, late, ordered = {}, {}, {}
    whole = sum(weight for weight, _ in QUERIES.values())
    for method in METHODS:
        found = measured(method, LOAD * takes, goal_ms, args.seconds)
        left[method] = sum(QUERIES[name][0] * kept for name, (kept, _) in found.items()) / whole
        kept = [found[name][0] for name in SCORED]
        ordered[method] = kept == sorted(kept, reverse=True)
        late[method] = max(age for _, age in found.values()) > args.goal
        cells = "".join(f"{f'{found[name][0]:.3f} {found[name][1]:6.2f}s':>20}" for name in QUERIES)
        print(f"{method:8}{cells}{left[method]:12.3f}{'  late' if late[method] else ''}", flush=True)
    return 0 if not late["AUTO"] and ordered["AUTO"] else 1


if __name__ == "__main__":
    sys.exit(main())
