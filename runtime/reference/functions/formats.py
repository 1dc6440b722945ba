"""Numbers and other values in formats: printf, ``#,##0.00``, and SQL's ``999.99``."""

from __future__ import annotations

import decimal
import math
import re
from datetime import datetime, time
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP
from functools import lru_cache
from typing import Any

from streamq.compiler.ir.expr import Call
from streamq.dsl.types import DATE, TIMESTAMP, Type, is_integer
from streamq.runtime.reference.functions.declare import Family, Function, Unsupported
from streamq.runtime.reference.functions.time_formats import write
from streamq.runtime.reference.numbers import BITS, MANY_DIGITS
from streamq.runtime.reference.texts import to_text

_f = Family()

_DIRECTIVE = re.compile(r"%(\d+\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


@_f.typed("FORMAT_STRING PRINTF")
def format_string(call: Call) -> Function:
    types = [a.type for a in call.args[1:]]

    def formatted(template: str | None, *values: object) -> str | None:
        if template is None:
            return None
        left = iter(range(len(values)))

        def filled(found: re.Match[str]) -> str:
            if found[5] in "n%":
                return "\n" if found[5] == "n" else "%"
            place = int(found[1][:-1]) - 1 if found[1] else next(left)
            return _directive(found, values[place], types[place])

        return _DIRECTIVE.sub(filled, template)

    return formatted


def _directive(found: re.Match[str], value: Any, t: Type) -> str:
    """One value as Java's Formatter writes it."""
    flags, digits, letter = found[2], found[4], found[5]
    kind = letter.lower()
    if kind == "b":
        text = "false" if value is None or value is False else "true"
    elif value is None or kind == "s":
        flags = flags.replace("0", "")
        text = "null" if value is None else to_text(value, t)
        text = text if digits is None else text[: int(digits)]
    elif kind == "d":
        text = format(value, "," if "," in flags else "")
    elif kind in "xo":
        bits = BITS[t] if is_integer(t) else 64
        text = format(value & ((1 << bits) - 1), kind)
    elif kind in "fe" and isinstance(value, float | decimal.Decimal):
        text = _real(value, int(digits or 6), kind, "," in flags)
    elif kind == "c":
        text = chr(value) if isinstance(value, int) else str(value)
    else:
        raise Unsupported(f"the format %{letter} of {t}")
    if kind in "dfe" and not text.startswith("-") and value is not None:
        text = ("+" if "+" in flags else " " if " " in flags else "") + text
    if kind in "dfe" and "(" in flags and text.startswith("-"):
        text = f"({text[1:]})"
    text = text.upper() if letter.isupper() else text
    width = int(found[3] or 0)
    if "0" in flags and kind in "dfexo":
        sign = text[:1] if text[:1] in "+- (" else ""
        return sign + text[len(sign) :].rjust(width - len(sign), "0")
    return text.ljust(width) if "-" in flags else text.rjust(width)


def _real(value: float | decimal.Decimal, digits: int, kind: str, groups: bool) -> str:
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    exact = decimal.Decimal(repr(value)) if isinstance(value, float) else value
    if kind == "e":
        return _scientific(exact, digits)
    rounded = exact.quantize(decimal.Decimal(1).scaleb(-digits), ROUND_HALF_UP, MANY_DIGITS)
    return format(rounded, ",f" if groups else "f")


def _scientific(value: decimal.Decimal, digits: int) -> str:
    exponent = value.adjusted() if value else 0
    last = decimal.Decimal(1).scaleb(exponent - digits)
    rounded = value.quantize(last, ROUND_HALF_UP, MANY_DIGITS)
    if rounded:
        exponent = rounded.adjusted()
    mantissa = rounded.scaleb(-exponent, MANY_DIGITS)
    return f"{mantissa:.{digits}f}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


@_f.plain("FORMAT_NUMBER")
def format_number(value: Any, form: int | str) -> str | None:
    """So many digits after the point, or in a pattern; halves go to the even neighbour, as in Java."""
    if isinstance(form, int):
        if form < 0:
            return None
        form = "#,###,###,###,###,###,##0" + ("." + "0" * form if form else "")
    pattern = form or "#,###,###,###,###,###,##0"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "∞" if value > 0 else "-∞"
    exact = decimal.Decimal(repr(value)) if isinstance(value, float) else decimal.Decimal(value)
    return _patterned(exact, *_pattern(pattern))


@lru_cache(maxsize=256)
def _pattern(text: str) -> tuple[str, str, int, int, int, int, int]:
    """Prefix, suffix, least whole digits, least and most fraction digits, group size, power of a percent."""
    body = re.search(r"[#0,.]+", text)
    if body is None or ";" in text or "E" in text or "'" in text:
        raise Unsupported(f"the number format {text}")
    whole, _, fraction = body[0].partition(".")
    group = len(whole) - whole.rindex(",") - 1 if "," in whole else 0
    suffix = text[body.end() :]
    prefix = text[: body.start()]
    power = 2 if "%" in prefix + suffix else 0
    zeros = whole.count("0"), fraction.count("0")
    # Java shows a digit before the point where the pattern asks for none at all.
    least = 1 if zeros == (0, 0) and "." in body[0] else zeros[0]
    return prefix, suffix, least, zeros[1], len(fraction), group, power


def _patterned(
    value: decimal.Decimal,
    prefix: str, suffix: str, least: int, zeros: int, most: int, group: int, power: int,
) -> str:
    scaled = value.scaleb(power, MANY_DIGITS)
    rounded = scaled.quantize(decimal.Decimal(1).scaleb(-most), ROUND_HALF_EVEN, MANY_DIGITS)
    whole, _, fraction = format(abs(rounded), "f").partition(".")
    fraction = fraction[:zeros] + fraction[zeros:].rstrip("0")
    digits = whole.lstrip("0").rjust(least, "0")
    if not digits and not fraction:
        digits = "0"
    if group:
        head = len(digits) % group
        parts = [digits[:head]] if head else []
        parts += [digits[i : i + group] for i in range(head, len(digits), group)]
        digits = ",".join(parts)
    sign = "-" if rounded.is_signed() else ""
    return f"{sign}{prefix}{digits}{'.' if fraction else ''}{fraction}{suffix}"


@_f.typed("TO_CHAR TO_VARCHAR")
def to_char(call: Call) -> Function:
    """A number in SQL's format, or a time in a pattern."""
    t = call.args[0].type
    if t == DATE:
        return lambda v, pattern: write(datetime.combine(v, time()), pattern)
    if t == TIMESTAMP:
        return write
    return _number_text


_SQL_FORMAT = re.compile(r"(S|MI)?(\$)?([09,G]*)(?:([.D])([09]*))?(\$)?(S|MI|PR)?", re.IGNORECASE)


@lru_cache(maxsize=256)
def _sql_format(text: str) -> re.Match[str]:
    found = _SQL_FORMAT.fullmatch(text)
    if found is None:
        raise Unsupported(f"the number format {text}")
    return found


def _number_text(value: Any, form: str) -> str:
    """Digits of the format that the number lacks are blanks (9) or zeros (0); too long a number is ``##``."""
    found = _sql_format(form)
    exact = decimal.Decimal(repr(value)) if isinstance(value, float) else decimal.Decimal(value)
    places = len(found[5] or "")
    cut = exact.quantize(decimal.Decimal(1).scaleb(-places), ROUND_HALF_UP, MANY_DIGITS)
    digits, _, fraction = format(abs(cut), "f").partition(".")
    digits = digits.lstrip("0")
    slots = found[3].upper().replace("G", ",")
    room = slots.replace(",", "")
    if not digits and room and found[4] and cut >= 0:
        digits = "0"
    if len(digits) > len(room):
        raise Unsupported("a number that is longer than its format")
    return _laid_out(found, slots, digits.rjust(len(room)), fraction, minus=cut < 0)


def _laid_out(found: re.Match[str], slots: str, digits: str, fraction: str, *, minus: bool) -> str:
    text, left, shown = "", iter(digits), False
    for slot in slots:
        if slot == ",":
            text += "," if shown else " "
            continue
        digit = next(left)
        shown = shown or digit != " " or slot == "0"
        text += "0" if shown and digit == " " else digit
    if found[4]:
        text += "." + fraction
    blanks = len(text) - len(text.lstrip(" "))
    head, body = text[:blanks], text[blanks:]
    if found[2]:
        body = "$" + body
    if found[1]:
        sign = "-" if minus else "+" if found[1].upper() == "S" else " "
        body = sign + body
    match (found[7] or "").upper():
        case "S":
            body += "-" if minus else "+"
        case "MI":
            body += "-" if minus else " "
        case "PR":
            body = f"<{body}>" if minus else body + "  "
    return head + body


@_f.plain("TO_NUMBER")
def to_number(text: str, form: str) -> decimal.Decimal | None:
    """The number that a text in SQL's format holds; NULL for another text."""
    found = _sql_format(form)
    groups = "".join("(?:,)?" if c in ",Gg" else r"\d" + ("" if c == "0" else "?") for c in found[3])
    point = rf"(?:\.\d{{0,{len(found[5] or '')}}})?" if found[4] else ""
    sign = "[+-]?" if (found[1] or found[7]) else ""
    read = re.fullmatch(
        rf"({sign if found[1] else ''}){re.escape('$') if found[2] else ''}({groups}{point})({sign if found[7] else ''})",
        text.strip(), re.ASCII,
    )
    if read is None or not re.search(r"\d", read[2]):
        return None
    value = decimal.Decimal(read[2].replace(",", ""))
    places = decimal.Decimal(1).scaleb(-len(found[5] or ""))
    value = value.quantize(places, context=MANY_DIGITS)
    return -value if "-" in read[1] + read[3] else value


MAKERS = _f.makers
