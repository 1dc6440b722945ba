"""What a subquery reads of the row outside: its own conditions, and those that compare it with that row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.relations import Beside, Environment, reject_aggregates
from streamq.compiler.binder.scope import Scope
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column, Expr
from streamq.dsl import ast
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.printer import children
from streamq.dsl.records import dataclass, replace
from streamq.dsl.source import Span
from streamq.stdlib.functions import lookup
from streamq.stdlib.registry import Kind

BoundFrom = tuple[lg.Logical, Scope]
"""The plan of a FROM clause, and what its columns are called."""


@dataclass(frozen=True, slots=True)
class Correlated:
    """A SELECT whose FROM is bound: without the conditions of its WHERE that read the row outside.

    ``between``: those conditions.
    """

    select: ast.Select
    bound: BoundFrom
    between: tuple[ast.Expr, ...]

    @property
    def groups(self) -> tuple[ast.Expr, ...]:
        """What GROUP BY and HAVING read of the inputs."""
        aliases = {i.alias.text.casefold() for i in self.select.items if i.alias is not None}
        keys = tuple(
            key for key in self.select.group_by
            if not (isinstance(key, ast.Name) and key.parts[0].text.casefold() in aliases)
        )
        return keys if self.select.having is None else (*keys, self.select.having)


@dataclass(frozen=True, slots=True)
class Equality:
    """A value of the subquery that is to be equal to one of the row outside, which is bound."""

    ours: ast.Expr
    theirs: Expr
    span: Span


def plain_select(query: ast.Query) -> ast.Select | None:
    """The SELECT … FROM that a query is; None where it is more than that."""
    body = query.body
    if query.ctes or query.order_by or query.limit is not None:
        return None
    return body if isinstance(body, ast.Select) and body.from_ is not None else None


def divide(select: ast.Select, bound: BoundFrom, outer: Scope) -> Correlated:
    """Divides the conditions of WHERE into the subquery's own and those that read the row outside."""
    own: list[ast.Expr] = []
    between: list[ast.Expr] = []
    for condition in conjuncts(select.where) if select.where is not None else ():
        names = list(names_outside(condition, bound[1], outer))
        (between if names else own).append(condition)
    where: ast.Expr | None = None
    for condition in own:
        where = condition if where is None else ast.Binary(
            "AND", where, condition, span=where.span.merge(condition.span)
        )
    return Correlated(replace(select, where=where), bound, tuple(between))


def refuse_outside(parts: Correlated, outer: Scope, nodes: Iterable[ast.Expr]) -> None:
    """Refuses names of the row outside in expressions that are not conditions of WHERE."""
    for node in nodes:
        for name in names_outside(node, parts.bound[1], outer):
            text = ".".join(p.text for p in name.parts)
            raise Abort(Diagnostic(
                code="SQ0501", span=name.span,
                message=f"`{text}` of the row outside can be read only in the subquery's WHERE yet",
                help="write it outside of the subquery, or join the two in FROM",
            ))


def equalities(parts: Correlated, binder: ExpressionBinder) -> tuple[Equality, ...]:
    """The conditions as pairs of equal values; refuses all others. ``binder``: that of the row outside."""
    inner, outer = parts.bound[1], binder.scope
    found = []
    for condition in parts.between:
        sides = (
            ((condition.left, condition.right), (condition.right, condition.left))
            if isinstance(condition, ast.Binary) and condition.op == "=" else ()
        )
        pair = next((
            (ours, theirs) for ours, theirs in sides
            if _reads(ours, inner) and not any(names_outside(ours, inner, outer))
            and not _reads(theirs, inner)
        ), None)
        if pair is None:
            raise Abort(Diagnostic(
                code="SQ0501", span=condition.span,
                message="this subquery can be compared with the row outside by `=` only yet",
                label="not its value = a value of the row outside",
                help="join the two in FROM, and group the pairs",
            ))
        ours, theirs = pair
        bound = binder.bind(theirs)
        reject_aggregates(bound, "WHERE", binder.context)
        found.append(Equality(ours, bound, theirs.span))
    return tuple(found)


def beside(pairs: Iterable[Equality]) -> tuple[Beside, ...]:
    """The subquery's side of each pair, which its rows carry as values of the common type."""
    return tuple((pair.ours, pair.theirs.type) for pair in pairs)


def equal_keys(
    keys: Sequence[lg.Field], pairs: Sequence[Equality], binder: ExpressionBinder
) -> tuple[Expr, ...]:
    """The conditions again, over the columns that hold the subquery's side of each."""
    tests = []
    for key, pair in zip(keys, pairs, strict=True):
        column = Column(name=key.name, type=key.type, nullable=key.nullable, origin=pair.span)
        tests.append(binder.compare("=", pair.theirs, column, pair.span))
    return tuple(tests)


def names_outside(node: ast.Node, inner: Scope, outer: Scope) -> Iterator[ast.Name]:
    """The names that the subquery does not know and the row outside does."""
    return (n for n in _names(node) if not inner.knows(n) and outer.knows(n))


def nested(inner: Scope, outer: Scope) -> Scope:
    """The inner query's columns before those of the row outside."""
    taken = {e.alias.casefold() for e in inner.entries}
    known = frozenset(n.casefold() for e in inner.entries for n, _ in e.columns)
    beyond = (
        replace(e, hidden=e.hidden | known) for e in outer.entries
        if not (e.alias and e.alias.casefold() in taken)
    )
    return Scope((*inner.entries, *beyond))


def conjuncts(node: ast.Expr) -> Iterable[ast.Expr]:
    """The conditions that AND puts together."""
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, ast.Binary) and top.op == "AND":
            stack.extend((top.right, top.left))
        else:
            yield top


def has_aggregate(select: ast.Select, env: Environment) -> bool:
    """True where the select list or HAVING makes groups of the rows."""
    stack: list[ast.Node] = [i.expr for i in select.items]
    stack += [] if select.having is None else [select.having]
    while stack:
        top = stack.pop()
        if isinstance(top, ast.Call) and top.name.text.casefold() not in env.catalog.functions:
            spec = lookup(top.name.text)
            if spec is not None and spec.kind is Kind.AGGREGATE:
                return True
        if not isinstance(top, ast.Query):
            stack.extend(children(top))
    return False


def _reads(node: ast.Node, scope: Scope) -> bool:
    return any(scope.knows(n) for n in _names(node))


def _names(node: ast.Node) -> Iterator[ast.Name]:
    """The names of an expression, those inside subqueries left out."""
    stack: list[ast.Node] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, ast.Name):
            yield top
        elif not isinstance(top, ast.Query):
            stack.extend(children(top))
