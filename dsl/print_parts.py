"""What all printers share: documents of nodes, comments, names, numbers, lengths of time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from streamq.dsl import ast
from streamq.dsl.layout import HARD, LINE, Doc, Group, Remark, bracketed, joined
from streamq.dsl.records import dataclass, field
from streamq.dsl.words import RESERVED

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_AMBIGUOUS = frozenset(
    "ALL ANY DSTREAM INCLUDE INTERVAL ISTREAM REGISTER RSTREAM SET SOME TABLE".split()
)
"""Keywords that could be taken for themselves where a name is meant."""

_UNITS = (
    ("WEEK", 604_800_000),
    ("DAY", 86_400_000),
    ("HOUR", 3_600_000),
    ("MINUTE", 60_000),
    ("SECOND", 1_000),
    ("MILLISECOND", 1),
)


@dataclass(frozen=True)
class Remarks:
    """Comments to print with nodes, by ``id``: on lines before the node, or after it."""

    before: Mapping[int, Sequence[str]] = field(default_factory=dict)
    after: Mapping[int, Sequence[str]] = field(default_factory=dict)


NO_REMARKS = Remarks()


class Docs:
    """The documents of the nodes printed so far."""

    def __init__(self, remarks: Remarks) -> None:
        self._docs: dict[int, Doc] = {}
        self._remarks = remarks
        self.tables: set[int] = set()
        """Named operands that must be written ``TABLE name`` (see ``print_query``)."""

    def __setitem__(self, node: ast.Node, doc: Doc) -> None:
        self._docs[id(node)] = doc

    def __getitem__(self, node: ast.Node) -> Doc:
        return self._docs[id(node)]

    def before(self, node: ast.Node | None) -> Doc:
        """The comments before a node, each on its own line."""
        if node is None:
            return ()
        return tuple((Remark(text), HARD) for text in self._remarks.before.get(id(node), ()))

    def after(self, node: ast.Node) -> Doc:
        """The comments after a node, on its line."""
        return tuple((" ", Remark(text)) for text in self._remarks.after.get(id(node), ()))

    def items(self, nodes: Sequence[ast.Node], separator: str = ",", hoisted: bool = False) -> Doc:
        """A list of nodes with their comments; a line may end after each separator.

        ``hoisted``: the comments before the first node are printed elsewhere.
        """
        parts: list[Doc] = []
        for number, node in enumerate(nodes):
            before = () if hoisted and not number else self.before(node)
            last = number == len(nodes) - 1
            parts.append((before, self[node], "" if last else separator, self.after(node)))
            if not last:
                parts.append(LINE)
        return tuple(parts)

    def list(self, nodes: Sequence[ast.Node]) -> Doc:
        """``(a, b)``."""
        return bracketed("(", self.items(nodes), ")")


def words(*parts: Doc | None) -> Doc:
    """The parts that are there, with spaces between them."""
    return joined((part for part in parts if part is not None), " ")


def clause(keyword: str, doc: Doc) -> Doc:
    return Group((keyword, " ", doc))


def name_text(text: str) -> str:
    """A name as it must be written: plain where it can only be read as a name."""
    word = text.upper()
    if _PLAIN_NAME.fullmatch(text) and word not in RESERVED and word not in _AMBIGUOUS:
        return text
    return '"' + text.replace('"', '""') + '"'


def string_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def duration_text(duration: ast.Duration) -> str:
    """``10 SECONDS``, in the largest unit that leaves no fraction."""
    ms = duration.ms
    unit, size = next((u, s) for u, s in _UNITS if ms % s == 0) if ms else ("SECOND", 1_000)
    count = ms // size
    return f"{count} {unit}{'' if count == 1 else 'S'}"


def number_text(value: float) -> str:
    return plain_decimal(Decimal(repr(value)))


def percent_text(fraction: float) -> str:
    """``5 PERCENT`` for 0.05, exactly."""
    return plain_decimal(Decimal(repr(fraction)).scaleb(2)) + " PERCENT"


def plain_decimal(value: Decimal) -> str:
    value = value.normalize()
    return format(value, "f") if -10 <= value.adjusted() <= 15 else str(value)
