"""Whether the queries of a program fit the checkpoints of a folder, and what becomes of those that do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from streamq.compiler.evolution import Reason, Verdict, compare, same_work, shape_of
from streamq.compiler.evolution.verdict import NEW_CHECKPOINT, STATE_LOST
from streamq.compiler.ir.physical import PhysicalQuery, ScanStream, walk
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.runtime.checkpoint import folder_of, is_new, queries_in, stored

_READ_AGAIN = {
    "file": "all files that are there are read again",
    "edge": "all rows that came and are still there are read again",
    "nexmark": "its events come again from the first on",
    "rate": "its numbers begin at 0 again; what it would have made meanwhile is missed",
    "memory": "all rows that were added are read again",
}


def verdicts(
    queries: Sequence[PhysicalQuery], root: Path, *, all_of: Sequence[str] = (), partitions: int = 0
) -> tuple[Verdict, ...]:
    """A verdict for each query.

    ``all_of``: the names of all queries of the program, where ``queries`` are a part. ``partitions``: as many as the program asks
    for, 0 where it leaves that.
    """
    names = {q.name for q in queries} | set(all_of)
    gone = [name for name in queries_in(root) if name not in names]
    return tuple(_verdict(query, root, gone, partitions) for query in queries)


def gone_queries(names: Sequence[str], root: Path) -> tuple[str, ...]:
    """Queries that have a checkpoint and are in the program no more."""
    return tuple(name for name in queries_in(root) if name not in names and not is_new(folder_of(root, name)))


def _verdict(query: PhysicalQuery, root: Path, gone: Sequence[str], partitions: int) -> Verdict:
    directory = folder_of(root, query.name)
    now = shape_of(query)
    if is_new(directory):
        for name in gone:
            known = stored(folder_of(root, name))
            if known is not None and known.shape is not None and same_work(known.shape, now):
                return Verdict(query.name, (Reason(
                    query.name, f"does the work of `{name}`, which is gone: under its new name it would begin from nothing", STATE_LOST,
                    f"rename `{folder_of(root, name)}` to `{directory.name}` to go on; or `--fresh {query.name}` to begin anew", query.origin,
                ),), new=True)
        return Verdict(query.name, new=True)
    known = stored(directory)
    if known is None or known.shape is None:
        return Verdict(query.name, (Reason(
            query.name, "nothing that this version of StreamQ can read is kept beside the checkpoint, so that what wrote it is not known",
            NEW_CHECKPOINT, f"`--fresh {query.name}` moves the old checkpoint aside and starts anew", query.origin,
        ),))
    found = compare(known.shape, now)
    if now.states and partitions and known.partitions and partitions != known.partitions:
        found = replace(found, reasons=(*found.reasons, Reason(
            query.name, f"goes on with the {known.partitions} shuffle partitions that it began with, not with {partitions}",
        )))
    return found


def refusal(verdict: Verdict, query: PhysicalQuery, root: Path) -> Diagnostic | None:
    """SQ0805 with all reasons, where the query may not start with the checkpoint that is there."""
    if verdict.ok:
        return None
    first = verdict.blocking[0]
    return Diagnostic(
        "SQ0805", f"query `{query.name}` cannot go on with checkpoint `{folder_of(root, query.name)}`: {verdict.kind}",
        first.origin, help=first.help, notes=tuple(r.told(query.name) for r in verdict.blocking),
    )


def move_aside(query: PhysicalQuery, root: Path) -> str:
    """Moves the checkpoint of a query away, to be kept, and says which rows come again.

    Abort with SQ0805 where it cannot be moved.
    """
    directory = folder_of(root, query.name)
    if not directory.exists():
        return "starts for the first time"
    kept = directory.with_name(f"{directory.name}.{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")
    try:
        directory.rename(kept)
    except OSError as error:
        raise Abort(Diagnostic(
            "SQ0805", f"checkpoint `{directory}` cannot be moved aside: {(error.strerror or str(error)).lower()}", query.origin,
            help="choose a folder that you may write to with `--checkpoint`",
        )) from error
    scans = dict.fromkeys((s.stream, s.connector) for s in walk(query.root) if isinstance(s, ScanStream))
    again = "; ".join(f"`{s}`: {_READ_AGAIN.get(c, 'it is read from where its options say')}" for s, c in scans)
    return f"starts anew; its old checkpoint is kept as {kept.name}. {again}"
