"""Expressions: from syntax to typed form. Every expression gets its static type here."""

from __future__ import annotations

from collections.abc import Mapping

from streamq.compiler.binder.arithmetic import (
    COMPARISONS,
    arithmetic_type,
    comparison_type,
    concat_fits,
)
from streamq.compiler.binder.calls import bind_call
from streamq.compiler.binder.containment import CONTAINMENTS, bind_containment
from streamq.compiler.binder.context import UNKNOWN, BindContext, is_unknown, unknown
from streamq.compiler.binder.literals import (
    bind_number,
    bind_typed_literal,
    convert_literal,
    digits_type,
)
from streamq.compiler.binder.scope import Scope, field_of
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir.expr import Expr
from streamq.compiler.ir.logical import FunctionDecl
from streamq.dsl import ast
from streamq.dsl.records import dataclass, field
from streamq.dsl.source import Span
from streamq.dsl.types import (
    BOOLEAN,
    DATE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    Array,
    Map,
    Type,
    can_cast,
    common_type,
    converts_silently,
    holds_map,
    is_integer,
    is_numeric,
    is_string,
    is_temporal,
    with_article,
)


@dataclass(frozen=True)
class ExpressionBinder:
    """Binds expressions of one block. ``functions``: the program's own, by folded name.

    ``scalars``: the columns that hold the values of scalar subqueries, by where these stand.
    """

    scope: Scope
    context: BindContext
    functions: Mapping[str, FunctionDecl]
    scalars: Mapping[Span, Expr] = field(default_factory=dict)

    def bind(self, node: ast.Expr) -> Expr:
        """The typed form; errors are reported and give an expression of unknown type."""
        match node:
            case ast.Number():
                return bind_number(node, self.context)
            case ast.String():
                return ir.Literal(value=node.value, type=STRING, nullable=False, origin=node.span)
            case ast.Bool():
                return ir.Literal(value=node.value, type=BOOLEAN, nullable=False, origin=node.span)
            case ast.Null():
                return ir.Literal(value=None, type=NULL, origin=node.span)
            case ast.Interval():
                ms = node.duration.ms
                return ir.Literal(value=ms, type=INTERVAL, nullable=False, origin=node.span)
            case ast.TypedLiteral():
                return bind_typed_literal(node, self.context)
            case ast.Name():
                return self.scope.resolve(node, self.context)
            case ast.Unary():
                return self._unary(node)
            case ast.Binary():
                return self._binary(node)
            case ast.Between():
                return self._between(node)
            case ast.Like():
                return self._like(node)
            case ast.IsNull():
                operand = self.bind(node.operand)
                test = ir.IsNull(operand=operand, type=BOOLEAN, nullable=False, origin=node.span)
                return self._negate(test, node.negated, node.span)
            case ast.InList():
                return self._in_list(node)
            case ast.Case():
                return self._case(node)
            case ast.Cast():
                return self._cast(node)
            case ast.Call():
                return bind_call(self, node)
            case ast.FieldOf():
                return field_of(self.bind(node.operand), node.name, self.context)
            case ast.Index():
                return self._index(node)
            case ast.Row():
                return self.context.error(
                    "SQ0301", "a row of values cannot stand here", node.span,
                    help="compare the values one by one, joined by AND",
                )
            case ast.Star():
                return self.context.error(
                    "SQ0301", "`*` cannot stand here", node.span,
                    help="`*` belongs in a select list or in COUNT(*)",
                )
            case ast.InQuery() | ast.Exists() | ast.Quantified() | ast.ScalarQuery():
                return self._subquery(node)
            case _:
                raise TypeError(f"not an expression: {type(node).__name__}")

    def bind_condition(self, node: ast.Expr, clause: str) -> Expr:
        """An expression that must be BOOLEAN (``WHERE``, ``ON``, ``HAVING``, ``FILTER``)."""
        return self.condition(self.bind(node), clause, node.span)

    def condition(self, bound: Expr, clause: str, span: Span) -> Expr:
        if bound.type in (BOOLEAN, UNKNOWN):
            return bound
        if bound.type == NULL:
            return self.coerce(bound, BOOLEAN)
        return self.context.error(
            "SQ0304", f"{clause} needs a condition, this is {with_article(bound.type)}", span,
            label=with_article(bound.type), help="compare it with something, for example `… > 0`",
        )

    def coerce(self, bound: Expr, type_: Type) -> Expr:
        """The expression as a value of the type; no node where it already is one."""
        if bound.type in (type_, UNKNOWN) or type_ == UNKNOWN:
            return bound
        if isinstance(bound, ir.Literal):
            converted = convert_literal(bound, type_)
            if converted is not None:
                return converted
        return ir.Cast(operand=bound, type=type_, nullable=bound.nullable, origin=bound.origin)

    def _subquery(self, node: ast.Expr) -> Expr:
        known = self.scalars.get(node.span)
        if known is not None:
            return known
        names = {
            ast.InQuery: "IN (query)", ast.Exists: "EXISTS (query)",
            ast.Quantified: "ALL/ANY (query)", ast.ScalarQuery: "a scalar subquery",
        }
        return self.context.error(
            "SQ0501", f"{names[type(node)]} cannot be run here yet", node.span,
            help="compute it in the select list of a subquery in FROM",
        )

    def _negate(self, bound: Expr, negated: bool, span: Span) -> Expr:
        if not negated or is_unknown(bound):
            return bound
        return ir.Op(op="NOT", args=(bound,), type=BOOLEAN, nullable=bound.nullable, origin=span)

    def _unary(self, node: ast.Unary) -> Expr:
        if node.op == "NOT":
            operand = self.bind_condition(node.operand, "NOT")
            return self._negate(operand, True, node.span)
        if node.op == "-" and isinstance(node.operand, ast.Number):
            text = ast.Number(text="-" + node.operand.text, span=node.span)
            return bind_number(text, self.context)
        operand = self.bind(node.operand)
        if is_unknown(operand) or operand.type == NULL:
            return operand
        if not (is_numeric(operand.type) or operand.type == INTERVAL):
            return self.context.error(
                "SQ0301", f"`{node.op}` needs a number, not {with_article(operand.type)}", node.span,
                label=with_article(operand.type),
            )
        if node.op == "+":
            return operand
        return ir.Op(op="NEG", args=(operand,), type=operand.type, nullable=operand.nullable,
                     origin=node.span)

    def _binary(self, node: ast.Binary) -> Expr:
        if node.op in ("AND", "OR"):
            return self._logic(node)
        if isinstance(node.left, ast.Row):
            return self.bind(node.left)
        left, right = self.bind(node.left), self.bind(node.right)
        if is_unknown(left, right):
            return unknown(node.span)
        if node.op in COMPARISONS:
            return self.compare(node.op, left, right, node.span)
        if node.op in CONTAINMENTS:
            return bind_containment(self, node.op, left, right, node.span)
        nullable = left.nullable or right.nullable
        if node.op == "||":
            if not (concat_fits(left.type) and concat_fits(right.type)):
                return self._misfit(node.op, left, right, node.span)
            args = (self.coerce(left, STRING), self.coerce(right, STRING))
            return ir.Op(op="||", args=args, type=STRING, nullable=nullable, origin=node.span)
        found = arithmetic_type(
            node.op, digits_type(left, right.type), digits_type(right, left.type)
        )
        if found is None:
            return self._misfit(node.op, left, right, node.span)
        op, type_ = found
        return ir.Op(op=op, args=(left, right), type=type_,
                     nullable=nullable or op in ("/", "DIV", "%"), origin=node.span)

    def _logic(self, node: ast.Binary) -> Expr:
        """AND and OR; long chains are flattened, so that their depth does not matter."""
        parts: list[ast.Expr] = []
        stack: list[ast.Expr] = [node]
        while stack:
            top = stack.pop()
            if isinstance(top, ast.Binary) and top.op == node.op:
                stack.extend((top.right, top.left))
            else:
                parts.append(top)
        args = tuple(self.bind_condition(part, node.op) for part in parts)
        if is_unknown(*args):
            return unknown(node.span)
        nullable = any(a.nullable for a in args)
        return ir.Op(op=node.op, args=args, type=BOOLEAN, nullable=nullable, origin=node.span)

    def compare(self, op: str, left: Expr, right: Expr, span: Span) -> Expr:
        """``left op right`` over their common type; reports where there is none."""
        left, right = self._temporal_literal(left, right), self._temporal_literal(right, left)
        if is_unknown(left, right):
            return unknown(span)
        common = comparison_type(left.type, right.type)
        if common is None:
            return self._misfit(op, left, right, span)
        if holds_map(common):
            return self._map_misfit(common, span)
        args = (self.coerce(left, common), self.coerce(right, common))
        return ir.Op(op=op, args=args, type=BOOLEAN, nullable=left.nullable or right.nullable,
                     origin=span)

    def _temporal_literal(self, literal: Expr, other: Expr) -> Expr:
        """A string literal beside a date or timestamp is read as one."""
        if not (isinstance(literal, ir.Literal) and is_string(literal.type)):
            return literal
        if not is_temporal(other.type):
            return literal
        node = ast.TypedLiteral(type=other.type, text=str(literal.value), span=literal.origin)
        return bind_typed_literal(node, self.context)

    def _misfit(self, op: str, left: Expr, right: Expr, span: Span) -> Expr:
        hint = ""
        if is_string(left.type) != is_string(right.type):
            hint = "write a CAST, for example CAST(… AS DOUBLE)"
        elif {left.type, right.type} == {DATE, TIMESTAMP}:
            hint = "write a CAST to TIMESTAMP"
        elif op in COMPARISONS and (is_temporal(left.type) != is_temporal(right.type)):
            hint = "compare it with a time, such as TIMESTAMP '2024-01-31 08:00:00'"
        return self.context.error(
            "SQ0301", f"`{op}` does not fit {left.type} and {right.type}", span,
            label=f"{left.type} {op} {right.type}", help=hint,
        )

    def _map_misfit(self, t: Type, span: Span) -> Expr:
        return self.context.error(
            "SQ0301", f"values of type {t} cannot be compared", span, label="a MAP has no order",
            help="compare single entries, for example m['key']",
        )

    def _between(self, node: ast.Between) -> Expr:
        operand, low, high = self.bind(node.operand), self.bind(node.low), self.bind(node.high)
        if is_unknown(operand, low, high):
            return unknown(node.span)
        lower = self.compare(">=", operand, low, node.span)
        if is_unknown(lower):
            return lower
        upper = self.compare("<=", operand, high, node.span)
        if is_unknown(upper):
            return upper
        both = ir.conjunction((lower, upper))
        assert both is not None
        return self._negate(both, node.negated, node.span)

    def _like(self, node: ast.Like) -> Expr:
        operand, pattern = self.bind(node.operand), self.bind(node.pattern)
        for side in (operand, pattern):
            if not (is_string(side.type) or side.type in (NULL, UNKNOWN)):
                return self.context.error(
                    "SQ0301", f"{node.kind} compares strings, not {with_article(side.type)}", side.origin,
                    label=with_article(side.type), help="write CAST(… AS STRING)",
                )
        test = ir.Like(operand=self.coerce(operand, STRING), pattern=self.coerce(pattern, STRING),
                       kind=node.kind, type=BOOLEAN,
                       nullable=operand.nullable or pattern.nullable, origin=node.span)
        return self._negate(test, node.negated, node.span)

    def _in_list(self, node: ast.InList) -> Expr:
        operand = self.bind(node.operand)
        if isinstance(node.operand, ast.Row):
            return operand
        items = [self._temporal_literal(self.bind(item), operand) for item in node.items]
        if is_unknown(operand, *items):
            return unknown(node.span)
        common: Type = operand.type
        for item in items:
            wider = common_type(common, item.type)
            if wider is None:
                return self._misfit("IN", operand, item, item.origin)
            common = wider
        if holds_map(common):
            return self._map_misfit(common, node.span)
        test = ir.InList(
            operand=self.coerce(operand, common),
            items=tuple(self.coerce(i, common) for i in items), type=BOOLEAN,
            nullable=operand.nullable or any(i.nullable for i in items), origin=node.span,
        )
        return self._negate(test, node.negated, node.span)

    def _case(self, node: ast.Case) -> Expr:
        operand = None if node.operand is None else self.bind(node.operand)
        conditions: list[Expr] = []
        for when in node.whens:
            if operand is None:
                conditions.append(self.bind_condition(when.condition, "WHEN"))
            else:
                value = self.bind(when.condition)
                known = not is_unknown(operand, value)
                conditions.append(
                    self.compare("=", operand, value, when.span) if known
                    else unknown(when.span)
                )
        results = [self.bind(when.result) for when in node.whens]
        default = None if node.default is None else self.bind(node.default)
        branches = results if default is None else [*results, default]
        if is_unknown(*conditions, *branches):
            return unknown(node.span)
        common: Type = NULL
        for branch in branches:
            wider = common_type(common, branch.type)
            if wider is None:
                return self.context.error(
                    "SQ0301", f"CASE gives {common} in one branch and {branch.type} in another",
                    branch.origin, label=with_article(branch.type), help="write a CAST in one of them",
                )
            common = wider
        whens = tuple(
            (c, self.coerce(r, common)) for c, r in zip(conditions, results, strict=True)
        )
        nullable = default is None or any(b.nullable for b in branches)
        return ir.Case(
            whens=whens, default=None if default is None else self.coerce(default, common),
            type=common, nullable=nullable, origin=node.span,
        )

    def _cast(self, node: ast.Cast) -> Expr:
        operand = self.bind(node.operand)
        if is_unknown(operand):
            return operand
        if not can_cast(operand.type, node.type):
            return self.context.error(
                "SQ0303", f"{with_article(operand.type)} cannot be cast to {node.type}", node.span,
                label="this cast has no meaning",
            )
        nullable = operand.nullable or not converts_silently(operand.type, node.type)
        return ir.Cast(operand=operand, type=node.type, nullable=nullable, origin=node.span)

    def _index(self, node: ast.Index) -> Expr:
        base, index = self.bind(node.operand), self.bind(node.index)
        if is_unknown(base, index):
            return unknown(node.span)
        match base.type:
            case Array(element=element) if is_integer(index.type):
                return ir.Index(operand=base, index=self.coerce(index, INT), type=element,
                                origin=node.span)
            case Map(key=key, value=value) if converts_silently(index.type, key):
                return ir.Index(operand=base, index=self.coerce(index, key), type=value,
                                origin=node.span)
            case Array() | Map():
                return self.context.error(
                    "SQ0301", f"{with_article(base.type)} cannot be indexed by {with_article(index.type)}", node.span,
                    label=f"index is {with_article(index.type)}",
                )
            case _:
                return self.context.error(
                    "SQ0301", f"{with_article(base.type)} cannot be indexed", node.span,
                    label="only arrays and maps can",
                    help="a window stands directly after the name of a stream, in FROM",
                )
