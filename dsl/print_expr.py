"""Expressions to documents, with parentheses only where they are needed."""

from __future__ import annotations

from streamq.dsl import ast
from streamq.dsl.layout import LINE, Doc, Group, Indent, bracketed, joined
from streamq.dsl.print_parts import Docs, duration_text, name_text, percent_text, string_text, words
from streamq.dsl.words import MEMORY_UNITS

_OR, _AND, _NOT, _PREDICATE, _SUM, _TERM, _FACTOR, _CHAIN = range(8)
_BINARY = {"OR": _OR, "AND": _AND}
_BINARY |= dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "@>", "<@"), _PREDICATE)
_BINARY |= dict.fromkeys(("+", "-", "||"), _SUM)
_BINARY |= dict.fromkeys(("*", "/", "%"), _TERM)


def expr_doc(node: ast.Node, docs: Docs) -> Doc | None:
    """The document of an expression or a part of one; None for other nodes."""
    match node:
        case ast.Ident(text=text):
            return name_text(text)
        case ast.Number(text=text):
            return text
        case ast.String(value=value):
            return string_text(value)
        case ast.Bool(value=truth):
            return "TRUE" if truth else "FALSE"
        case ast.Null():
            return "NULL"
        case ast.Duration():
            return duration_text(node)
        case ast.Interval(duration=duration):
            return f"INTERVAL {duration_text(duration)}"
        case ast.TypedLiteral(type=type, text=text):
            return f"{type} {string_text(text)}"
        case ast.Name(parts=parts):
            return joined((docs[p] for p in parts), ".")
        case ast.Star(qualifier=None):
            return "*"
        case ast.Star(qualifier=qualifier):
            return (name_text(qualifier.text), ".*") if qualifier else "*"
        case ast.Unary() | ast.Binary():
            return _operator(node, docs)
        case ast.FieldOf(operand=operand, name=name):
            return (_base(operand, docs), ".", docs[name])
        case ast.Index(operand=operand, index=index):
            base = docs[operand] if isinstance(operand, ast.Name) else _base(operand, docs)
            return (base, bracketed("[", docs[index], "]"))
        case ast.Row(items=items):
            return docs.list(items)
        case ast.Call():
            return _call(node, docs)
        case ast.Approx():
            return _approx(node)
        case ast.Cast(operand=operand, type=type):
            return bracketed("CAST(", (docs[operand], LINE, f"AS {type}"), ")")
        case ast.When(condition=condition, result=result):
            return Group(("WHEN ", docs[condition], Indent((LINE, "THEN ", docs[result]))))
        case ast.Case():
            return _case(node, docs)
        case ast.Expr():
            return _predicate(node, docs)
    return None


def level(expr: ast.Expr) -> int:
    """How tightly an expression binds."""
    match expr:
        case ast.Binary(op=op):
            return _BINARY[op]
        case ast.Unary(op="NOT"):
            return _NOT
        case ast.Unary():
            return _FACTOR
        case (
            ast.Between()
            | ast.Like()
            | ast.IsNull()
            | ast.InList()
            | ast.InQuery()
            | ast.Quantified()
        ):
            return _PREDICATE
    return _CHAIN


def _at(expr: ast.Expr, least: int, docs: Docs) -> Doc:
    """The operand, in parentheses where it binds less tightly than its place asks for."""
    doc = docs[expr]
    return doc if level(expr) >= least else bracketed("(", doc, ")")


def _base(expr: ast.Expr, docs: Docs) -> Doc:
    """What stands before ``.field`` or ``[index]``: a bare name there would read as one name."""
    bare = isinstance(
        expr, ast.Call | ast.FieldOf | ast.Index | ast.Cast | ast.Row | ast.ScalarQuery
    )
    return docs[expr] if bare else bracketed("(", docs[expr], ")")


def _operator(node: ast.Unary | ast.Binary, docs: Docs) -> Doc:
    own = level(node)
    if isinstance(node, ast.Unary):
        # Two signs in a row would be a comment.
        space = node.op == "NOT" or isinstance(node.operand, ast.Unary)
        return (node.op, " " if space else "", _at(node.operand, own, docs))
    left, right = _at(node.left, own, docs), _at(node.right, own + 1, docs)
    if node.op in ("AND", "OR"):
        if level(node.left) == _AND and own == _OR:
            left = Group(left)
        if level(node.right) == _AND and own == _OR:
            right = Group(right)
        remarks = docs.after(node.left), docs.before(node.right), docs.after(node.right)
        return (left, remarks[0], LINE, remarks[1], f"{node.op} ", right, remarks[2])
    return Group((left, f" {node.op}", Indent((LINE, right))))


def _call(call: ast.Call, docs: Docs) -> Doc:
    inside: Doc = "*" if call.star else docs.items(call.args)
    if call.distinct:
        inside = ("DISTINCT ", inside)
    if call.approx is not None:
        inside = (inside, " ", docs[call.approx])
    name = name_text(call.name.text)
    doc: Doc = bracketed(f"{name}(", inside, ")") if call.star or call.args else f"{name}()"
    if call.filter is None:
        return doc
    return (doc, bracketed(" FILTER (", ("WHERE ", docs[call.filter]), ")"))


def _approx(approx: ast.Approx) -> Doc:
    return words(
        None if approx.within is None else f"WITHIN {'FP ' if approx.fp else ''}{percent_text(approx.within)}",
        None if approx.confidence is None else f"CONFIDENCE {percent_text(approx.confidence)}",
        None if approx.memory is None else f"MEMORY {_memory_text(approx.memory)}",
        None if approx.sample is None else f"SAMPLE {percent_text(approx.sample)}",
        None if approx.method is None else f"METHOD {name_text(approx.method)}",
    )


def _memory_text(size: int) -> str:
    for unit, factor in reversed(MEMORY_UNITS.items()):
        if size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} BYTES"


def _case(case: ast.Case, docs: Docs) -> Doc:
    head: Doc = ("CASE ", docs[case.operand]) if case.operand else "CASE"
    lines: list[Doc] = [docs[when] for when in case.whens]
    if case.default:
        lines.append(("ELSE ", docs[case.default]))
    return Group((head, Indent(tuple((LINE, line) for line in lines)), LINE, "END"))


def _predicate(node: ast.Expr, docs: Docs) -> Doc | None:
    match node:
        case ast.Between(operand=operand, low=low, high=high, negated=negated):
            bounds = (_at(low, _SUM, docs), " AND ", _at(high, _SUM, docs))
            return words(_at(operand, _PREDICATE, docs), _not(negated), ("BETWEEN ", bounds))
        case ast.Like(operand=operand, pattern=pattern, kind=kind, negated=negated):
            right = _at(pattern, _SUM, docs)
            return words(_at(operand, _PREDICATE, docs), _not(negated), kind, right)
        case ast.IsNull(operand=operand, negated=negated):
            return words(_at(operand, _PREDICATE, docs), "IS", _not(negated), "NULL")
        case ast.InList(operand=operand, items=items, negated=negated):
            return words(_at(operand, _PREDICATE, docs), _not(negated), "IN", docs.list(items))
        case ast.InQuery(operand=operand, query=query, negated=negated):
            inner = bracketed("(", docs[query], ")")
            return words(_at(operand, _PREDICATE, docs), _not(negated), "IN", inner)
        case ast.Exists(query=query):
            return ("EXISTS ", bracketed("(", docs[query], ")"))
        case ast.Quantified(op=op, operand=operand, quantifier=quantifier, query=query):
            inner = bracketed("(", docs[query], ")")
            return words(_at(operand, _PREDICATE, docs), op, (quantifier, " ", inner))
        case ast.ScalarQuery(query=query):
            return bracketed("(", docs[query], ")")
    return None


def _not(negated: bool) -> str | None:
    return "NOT" if negated else None
