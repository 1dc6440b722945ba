"""Statements to documents."""

from __future__ import annotations

import re

from streamq.dsl import ast
from streamq.dsl.layout import HARD, LINE, Doc, Group, Indent, bracketed, joined
from streamq.dsl.print_parts import Docs, duration_text, number_text, string_text, words

_PLAIN_KEY = r"[^\W\d]\w*(\.[^\W\d]\w*)*"


def statement_doc(node: ast.Node, docs: Docs) -> Doc | None:
    """The document of a statement or a part of one; None for other nodes."""
    match node:
        case ast.CreateStream():
            return _stream(node, docs)
        case ast.CreateTable():
            return _table(node, docs)
        case ast.CreateView(name=name, columns=columns, query=query):
            head = words("CREATE VIEW", docs[name], docs.list(columns) if columns else None, "AS")
            return (head, Indent((HARD, docs[query])))
        case ast.CreateSink(name=name, options=options):
            return joined([("CREATE SINK ", docs[name]), *_with(options, docs)], HARD)
        case ast.CreateChannel(name=name, kbps=kbps, split=split):
            return words("CREATE CHANNEL", docs[name], f"CAPACITY {number_text(kbps)} KBPS", split and f"SPLIT {split}")
        case ast.CreateFunction():
            return _function(node, docs)
        case ast.CreateQuery():
            return _query(node, docs)
        case ast.SetOption(key=key, value=value):
            return f"SET {_key(key)} = {value_text(value)}"
        case ast.Include(path=path):
            return f"INCLUDE {string_text(path)}"
        case ast.ColumnDef(name=name, type=type, not_null=not_null, computed=computed):
            return words(
                docs[name],
                str(type) if type else None,
                "NOT NULL" if not_null else None,
                ("AS ", docs[computed]) if computed else None,
            )
        case ast.WatermarkDef(column=column, delay=delay):
            column_doc = docs[column]
            late: Doc = ("AS ", column_doc, f" - INTERVAL {duration_text(delay)}")
            return words("WATERMARK FOR", column_doc, late if delay.ms else None)
        case ast.Parameter(name=name, type=type):
            return (docs[name], f" {type}")
        case ast.Option(key=key, value=value):
            return f"{_key(key)} = {value_text(value)}"
    return None


def value_text(value: str | int | float | bool) -> str:
    """The value of an option; a float is told from an int by its point."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return string_text(value)
        case int():
            return str(value)
    text = number_text(value)
    return text if "." in text or "E" in text else f"{text}.0"


def _lines(doc: Doc) -> Doc:
    return Indent((HARD, doc))


def _stream(stream: ast.CreateStream, docs: Docs) -> Doc:
    elements = [*stream.columns, *([stream.watermark] if stream.watermark else [])]
    head: Doc = ("CREATE STREAM ", docs[stream.name], " (", _lines(docs.items(elements)))
    clauses = [*_policies(stream.policies, docs), *_with(stream.options, docs)]
    return joined([(head, HARD, ")"), *clauses], HARD)


def _table(table: ast.CreateTable, docs: Docs) -> Doc:
    elements: list[Doc] = [docs.items(table.columns)]
    if table.primary_key:
        elements.append(("PRIMARY KEY ", docs.list(table.primary_key)))
    head = ("CREATE TABLE ", docs[table.name], " (", _lines(joined(elements, (",", HARD))))
    return joined([(head, HARD, ")"), *_with(table.options, docs)], HARD)


def _function(function: ast.CreateFunction, docs: Docs) -> Doc:
    name = docs[function.name]
    parameters = docs.list(function.parameters) if function.parameters else "()"
    target = f"RETURNS {function.returns} AS {string_text(function.target)}"
    return Group(("CREATE FUNCTION ", name, parameters, Indent((LINE, target))))


def _query(query: ast.CreateQuery, docs: Docs) -> Doc:
    body = joined([docs[query.query], *_policies(query.policies, docs)], HARD)
    if query.name is not None:
        sink = ("INTO ", docs[query.sink]) if query.sink else None
        return (words("CREATE QUERY", docs[query.name], sink, "AS"), Indent((HARD, body)))
    if query.sink is not None:
        return (("INSERT INTO ", docs[query.sink]), Indent((HARD, body)))
    return body


def _policies(policies: tuple[ast.Policy, ...], docs: Docs) -> list[Doc]:
    return [(docs.before(p), docs[p], docs.after(p)) for p in policies]


def _with(options: tuple[ast.Option, ...], docs: Docs) -> list[Doc]:
    return [bracketed("WITH (", docs.items(options), ")")] if options else []


def _key(key: str) -> str:
    return key if re.fullmatch(_PLAIN_KEY, key) else string_text(key)
