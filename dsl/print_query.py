"""Queries and windows to documents."""

from __future__ import annotations

from streamq.dsl import ast
from streamq.dsl.layout import LINE, Doc, Group, Indent, bracketed, joined
from streamq.dsl.print_parts import Docs, clause, duration_text, words


def query_doc(node: ast.Node, docs: Docs) -> Doc | None:
    """The document of a query, of what it consists of, or of a window; None for other nodes."""
    match node:
        case ast.Query():
            return _query(node, docs)
        case ast.Cte(name=name, columns=columns, query=query):
            head = words(docs[name], docs.list(columns) if columns else None, "AS ")
            return (head, bracketed("(", docs[query], ")"))
        case ast.OrderItem(expr=expr, descending=descending, nulls_first=nulls):
            order = {True: "NULLS FIRST", False: "NULLS LAST", None: None}[nulls]
            return words(docs[expr], "DESC" if descending else None, order)
        case ast.Select():
            return _select(node, docs)
        case ast.NamedOperand(name=name):
            return ("TABLE ", docs[name]) if id(node) in docs.tables else docs[name]
        case ast.SetOp():
            return _set_op(node, docs)
        case ast.Streamed(op=op, query=query):
            return bracketed(f"{op.value}(", docs[query], ")")
        case ast.SelectItem(expr=expr, alias=alias):
            return words(docs[expr], ("AS ", docs[alias]) if alias else None)
        case ast.TableRef(name=name, window=window, alias=alias):
            return _reference(docs[name], window, alias, docs)
        case ast.SubqueryRef(query=query, window=window, alias=alias):
            return _reference(bracketed("(", docs[query], ")"), window, alias, docs)
        case ast.Join():
            return _join(node, docs)
        case ast.Window():
            return ("[", _window(node, docs), "]")
    return None


def mark_tables(query: ast.Query, docs: Docs) -> None:
    """Marks the stream that a query in an expression begins with, if it does.

    There ``(a)`` is a column in parentheses; the stream is ``(TABLE a)``.
    """
    first: ast.SetExpr = query
    while True:
        match first:
            case ast.Query(ctes=(), body=body):
                first = body
            case ast.SetOp(left=left):
                first = left
            case ast.NamedOperand():
                docs.tables.add(id(first))
                return
            case _:
                return


def _query(query: ast.Query, docs: Docs) -> Doc:
    parts: list[Doc] = []
    if query.ctes:
        parts.append(("WITH ", Indent(docs.items(query.ctes))))
    parts.append(_operand(query.body, docs, 0))
    if query.order_by:
        parts.append((docs.before(query.order_by[0]), _listed("ORDER BY", query.order_by, docs)))
    if query.limit is not None:
        parts.append(f"LIMIT {query.limit}")
    return joined(parts, LINE)


def _listed(keyword: str, nodes: tuple[ast.Node, ...], docs: Docs) -> Doc:
    return Group((keyword, Indent((LINE, docs.items(nodes, hoisted=True)))))


def _operand(body: ast.SetExpr, docs: Docs, least: int) -> Doc:
    """An operand of a set operation, in parentheses where it binds less tightly than asked."""
    alone = not isinstance(body, ast.Query) and _level(body) >= least
    doc = docs[body] if alone else bracketed("(", docs[body], ")")
    return (docs.before(body), doc)


def _level(body: ast.SetExpr) -> int:
    match body:
        case ast.SetOp(op="INTERSECT"):
            return 1
        case ast.SetOp():
            return 0
    return 2


def _set_op(node: ast.SetOp, docs: Docs) -> Doc:
    own = _level(node)
    op = f"{node.op} ALL" if node.all else node.op
    left, right = _operand(node.left, docs, own), _operand(node.right, docs, own + 1)
    return (left, LINE, op, LINE, right)


def _select(node: ast.Select, docs: Docs) -> Doc:
    head = {
        ast.Distinct.ALL: "SELECT",
        ast.Distinct.DISTINCT: "SELECT DISTINCT",
        ast.Distinct.APPROX: "SELECT APPROX DISTINCT",
    }[node.distinct]
    lines: list[Doc] = [Group((head, Indent((LINE, docs.items(node.items)))))]
    if node.from_:
        lines.append((docs.before(_first(node.from_)), _from(node.from_, docs)))
    if node.where:
        lines.append(_condition("WHERE", node.where, docs))
    if node.group_by:
        first, *_ = node.group_by
        lines.append((docs.before(first), _listed("GROUP BY", node.group_by, docs)))
    if node.having:
        lines.append(_condition("HAVING", node.having, docs))
    if node.approx:
        lines.append(docs[node.approx])
    return joined(lines, LINE)


def _condition(keyword: str, condition: ast.Expr, docs: Docs) -> Doc:
    doc = Group(Indent((keyword, " ", docs[condition])))
    return (docs.before(_first_operand(condition)), doc, docs.after(condition))


def _first_operand(condition: ast.Expr) -> ast.Expr:
    while isinstance(condition, ast.Binary) and condition.op in ("AND", "OR"):
        condition = condition.left
    return condition


def _first(item: ast.FromItem) -> ast.FromItem:
    while isinstance(item, ast.Join):
        item = item.left
    return item


def _from(item: ast.FromItem, docs: Docs) -> Doc:
    doc = Indent(("FROM ", docs[item], docs.after(item)))
    only_commas = True
    while isinstance(item, ast.Join):
        only_commas = only_commas and item.kind is ast.JoinKind.CROSS
        item = item.left
    return Group(doc) if only_commas else doc


def _join(join: ast.Join, docs: Docs) -> Doc:
    left, right = docs[join.left], docs[join.right]
    after = docs.after(join.left)
    if join.kind is ast.JoinKind.CROSS:
        return (left, ",", after, LINE, docs.before(join.right), right)
    kind = "" if join.kind is ast.JoinKind.INNER else f"{join.kind.value} "
    on: Doc = ("USING ", docs.list(join.using)) if join.using else ()
    if join.on:
        on = ("ON ", docs[join.on])
    line = Group((f"{kind}JOIN ", right, Indent((LINE, on))))
    return (left, after, LINE, docs.before(join.right), line)


def _reference(what: Doc, window: ast.Window | None, alias: ast.Ident | None, docs: Docs) -> Doc:
    return words(what, docs[window] if window else None, ("AS ", docs[alias]) if alias else None)


def _window(window: ast.Window, docs: Docs) -> Doc:
    match window:
        case ast.NowWindow():
            return "NOW"
        case ast.RangeWindow(range=range, slide=slide):
            if range is None:
                return words("RANGE UNBOUNDED", _length("SLIDE", slide))
            if range == slide:
                return _length("TUMBLE", range) or ""
            return words(_length("RANGE", range), _length("SLIDE", slide))
        case ast.RowsWindow(rows=rows, slide=slide, partition=partition, range=range):
            return words(
                _partition(partition, docs),
                f"ROWS {rows}",
                _length("RANGE", range),
                None if slide is None else f"SLIDE {slide}",
            )
        case ast.SessionWindow(gap=gap, partition=partition):
            return words(_length("SESSION", gap), _partition(partition, docs))
    return ""


def _length(keyword: str, duration: ast.Duration | None) -> str | None:
    return None if duration is None else f"{keyword} {duration_text(duration)}"


def _partition(names: tuple[ast.Name, ...], docs: Docs) -> Doc | None:
    return clause("PARTITION BY", joined((docs[n] for n in names), ", ")) if names else None
