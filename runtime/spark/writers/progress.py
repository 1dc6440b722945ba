"""How far a run came, as its sink has noted it, against what its checkpoint says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.runtime.spark.writers.base import Target, is_there
from streamq.runtime.spark.writers.run_id import PROGRESS, before, begun, run_of


def compare_progress(
    target: Target, noted: Mapping[str, tuple[int, int]], known: bool, there: bool, has_rows: Callable[[], bool]
) -> None:
    """Whether the table and the checkpoint are of the same run, or the run is a new one and may begin; Abort with SQ0806.

    ``noted``: of each run of the query its last micro-batch, and how many rows it wrote into this table. ``known``: this run is
    among all that are noted, whatever their tables; ``there``: the table is.
    """
    run, name = run_of(target.directory), target.text("table")
    if run is not None and run in noted:
        batch, rows = noted[run]
        if rows and not there:
            raise _wrong(
                target, f"table `{name}` is gone, with {rows} rows that this run wrote",
                "put it back; or make a table of this name, which begins empty; or begin anew with another `--checkpoint`",
            )
        is_there(before(target.directory) + 1, batch, target)
        return
    if not there:
        return
    unsure = run is not None and not known and begun(target.directory) > before(target.directory)
    if unsure and target.option("existing") == "refuse" and has_rows():
        raise _wrong(
            target,
            f"{PROGRESS} does not know of this run any more, so nobody can tell whether micro-batch {begun(target.directory)} is in table `{name}`",
            f"put {PROGRESS} back; existing = 'keep' writes the micro-batch, which may be there already",
        )
    _refuse_rows_of_others(target, [batch for batch, _ in noted.values()], has_rows)


def _refuse_rows_of_others(target: Target, noted: Iterable[int], has_rows: Callable[[], bool]) -> None:
    """Abort where a *new* run would write among rows that it must not: those of an earlier run of the query, unless it is told to.

    ``noted``: how far other runs of the query came. A result of one row, without keys, has its table for itself.
    """
    alone = target.update and not target.query.keys
    others = any(batch >= 0 for batch in noted)
    if not (alone or (others and target.option("existing") == "refuse")) or not has_rows():
        return
    whose = "another run of this query" if others else "others, and the result is a single one"
    raise Abort(Diagnostic(
        "SQ0806", f"table `{target.text('table')}` holds rows of {whose}", target.query.sink.origin,
        help="continue that run with its `--checkpoint`, or empty the table, or choose another"
        + ("" if alone else "; existing = 'keep' leaves them there"),
    ))


def _wrong(target: Target, message: str, help: str) -> Abort:
    return Abort(Diagnostic("SQ0806", message, target.query.sink.origin, help=help))
