"""Comments inside a statement, tied to the nodes they speak of.

A comment that ends a line belongs to the item before it, any other one to the item after it. Items
are what the printer sets on a line of its own: columns, items of lists, clauses, the operands of
AND and OR in WHERE and HAVING.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from streamq.dsl import ast
from streamq.dsl.lexer import Comment, Token
from streamq.dsl.print_parts import Remarks
from streamq.dsl.printer import from_leaves

_ITEMS = (
    ast.ColumnDef,
    ast.WatermarkDef,
    ast.Option,
    ast.SelectItem,
    ast.FromItem,
    ast.OrderItem,
    ast.Cte,
    ast.Select,
    ast.Streamed,
    ast.NamedOperand,
    ast.Policy,
    ast.QosItem,
)
_OPENERS = frozenset(
    "FROM WHERE GROUP ORDER BY HAVING JOIN INNER LEFT RIGHT FULL OUTER CROSS AND OR UNION EXCEPT"
    " INTERSECT ALL ( ,".split()
)
"""Tokens that may stand between a comment and the item it is set before."""


def attach(
    text: str, tokens: Sequence[Token], comments: Sequence[Comment], root: ast.Statement
) -> Remarks | None:
    """The comments by node, or None where one has no item to go with."""
    items = list(_items(root))
    # Of nodes that begin or end at one place the outermost comes last and is taken.
    starts = {node.span.start: node for node in items if not isinstance(node, ast.Join)}
    ends = {node.span.end: node for node in items}
    offsets = [token.start for token in tokens]
    before: dict[int, list[str]] = {}
    after: dict[int, list[str]] = {}
    for comment in comments:
        index = bisect_left(offsets, comment.end)
        node = _ended(text, tokens, index, comment, ends)
        if node is not None:
            after.setdefault(id(node), []).append(comment.text)
            continue
        node = _begun(tokens, index, starts)
        if node is None:
            return None
        before.setdefault(id(node), []).append(comment.text)
    return Remarks(before, after)


def _ended(
    text: str, tokens: Sequence[Token], index: int, comment: Comment, ends: dict[int, ast.Node]
) -> ast.Node | None:
    """The item on whose line the comment stands as the last thing."""
    last = tokens[index - 1]
    if (
        "\n" in text[last.end : comment.start]
        or "\n" not in text[comment.end : tokens[index].start]
    ):
        return None
    if last.kind == "," and index >= 2:
        last = tokens[index - 2]
    return ends.get(last.end)


def _begun(tokens: Sequence[Token], index: int, starts: dict[int, ast.Node]) -> ast.Node | None:
    """The item that begins with the next token, or after words that lead to it."""
    for token in tokens[index:]:
        if token.start in starts:
            return starts[token.start]
        if token.text.upper() not in _OPENERS:
            return None
    return None


def _items(root: ast.Statement) -> Iterator[ast.Node]:
    for node in from_leaves(root):
        if isinstance(node, _ITEMS):
            yield node
        if isinstance(node, ast.Select):
            yield from node.group_by
            for condition in (node.where, node.having):
                if condition is not None:
                    yield from _operands(condition)


def _operands(condition: ast.Expr) -> Iterator[ast.Expr]:
    """The operands of AND and OR, and the conditions they make, outer ones last."""
    found: list[ast.Expr] = []
    stack = [condition]
    while stack:
        expr = stack.pop()
        found.append(expr)
        if isinstance(expr, ast.Binary) and expr.op in ("AND", "OR"):
            stack += (expr.left, expr.right)
    return reversed(found)
