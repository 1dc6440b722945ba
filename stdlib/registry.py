"""How the language's offers are declared: functions, aggregates, connectors. Data, no behaviour.

Function signatures are written in a small notation of their own, which ``notation.py`` reads: a
parameter is a type name, a class (``num``, ``int``, ``str``, ``temporal``, ``any``, ``ord``, …) or
a variable (``T``, ``K``, ``V``); a trailing ``!`` asks for a constant, ``?`` marks it optional,
``*`` repeated. The result is a type, a variable, both together (``ARRAY<T>``), or a rule
(``sum(T)``).
"""

from __future__ import annotations

from enum import Enum

from streamq.dsl.records import dataclass, field


class Kind(Enum):
    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    QUALITY = "quality"
    """Quality of a result: ``COMPLETENESS()``, ``KEPT()``, … on a result."""
    SKETCH = "sketch"
    """An estimate from a summary of the rows, which the binder makes of an aggregate and what reads it."""


class Merge(Enum):
    """How partial aggregates combine when an aggregate is computed in two steps."""

    NONE = "none"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    AVG = "avg"
    COUNT = "count"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSpec:
    """One function of the language.

    ``params``: one parameter notation per argument. ``result``: the result notation.
    ``sql``: a template over ``{0}``, ``{1}``, … or ``{args}`` that says it in Spark SQL; empty
    means ``name({args})``. ``null_safe``: True where a NULL argument does not make the result NULL.
    ``scalable``: an aggregate that ``RECOVER ESTIMATE`` can scale by 1/keep-probability.
    ``event_time``: the template also uses ``{ts}``, the stream's event-time column.
    ``overloads``: further signatures of the same name, tried in order after this one.
    """

    name: str
    kind: Kind = Kind.SCALAR
    params: tuple[str, ...] = ()
    result: str = "STRING"
    sql: str = ""
    null_safe: bool = False
    merge: Merge = Merge.NONE
    scalable: bool = False
    event_time: bool = False
    deterministic: bool = True
    doc: str = ""
    category: str = ""
    overloads: tuple[FunctionSpec, ...] = ()


class OptionType(Enum):
    STRING = "string"
    INT = "integer"
    FLOAT = "number"
    BOOL = "true or false"
    PATH = "path"
    """Relative paths are resolved against the program's folder."""
    DURATION = "length of time"
    CHOICE = "choice"


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionSpec:
    """One key of a ``WITH (…)`` list. ``least``/``most`` bound numbers, ``choices`` a CHOICE."""

    name: str
    type: OptionType = OptionType.STRING
    required: bool = False
    default: str | int | float | bool | None = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    secret: bool = False
    doc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorSpec:
    """A source or sink by the name that ``connector = '…'`` gives.

    ``roles``: any of ``stream``, ``table``, ``sink``. ``modes`` (sinks): the outputs it accepts,
    ``append`` (a stream) and ``update`` (changes of a relation). ``guarantee`` is what the sink promises
    across a restart, in the words that ``explain`` prints, ``update_guarantee`` of changes of a relation where that is
    another. ``columns``: the fixed schema of a generator, by
    value of its ``table`` option, as (name, SQL type) pairs; empty where the user declares the schema freely.
    """

    name: str
    roles: tuple[str, ...]
    options: tuple[OptionSpec, ...] = ()
    modes: tuple[str, ...] = ("append",)
    guarantee: str = ""
    update_guarantee: str = ""
    columns: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    doc: str = ""

    def option(self, name: str) -> OptionSpec | None:
        fold = name.casefold()
        return next((o for o in self.options if o.name.casefold() == fold), None)

    def promise(self, mode: str) -> str:
        """What the sink promises for outputs of a mode."""
        return self.update_guarantee if mode == "update" and self.update_guarantee else self.guarantee
