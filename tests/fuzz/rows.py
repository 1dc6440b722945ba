"""Damaged rows through a run on Spark: no traceback, arrived = kept + malformed exactly, well-formed rows as they were.

``python -m tests.fuzz.rows --count 20000 --format json`` (or csv, parquet). What a line holds is asked of Python's own readers.
Of Parquet rows are not damaged but odd; its files are, each in a run of its own, which must end with a diagnostic or with all rows.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from streamq.runtime import cli
from tests.fuzz.parquet_rows import damaged_file, write_rows
from tests.fuzz.row_mutations import (
    COLUMNS,
    NESTED,
    Reading,
    Values,
    csv_line,
    json_line,
    read_csv,
    read_json,
)

FILES = 20
DAMAGED = 12
"""Files of Parquet that are damaged, each in a run of its own."""

LINES: dict[str, tuple[Callable[[Random, int], bytes], Callable[[bytes], Reading]]] = {"json": (json_line, read_json), "csv": (csv_line, read_csv)}


@dataclass(frozen=True, slots=True)
class Run:
    """How a run ended: its exit code, all that it printed, its totals where it has some, and the rows that it wrote."""

    code: int
    said: str
    totals: dict[str, int]
    rows: Counter[Values]


def run(folder: Path, columns: dict[str, str], kind: str) -> Run:
    """Runs a query that passes all rows on, from ``in`` to ``out``."""
    declared = ", ".join(f"{name} {type_}" for name, type_ in columns.items())
    (folder / "p.cql").write_text(
        f"CREATE STREAM s ({declared}) WITH (connector = 'file', path = 'in', format = '{kind}');\n"
        "CREATE SINK kept WITH (connector = 'file', path = 'out', format = 'json');\n"
        f"CREATE QUERY q INTO kept AS SELECT {', '.join(columns)} FROM s;\n"
    )
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.main(["run", str(folder / "p.cql"), "--once", "--json"])
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    summary = next((r for r in records if r["type"] == "summary"), None)
    totals = {} if summary is None or not summary["queries"] else summary["queries"][0]
    rows = Counter(
        _values(json.loads(line), columns) for path in (folder / "out").glob("*.json") for line in path.read_text("utf-8").split("\n") if line
    )
    return Run(code, out.getvalue() + err.getvalue(), totals, rows)


def _values(row: dict[str, Any], columns: dict[str, str]) -> Values:
    found = []
    for name in columns:
        value = row.get(name)
        if name == "at" and value is not None:
            value = value.replace(".000000", "")
        if isinstance(value, dict):
            value = tuple(value.get(key) for key in ("a", "b"))
        found.append(tuple(value) if isinstance(value, list) else value)
    return tuple(found)


def wrong_of_lines(folder: Path, kind: str, count: int, seed: int) -> tuple[list[str], str]:
    """What is wrong with a run over so many lines, and what was found."""
    make, read = LINES[kind]
    columns = COLUMNS | (NESTED if kind == "json" else {})
    readings: list[Reading] = []
    (folder / "in").mkdir(parents=True)
    random = Random(f"{kind}:{seed}")
    for file in range(FILES):
        lines = [make(random, file * count + number) for number in range(count // FILES)]
        readings += map(read, lines)
        head = [",".join(COLUMNS).encode()] if kind == "csv" else []
        end = random.choice((b"\n", b"\r\n"))
        (folder / "in" / f"{file}.{kind}").write_bytes(end.join([*head, *lines, b""]))
    done = run(folder, columns, kind)
    expected = Counter(r.values for r in readings if r.values is not None)
    surely_bad = sum(r.bad for r in readings)
    least, most = sum(r.least for r in readings), sum(r.most for r in readings)
    wrong = _wrong(done, least, most)
    if lost := expected - done.rows:
        wrong.append(f"{lost.total()} well-formed rows are not among the answers, {next(iter(lost))!r:.300} for instance")
    if done.totals and done.totals["malformed"] < surely_bad:
        wrong.append(f"{surely_bad} lines are surely malformed, {done.totals['malformed']} were counted")
    told = f"{len(readings):,} lines, {expected.total():,} of them surely well-formed, {surely_bad:,} surely not; {_counts(done)}"
    return wrong, told


def wrong_of_parquet(folder: Path, count: int, seed: int) -> tuple[list[str], str]:
    """The same for Parquet: odd rows, then damaged files."""
    random = Random(f"parquet:{seed}")
    (folder / "in").mkdir(parents=True)
    expected = write_rows(folder / "in", count, FILES, random)
    done = run(folder, COLUMNS | NESTED, "parquet")
    wrong = _wrong(done, count, count)
    if done.rows != expected:
        wrong.append(f"other answers than rows: {next(iter((expected - done.rows) or (done.rows - expected)))!r:.300}")
    ends: Counter[int] = Counter()
    for number in range(DAMAGED):
        one = folder / f"damaged-{number}"
        (one / "in").mkdir(parents=True)
        damaged_file(one / "in" / "a.parquet", random)
        again = run(one, COLUMNS | NESTED, "parquet")
        ends[again.code] += 1
        if again.code and "SQ0" not in again.said:
            wrong.append(f"damaged file {number}: exit code {again.code} without a diagnostic")
        wrong += [f"damaged file {number}: {what}" for what in _traces(again)]
    return wrong, f"{_counts(done)}; {DAMAGED} damaged files, exit codes {dict(ends)}"


def _wrong(done: Run, least: int, most: int) -> list[str]:
    wrong = _traces(done)
    if done.code or not done.totals:
        return [*wrong, f"exit code {done.code}: {done.said[-600:]}"]
    arrived, kept, malformed = (done.totals[key] for key in ("rows_in", "kept", "malformed"))
    if arrived != kept + malformed + done.totals["shed"]:
        wrong.append(f"arrived {arrived} is not kept {kept} + malformed {malformed}")
    if kept != done.rows.total():
        wrong.append(f"{kept} rows were kept, {done.rows.total()} came out")
    if not least <= arrived <= most:
        wrong.append(f"{arrived} rows arrived, {least} to {most} lines have some")
    return wrong


def _traces(done: Run) -> list[str]:
    return [f"{mark!r} is printed" for mark in ("Traceback", "\tat org.", "internal error") if mark in done.said]


def _counts(done: Run) -> str:
    return ", ".join(f"{key} {done.totals.get(key, 0):,}" for key in ("rows_in", "kept", "malformed"))


def wrong_of(kind: str, folder: Path, count: int, seed: int) -> tuple[list[str], str]:
    """What is wrong with a run over so many rows of a format, and what was found."""
    if kind == "parquet":
        return wrong_of_parquet(folder, count, seed)
    return wrong_of_lines(folder, kind, count, seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=(*LINES, "parquet"), default="json")
    parser.add_argument("--into", type=Path, help="a new folder that keeps input and output")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.into or Path(temporary) / "rows"
        wrong, told = wrong_of(args.format, folder, args.count, args.seed)
    print(f"{args.format}: {told}")
    print("\n".join(wrong) or "all is well")
    sys.stdout.flush()
    os._exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
