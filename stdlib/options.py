"""Reads the options of a ``WITH (…)`` list by their declaration: values, defaults, problems."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from streamq.dsl.diagnostics import InternalError, did_you_mean
from streamq.dsl.records import dataclass
from streamq.dsl.words import UNITS
from streamq.stdlib.registry import ConnectorSpec, OptionSpec, OptionType
from streamq.stdlib.secrets import has_password, reference

OptionValue = str | int | float | bool

IN_ADDRESS = "leave it out there, and give it where a secret has a place: an option or a setting with 'env:NAME' or 'file:PATH'"
"""The way out for a password in an address."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with an option or a column, for a diagnostic of ``code`` at ``key``.

    ``key`` is the option as the user spelled it, or the column; empty where something is missing.
    """

    code: str
    key: str
    message: str
    help: str = ""


def read_options(
    spec: ConnectorSpec, given: Mapping[str, OptionValue]
) -> tuple[dict[str, OptionValue], list[Problem]]:
    """The options by their declared names, defaults filled in, and all that is wrong with them.

    Keys match in any case, with or without ``_`` and ``-``. Lengths of time come out in
    milliseconds. ``connector`` itself is left out. An option without a value or default is absent.
    """
    found: dict[str, OptionValue] = {}
    problems: list[Problem] = []
    known = {fold_key(o.name): o for o in spec.options}
    tried: set[str] = set()
    for key, value in given.items():
        option = known.get(fold_key(key))
        if fold_key(key) == "connector":
            continue
        if option is None:
            names = [o.name for o in spec.options]
            help = did_you_mean(key, names) or _listed(f"options of {spec.name}", names)
            message = f"unknown option `{key}` of connector `{spec.name}`"
            problems.append(Problem("SQ0701", key, message, help))
        elif option.name in tried:
            help = "keep one of them"
            problems.append(Problem("SQ0703", key, f"option `{option.name}` is given twice", help))
        else:
            tried.add(option.name)
            if option.secret and reference(str(value)) is None:
                problems.append(_open_secret(option, key))
                continue
            if isinstance(value, str) and has_password(value):
                problems.append(Problem("SQ0708", key, f"the address in option `{option.name}` has a password in it", IN_ADDRESS))
                continue
            read = read_value(option, value)
            if isinstance(read, Problem):
                problems.append(Problem(read.code, key, read.message, read.help))
            else:
                found[option.name] = read
    for option in spec.options:
        if option.name in tried:
            continue
        if option.required:
            message = f"connector `{spec.name}` needs the option `{option.name}`"
            problems.append(
                Problem("SQ0702", "", message, f"add {option.name} = {_example(option)}")
            )
        elif option.default is not None:
            found[option.name] = option.default
    return {o.name: found[o.name] for o in spec.options if o.name in found}, problems


def _open_secret(option: OptionSpec, key: str) -> Problem:
    message = f"option `{option.name}` holds a secret, and whoever reads the program would know it"
    return Problem("SQ0708", key, message, f"write {option.name} = 'env:{option.name.upper()}' for a variable of the environment, or 'file:{option.name}.txt'")


def read_value(option: OptionSpec, value: OptionValue) -> OptionValue | Problem:
    """The value in the option's type (a number may stand in quotes), or what is wrong with it."""
    read: OptionValue | None
    match option.type:
        case OptionType.STRING:
            read = str(value)
        case OptionType.PATH:
            read = value if isinstance(value, str) and value.strip() else None
        case OptionType.BOOL:
            read = {"true": True, "false": False}.get(str(value).strip().casefold())
        case OptionType.INT | OptionType.FLOAT:
            read = _number(option, value)
        case OptionType.DURATION:
            read = _milliseconds(value)
        case OptionType.CHOICE:
            fold = str(value).strip().casefold()
            read = next((c for c in option.choices if c.casefold() == fold), None)
        case _:
            raise InternalError(f"no reader for options of type {option.type}")
    if read is None:
        message = f"option `{option.name}` must be {_wanted(option)}, not {_shown(value)}"
        help = did_you_mean(str(value), option.choices) if option.choices else ""
        return Problem("SQ0703", option.name, message, help or _example_help(option))
    if isinstance(read, int | float) and not isinstance(read, bool):
        return _within(option, read)
    return read


def _within(option: OptionSpec, value: int | float) -> int | float | Problem:
    unit = " ms" if option.type is OptionType.DURATION else ""
    if option.least is not None and value < option.least:
        limit = f"at least {option.least:g}{unit}"
    elif option.most is not None and value > option.most:
        limit = f"at most {option.most:g}{unit}"
    else:
        return value
    message = f"option `{option.name}` must be {limit}, not {value:g}{unit}"
    return Problem("SQ0703", option.name, message, _example_help(option))


def _number(option: OptionSpec, value: OptionValue) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.match(text):
            return None
        value = int(text) if text.lstrip("+-").isdigit() and len(text) <= 30 else float(text)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if option.type is OptionType.FLOAT:
        return float(value) if abs(value) < 1e300 else None
    return int(value) if int(value) == value else None


def _milliseconds(value: OptionValue) -> int | None:
    """``'10 seconds'``, ``'1 day 2 hours'``, ``'10s'``; a bare number is seconds."""
    if isinstance(value, bool):
        return None
    text = str(value).strip()
    if re.match(r"interval\b", text, re.IGNORECASE):
        text = text[len("interval") :].replace("'", " ").strip()
    total, at = 0.0, 0
    while at < len(text) or not at:
        part = _LENGTH.match(text, at)
        unit = (part[2].upper() or "SECONDS") if part else ""
        if part is None or unit not in UNITS:
            return None
        total += float(part[1]) * UNITS[unit]
        at = part.end()
    return round(total) if total < 1e15 else None


_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\Z")
_LENGTH = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]*)\s*")


def _wanted(option: OptionSpec) -> str:
    match option.type:
        case OptionType.INT:
            return "a whole number"
        case OptionType.FLOAT:
            return "a number"
        case OptionType.DURATION:
            return "a length of time"
        case OptionType.CHOICE:
            return _either([f"'{c}'" for c in option.choices])
        case OptionType.BOOL:
            return "true or false"
        case _:
            return "a path in quotes"


def _example(option: OptionSpec) -> str:
    match option.type:
        case OptionType.CHOICE:
            return _either([f"'{c}'" for c in option.choices])
        case OptionType.PATH:
            return "'data/in'"
        case OptionType.DURATION:
            return "'10 seconds'"
        case OptionType.BOOL:
            return "true"
        case OptionType.INT | OptionType.FLOAT:
            least = 1 if option.least is None else option.least
            return f"{option.default if option.default is not None else least}"
        case _:
            return f"'{option.default if option.default is not None else '…'}'"


def _example_help(option: OptionSpec) -> str:
    return f"write {option.name} = {_example(option)}"


def _shown(value: OptionValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    text = text if len(text) <= 40 else text[:39] + "…"
    return f"'{text}'" if isinstance(value, str) else text


def _either(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"


def _listed(title: str, names: list[str]) -> str:
    return f"{title}: {', '.join(names)}" if names else f"there are no {title}"


def fold_key(key: str) -> str:
    """An option's key without case, ``_`` and ``-``: ``maxFiles`` is ``max_files``."""
    return key.casefold().replace("_", "").replace("-", "")


def utc_moment(text: str) -> str | None:
    """A time in UTC as ``yyyy-MM-dd HH:mm:ss[.ffffff]``; without a zone it is UTC already. None for anything else."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat(sep=" ")
