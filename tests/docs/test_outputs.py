"""The results that the documentation shows are those of a run on Spark.

A ```` ```text output ```` block shows what the program before it prints, or the one that ``of=`` names. Rows of a micro-batch have no
order of their own, so they are shown, and compared, sorted; ``ordered`` keeps the order of the run.
``pytest --accept`` writes the blocks anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamq.runtime.cells import cell_text, is_number
from streamq.runtime.metrics import Cell, ResultRows
from streamq.runtime.run import RunOptions, SilentListener
from streamq.runtime.spark.runner import run_plan
from tests.docs.pages import (
    DOCS,
    ROOT,
    Block,
    Page,
    named_block,
    pages,
    read_page,
    replace_block,
)
from tests.docs.programs import compile_in, program_of, told

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("functions_allowed")]

SHOWING = [read_page(DOCS / "architecture.md"), *pages(DOCS / "language")]


def _shown() -> list[tuple[Page, Block, Block]]:
    """Each output with its page and the program that gives it."""
    found = []
    for page in SHOWING:
        for before, block in zip(page.blocks, page.blocks[1:], strict=False):
            if block.has("output"):
                program = named_block(page, block.values["of"]) if "of" in block.values else before
                assert program.language == "sql", page.place(block)
                found.append((page, program, block))
    assert found
    return found


class _Collector(SilentListener):
    """Keeps the result rows of a run."""

    def __init__(self) -> None:
        self.batches: list[ResultRows] = []

    def rows(self, rows: ResultRows) -> None:
        self.batches.append(rows)


def _order(row: tuple[Cell, ...]) -> list[tuple[bool, str, Cell]]:
    return [(cell is None, type(cell).__name__, "" if cell is None else cell) for cell in row]


def _tables(batches: list[ResultRows], *, ordered: bool) -> str:
    """The rows of each query as one table of text, much as ``streamq run`` draws it."""
    merged: dict[str, list[tuple[Cell, ...]]] = {}
    for batch in batches:
        merged.setdefault(batch.query, []).extend(batch.rows)
    columns = {batch.query: batch.columns for batch in batches}
    parts = [
        _table(columns[query], rows if ordered else sorted(rows, key=_order))
        for query, rows in merged.items()
    ]
    return "\n".join(parts)


def _table(columns: tuple[str, ...], rows: list[tuple[Cell, ...]]) -> str:
    """Columns of equal width, numbers to the right."""
    cells = [[cell_text(cell) for cell in row] for row in rows]
    lines: list[list[str]] = [[], [], *([] for _ in rows)]
    for index, name in enumerate(columns):
        values = [row[index] for row in rows if row[index] is not None]
        right = bool(values) and all(is_number(value) for value in values)
        width = max(len(text) for text in (name, *(line[index] for line in cells)))
        for line, text in zip(lines, [name, "-" * width, *(c[index] for c in cells)], strict=True):
            line.append(text.rjust(width) if right else text.ljust(width))
    return "".join("  ".join(line).rstrip() + "\n" for line in lines)


def _place(case: tuple[Page, Block, Block]) -> str:
    return case[0].place(case[1])


def _rows(text: str, folder: Path, spark: SparkSession, checkpoint: Path) -> list[ResultRows]:
    """The result rows of a program that lies in the folder, when all its input is read."""
    result, found = compile_in(folder, text)
    assert result.plan is not None, told(result, found)
    listener = _Collector()
    options = RunOptions(once=True, checkpoint=checkpoint, rows_per_batch=1_000)
    report = run_plan(result.plan, options, listener, session=spark)
    assert report.ended_by == "finished", told(result, report.diagnostics)
    return listener.batches


def _hold(page: Page, shown: Block, printed: str, request: pytest.FixtureRequest) -> None:
    """The block shows what was printed, or is made to with ``--accept``."""
    if request.config.getoption("accept", default=False) and printed != shown.text:
        now = read_page(page.path)
        place = next(i for i, b in enumerate(page.blocks) if b.line == shown.line)
        replace_block(now, now.blocks[place], printed)
        return
    assert printed == shown.text


@pytest.mark.parametrize("case", _shown(), ids=_place)
def test_output_is_what_the_run_prints(
    case: tuple[Page, Block, Block], spark: SparkSession, tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    page, block, shown = case
    batches = _rows(program_of(page, block), page.path.parent, spark, tmp_path / "checkpoint")
    _hold(page, shown, _tables(batches, ordered=shown.has("ordered")), request)


def test_readme_shows_the_first_answer_of_the_demo(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The demo's stream never ends; the same stream, cut after four seconds, gives the same first window."""
    page = read_page(ROOT / "README.md")
    shown = next(block for block in page.blocks if block.has("output"))
    text = (ROOT / "examples/nexmark/hot_items.cql").read_text(encoding="utf-8")
    assert text.count("rate = 20000") == 1
    text = text.replace("rate = 20000", "rate = 20000, events = 80000")
    batches = _rows(text, tmp_path, spark, tmp_path / "checkpoint")
    rows = [(b.columns, row) for b in batches if b.query == "hot_items" for row in b.rows]
    first = min(row[columns.index("until")] for columns, row in rows)
    window = [row for columns, row in rows if row[columns.index("until")] == first]
    _hold(page, shown, _table(rows[0][0], window), request)
