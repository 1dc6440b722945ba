"""What the edge of a stream is to do: a process at the source of its rows, which sheds attributes before a wire.

It follows from the stream's declaration and from all queries of the program, and is nothing of Spark's.
"""

from __future__ import annotations

from streamq.compiler.ir.goals import Sift
from streamq.dsl.records import dataclass, field
from streamq.dsl.source import NO_SPAN, Span
from streamq.dsl.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Chars,
    Type,
    is_numeric,
)

OptionValue = str | int | float | bool

SHED_COLUMNS = "shed_columns"
"""The column of a stream with the names of the columns that were shed of a row."""

_ARROW: dict[Type, str] = {
    BOOLEAN: "bool", TINYINT: "int8", SMALLINT: "int16", INT: "int32", BIGINT: "int64", FLOAT: "float", DOUBLE: "double",
    STRING: "string", DATE: "date32[day]", TIMESTAMP: "timestamp[us, tz=UTC]",
}


def landed_path(folder: str, stream: str) -> str:
    """Where the rows of a stream lie that came, as files for Spark."""
    return f"{folder.rstrip('/')}/{stream}/rows"


def arrow_type(type_: Type) -> str | None:
    """The name that Arrow has for a type, where an edge can send it."""
    return "string" if isinstance(type_, Chars) else _ARROW.get(type_)


def bounds_of(column: str) -> tuple[str, str]:
    """The columns between whose values that of a recovered one is."""
    return f"{column}_lo", f"{column}_hi"


def has_bounds(type_: Type) -> bool:
    """Whether values of a type are recovered with an error: others come back as they were, or not at all."""
    return is_numeric(type_)


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A wire that several streams share. ``weighted``: what is too much is taken by weights, and not by rates alone."""

    name: str
    kbps: float
    weighted: bool = False
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeStream:
    """A stream whose rows an edge sends.

    ``columns``: name and Arrow type, as declared. ``kept``: those that are never shed, each with the reason. ``unread``:
    those that no query reads: they are never sent. ``synopsis``: those whose shed values are stored there and asked for,
    with the error they may have, in percent, None where the edge finds it (ERROR AUTO) below what ``criticality`` allows.
    ``nearest``: those whose shed values are taken from the nearest row. ``bounded``: those whose bounds queries read. ``cycle``: the columns by which rows come again;
    ``finds_cycle``: they are to be found. ``capacity_kbps``: of its own wire, or that of ``channel``; neither where all may
    be sent. ``sifts``: where rows are shed and not columns: the sifter as each query that reads the stream asks for it.
    """

    stream: str
    columns: tuple[tuple[str, str], ...]
    kept: tuple[tuple[str, str], ...] = ()
    unread: tuple[str, ...] = ()
    synopsis: tuple[tuple[str, float | None], ...] = ()
    nearest: tuple[str, ...] = ()
    bounded: tuple[str, ...] = ()
    criticality: str | None = None
    cycle: tuple[str, ...] = ()
    finds_cycle: bool = False
    retain_ms: int | None = None
    capacity_kbps: float | None = None
    channel: Channel | None = None
    sifts: tuple[Sift, ...] = ()
    options: tuple[tuple[str, OptionValue], ...] = field(default=(), repr=False)
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)

    @property
    def sheds(self) -> bool:
        """Whether rows, or columns that a query reads, may go."""
        stays = {*dict(self.kept), *self.unread}
        return bool(self.sifts) or any(name not in stays for name, _ in self.columns)
