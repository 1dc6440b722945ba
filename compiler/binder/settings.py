"""``SET key = value``."""

from __future__ import annotations

from streamq.compiler.binder.context import BindContext
from streamq.compiler.ir.logical import OptionValue
from streamq.compiler.options import SETTINGS
from streamq.dsl import ast
from streamq.dsl.diagnostics import did_you_mean
from streamq.stdlib.options import IN_ADDRESS, Problem, read_value
from streamq.stdlib.secrets import has_password, holds_secret, reference

BANNED = (
    "spark.sql.ansi.enabled", "spark.sql.session.timeZone", "spark.sql.caseSensitive",
    "spark.sql.mapKeyDedupPolicy", "spark.sql.parser.escapedStringLiterals",
    "spark.sql.streaming.multipleWatermarkPolicy", "spark.sql.variable.substitute",
)
"""Spark settings on which the meaning of programs rests."""


def bind_setting(
    node: ast.SetOption, settings: dict[str, OptionValue], context: BindContext
) -> None:
    """Adds one setting; reports unknown keys and wrong values."""
    key = node.key
    if key.lower().startswith("spark."):
        if key.casefold() in (b.casefold() for b in BANNED):
            context.error(
                "SQ0703", f"`{key}` cannot be set, the meaning of programs rests on it", node.span
            )
            return
        if (problem := open_secret(key, node.value)) is not None:
            context.error(problem.code, problem.message, node.span, help=problem.help)
            return
        if any(key.casefold() == known.casefold() for known in settings):
            _twice(key, node, context)
        settings[key] = node.value
        return
    spec = SETTINGS.get(key.casefold())
    if spec is None:
        context.error(
            "SQ0701", f"unknown setting `{key}`", node.span,
            help=did_you_mean(key, SETTINGS) or "settings are " + ", ".join(SETTINGS)
            + ", and every key that begins with `spark.`",
        )
        return
    value = read_value(spec, node.value)
    if isinstance(value, Problem):
        context.error(value.code, value.message, node.span, help=value.help)
        return
    if spec.name in settings:
        _twice(spec.name, node, context)
    settings[spec.name] = value


def open_secret(key: str, value: OptionValue) -> Problem | None:
    """What is wrong with a setting of Spark that has a secret as its value, and not where to find it."""
    if isinstance(value, bool):
        return None
    if holds_secret(key) and reference(str(value)) is None:
        message = f"setting `{key}` holds a secret, and whoever reads the program would know it"
        return Problem("SQ0708", key, message, "write 'env:NAME' for a variable of the environment, or 'file:PATH'")
    if isinstance(value, str) and has_password(value):
        return Problem("SQ0708", key, f"the address in setting `{key}` has a password in it", IN_ADDRESS)
    return None


def _twice(key: str, node: ast.SetOption, context: BindContext) -> None:
    context.error("SQ0109", f"`{key}` is set twice", node.span, help="keep one of them")
