"""The shorthand in which the functions are declared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from streamq.dsl.records import replace
from streamq.stdlib.registry import FunctionSpec, Kind, Merge


class Category:
    """Collects the declarations of one category; declaring a name again adds an overload to it.

    ``names``: the name and its aliases, separated by spaces; aliases call the first one.
    ``params``: the notation of ``stdlib/notation.py``, parameters separated by a comma and a
    space; inside ``<…>`` no space follows a comma.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._found: dict[str, list[FunctionSpec]] = {}

    def scalar(
        self,
        names: str,
        params: str,
        result: str,
        doc: str,
        *,
        sql: str = "",
        null_safe: bool = False,
        deterministic: bool = True,
    ) -> None:
        """Declares a function of one row."""
        self._add(
            names,
            sql,
            partial(
                FunctionSpec,
                params=_split(params),
                result=result,
                null_safe=null_safe,
                deterministic=deterministic,
                doc=doc,
                category=self.name,
            ),
        )

    def aggregate(
        self,
        names: str,
        params: str,
        result: str,
        doc: str,
        *,
        sql: str = "",
        null_safe: bool = False,
        merge: Merge = Merge.NONE,
        scalable: bool = False,
        event_time: bool = False,
        deterministic: bool = True,
    ) -> None:
        """Declares a function of many rows; ``deterministic`` False: the rows' order shows."""
        self._add(
            names,
            sql,
            partial(
                FunctionSpec,
                kind=Kind.AGGREGATE,
                params=_split(params),
                result=result,
                null_safe=null_safe,
                merge=merge,
                scalable=scalable,
                event_time=event_time,
                deterministic=deterministic,
                doc=doc,
                category=self.name,
            ),
        )

    def quality(self, name: str, result: str, doc: str) -> None:
        """Declares a measure of a result's quality; the compiler puts its columns in its place."""
        make = partial(
            FunctionSpec,
            kind=Kind.QUALITY,
            result=result,
            null_safe=True,
            doc=doc,
            category=self.name,
        )
        self._add(name, "", make)

    def sketch(self, name: str, params: str, result: str, doc: str) -> None:
        """Declares an estimate from a summary of the rows; ``sketch_parts.py`` has what it is made of."""
        make = partial(
            FunctionSpec,
            kind=Kind.SKETCH,
            params=_split(params),
            result=result,
            null_safe=True,
            doc=doc,
            category=self.name,
        )
        self._add(name, "", make)

    def build(self) -> dict[str, FunctionSpec]:
        """Name to declaration, in the order of declaration."""
        return {
            name: replace(first, overloads=tuple(more)) if more else first
            for name, (first, *more) in self._found.items()
        }

    def _add(self, names: str, sql: str, make: Callable[..., FunctionSpec]) -> None:
        first, *aliases = names.split()
        template = sql or f"{first.lower()}({{args}})"
        for name in (first, *aliases):
            self._found.setdefault(name, []).append(make(name=name, sql=template))


def _split(params: str) -> tuple[str, ...]:
    return tuple(params.split(", ")) if params else ()
