"""``streamq compile FILE --check-against DIR``: how the queries of a program fit a checkpoint, without starting Spark."""

from __future__ import annotations

import json
from pathlib import Path

from streamq.compiler.evolution import Verdict
from streamq.compiler.evolution.verdict import COMPATIBLE
from streamq.runtime.evolution import gone_queries, verdicts
from streamq.runtime.output import OK, PROGRAM_ERROR, UsageError, print_text
from streamq.runtime.programs import Loaded


def check_against(program: Loaded, root: Path, *, as_json: bool) -> int:
    """Prints a verdict for each query; 1 where one cannot go on with the checkpoint that is there."""
    if not root.is_dir():
        raise UsageError(f"--check-against {root}: there is no such folder")
    assert program.result is not None
    plan = program.result.require()
    found = verdicts(plan.queries, root, partitions=int(dict(plan.settings).get("shuffle_partitions", 0)))
    gone = gone_queries([q.name for q in plan.queries], root)
    if as_json:
        report = {"version": 1, "queries": [v.to_dict() for v in found], "gone": list(gone)}
        print_text(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        for verdict in found:
            print_text(told(verdict, program))
        for name in gone:
            print_text(f"{name}: is in the program no more; its checkpoint stays as it is")
    return OK if all(verdict.ok for verdict in found) else PROGRAM_ERROR


def told(verdict: Verdict, program: Loaded) -> str:
    """The verdict in lines for people, with the place in the program of what stands in the way."""
    lines = [f"{verdict.query}: {verdict.kind}"]
    for reason in verdict.reasons:
        place = ""
        if reason.verdict != COMPATIBLE and reason.origin.file:
            file, line, column = program.sources.locate(reason.origin)
            place = f" ({file}:{line}:{column})"
        mark = "-" if reason.verdict == COMPATIBLE else "!"
        lines.append(f"  {mark} {reason.told(verdict.query)}{place}")
    lines += [f"  = {help}" for help in dict.fromkeys(r.help for r in verdict.blocking if r.help)]
    return "\n".join(lines)
