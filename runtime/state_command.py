"""``streamq state DIR``: what the queries of a checkpoint hold. Without ``--rows`` no Spark is started."""

from __future__ import annotations

import json
from pathlib import Path

from streamq.dsl.diagnostics import Abort, did_you_mean
from streamq.dsl.source import SourceMap
from streamq.runtime.arguments import Arguments
from streamq.runtime.checkpoint import folder_of
from streamq.runtime.output import OK, RUN_FAILED, UsageError, print_text, show
from streamq.runtime.state_summary import OperatorState, QueryState, summary


def show_state(args: Arguments) -> int:
    """Prints the queries of a checkpoint, or what an operator of one holds."""
    root: Path = args.directory
    if not root.is_dir():
        raise UsageError(f"{root}: there is no such folder")
    found = summary(root)
    if not found:
        raise UsageError(f"{root}: no query has a checkpoint there; give what a run had as --checkpoint")
    if args.query is not None:
        chosen = tuple(q for q in found if q.query.casefold() == args.query.casefold())
        if not chosen:
            raise UsageError(_unknown(args.query, [q.query for q in found]))
        found = chosen
    if args.rows is not None:
        return _show_rows(root, found, args)
    if args.json:
        print_text(json.dumps({"version": 1, "queries": [q.to_dict() for q in found]}, ensure_ascii=False, indent=2))
    else:
        print_text("\n\n".join(map(_text, found)))
    return OK


def _unknown(name: str, known: list[str]) -> str:
    return f"no `{name}`, {did_you_mean(name, known) or 'there are ' + ', '.join(known)}"


def _text(query: QueryState) -> str:
    lines = [query.query]
    if query.planned is None:
        lines.append("  no micro-batch yet")
    else:
        done = "none" if query.done is None else str(query.done)
        lines.append(f"  micro-batch {query.planned} planned, {done} done")
    if query.watermark is not None:
        lines.append(f"  watermark   {query.watermark} UTC")
    lines += [f"  reads       {p.stream} ({p.connector}) up to {p.offset[:100]}" for p in query.positions]
    if not query.operators:
        lines.append("  keeps no state")
    for one in query.operators:
        version = "nothing written yet" if one.version is None else f"version {one.version}"
        parts = f" in {one.partitions} parts" if one.partitions else ""
        lines.append(f"  {one.operator}  ({one.kind}; operator {one.number} of Spark's: {one.spark or 'not there yet'})")
        lines.append(f"    {version}, {_size(one.size)} in {one.files} files{parts}")
    return "\n".join(lines)


def _size(count: int) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count = round(count / 1000)
    return f"{count} GB"


def _show_rows(root: Path, queries: tuple[QueryState, ...], args: Arguments) -> int:
    """Keys and values of an operator, by Spark's own reader of states."""
    known = {one.operator: (query, one) for query in queries for one in query.operators}
    if args.rows not in known:
        raise UsageError(_unknown(args.rows, list(known)) if known else "no query keeps any state")
    query, operator = known[args.rows]
    from streamq.runtime.spark.state_rows import read_rows

    try:
        rows = read_rows(folder_of(root, query.query), operator, args.limit)
    except Abort as abort:
        show((abort.diagnostic,), SourceMap())
        return RUN_FAILED
    if args.json:
        for row in rows:
            print_text(json.dumps(row, ensure_ascii=False, default=str))
    else:
        print_text(_rows_text(operator, rows, args.limit))
    return OK


def _rows_text(operator: OperatorState, rows: list[dict[str, object]], limit: int) -> str:
    lines = [f"{operator.operator}, version {operator.version}"]
    for row in rows:
        lines.append("  " + ", ".join(f"{name} = {value}" for name, value in row.items()))
    if len(rows) == limit:
        lines.append(f"  … at most {limit} are shown, --limit shows more")
    return "\n".join(lines if rows else [*lines, "  holds nothing"])
