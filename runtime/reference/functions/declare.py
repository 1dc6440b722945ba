"""How the functions of one family are put into a table by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from streamq.compiler.ir.expr import Call

Function = Callable[..., object]
"""From values to a value. It sees NULL only where the declaration says ``null_safe``."""

Maker = Callable[[Call], Function]
"""Gives the function of a call, which tells it the types of its arguments and its result."""


Plain = TypeVar("Plain", bound=Function)


class Unsupported(Exception):
    """A function, by its name, that the reference evaluator does not compute."""


class Family:
    """The functions of one family: ``plain`` ones, and ``typed`` ones that need the call's types."""

    def __init__(self) -> None:
        self.makers: dict[str, Maker] = {}

    def plain(self, names: str) -> Callable[[Plain], Plain]:
        """Enters a function under its names, separated by blanks."""

        def enter(function: Plain) -> Plain:
            self.makers.update(dict.fromkeys(names.split(), lambda _: function))
            return function

        return enter

    def typed(self, names: str) -> Callable[[Maker], Maker]:
        """Enters what makes a function out of a call."""

        def enter(maker: Maker) -> Maker:
            self.makers.update(dict.fromkeys(names.split(), maker))
            return maker

        return enter
