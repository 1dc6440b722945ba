"""AST to canonical text: ``parse(print(ast)) == ast``.

The document of a node is made from the documents of its children, in a walk from the leaves up,
so that no depth of nesting is too much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from streamq.dsl import ast
from streamq.dsl.diagnostics import InternalError
from streamq.dsl.layout import Doc, Group, layout
from streamq.dsl.print_expr import expr_doc
from streamq.dsl.print_parts import NO_REMARKS, Docs, Remarks
from streamq.dsl.print_policy import policy_doc
from streamq.dsl.print_query import mark_tables, query_doc
from streamq.dsl.print_statement import statement_doc


def print_program(program: ast.Program) -> str:
    """All statements, each ended by ``;``, with an empty line between them."""
    return "\n\n".join(print_statement(s) for s in program.statements) + "\n" * bool(
        program.statements
    )


def print_statement(statement: ast.Statement, remarks: Remarks = NO_REMARKS) -> str:
    """One statement with its ``;``; ``remarks`` are comments to be set inside it."""
    return layout((_doc(statement, remarks), ";"))


def print_query(query: ast.Query) -> str:
    """A query without policies and without ``;``."""
    return layout(_doc(query, NO_REMARKS))


def print_expr(expr: ast.Expr) -> str:
    """One expression, on one line where it fits."""
    return layout(Group(_doc(expr, NO_REMARKS)))


def _doc(root: ast.Node, remarks: Remarks) -> Doc:
    docs = Docs(remarks)
    nodes = list(from_leaves(root))
    for node in nodes:
        if isinstance(node, ast.ScalarQuery | ast.InQuery):
            mark_tables(node.query, docs)
    for node in nodes:
        docs[node] = _node_doc(node, docs)
    return docs[root]


_PRINTERS: tuple[Callable[[ast.Node, Docs], Doc | None], ...] = (
    expr_doc,
    query_doc,
    policy_doc,
    statement_doc,
)


def _node_doc(node: ast.Node, docs: Docs) -> Doc:
    for printer in _PRINTERS:
        doc = printer(node, docs)
        if doc is not None:
            return doc
    raise InternalError(f"no text for {type(node).__name__}")


def from_leaves(root: ast.Node) -> Iterator[ast.Node]:
    """All nodes below and with ``root``, children before their parents."""
    stack = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            yield node
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in children(node))


def children(node: ast.Node) -> Iterator[ast.Node]:
    """The nodes that a node holds, in fields and in tuples."""
    fields: tuple[str, ...] = node.__match_args__
    for name in fields:
        value = getattr(node, name)
        if isinstance(value, ast.Node):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, ast.Node))
