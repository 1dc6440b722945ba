"""``dataclass`` that makes classes in a fifth of the time.

A program that only checks a file imports more than two hundred of them, and the standard decorator
compiles six methods for each: that was three quarters of its start-up. Here only ``__init__`` is
compiled, when the first object is made; the others are shared. Everything else is the standard
decorator's work, so ``fields``, ``replace`` and ``match`` treat the classes as what they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter, ge, gt, le, lt
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:

    def replace(record, /, **changes):
        """The standard ``replace``, in half the time: every field here is one of ``__init__``."""
        for name in record.__dataclass_fields__:
            if name not in changes:
                changes[name] = getattr(record, name)
        return record.__class__(**changes)

    def dataclass(
        cls=None, /, *, frozen=False, slots=False, kw_only=False, order=False
    ):
        """The standard ``dataclass``, only quicker; takes only these arguments."""

        def make(plain: type) -> type:
            if hasattr(plain, "__post_init__"):
                return dataclasses.dataclass(
                    plain, frozen=frozen, slots=slots, kw_only=kw_only, order=order
                )
            # Without a docstring the standard decorator works out a signature for one.
            plain.__doc__ = plain.__doc__ or plain.__name__
            made = dataclasses.dataclass(
                plain, init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
            )
            made = _complete(made, frozen=frozen)
            return _order(made) if order else made

        return make if cls is None else make(cls)


def _complete(cls: Any, *, frozen: bool) -> Any:
    """Adds what the standard decorator was told to leave out."""
    fields = dataclasses.fields(cls)
    names = tuple(f.name for f in fields)
    shown = tuple(f.name for f in fields if f.repr)
    compared = tuple(f.name for f in fields if f.compare)
    values = _values_of(compared)

    def equals(self: object, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    def hashed(self: object) -> int:
        return hash(values(self))

    def shown_as(self: object) -> str:
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({inner})"

    def get_state(self: object) -> list[object]:
        return [getattr(self, name) for name in names]

    def set_state(self: object, state: list[object]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    cls.__init__ = _lazy_initializer(cls, fields)
    cls.__eq__, cls.__repr__ = equals, shown_as
    if not frozen:
        cls.__hash__ = None
        return cls
    cls.__hash__ = hashed
    cls.__setattr__, cls.__delattr__ = _no_assignment, _no_deletion
    if "__slots__" in cls.__dict__:
        cls.__getstate__, cls.__setstate__ = get_state, set_state
    return cls


def _order(cls: Any) -> Any:
    """Adds comparisons by the compared fields, in their order."""
    values = _values_of(tuple(f.name for f in dataclasses.fields(cls) if f.compare))

    def comparison(compare: Callable[[Any, Any], bool]) -> Any:
        def compared(self: object, other: object) -> Any:
            if other.__class__ is not self.__class__:
                return NotImplemented
            return compare(values(self), values(other))

        return compared

    cls.__lt__, cls.__le__ = comparison(lt), comparison(le)
    cls.__gt__, cls.__ge__ = comparison(gt), comparison(ge)
    return cls


def _values_of(names: tuple[str, ...]) -> Any:
    """A function that gives the values of these attributes, to compare and to hash."""
    return attrgetter(*names) if names else lambda _: ()


def _lazy_initializer(cls: Any, fields: tuple[dataclasses.Field[Any], ...]) -> Any:
    """An ``__init__`` that gives way to a compiled one at its first call: most classes never get there."""

    def __init__(self: object, *args: object, **named: object) -> None:  # noqa: N807
        compiled = _initializer(fields)
        compiled.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = compiled
        compiled(self, *args, **named)

    return __init__


def _initializer(fields: tuple[dataclasses.Field[Any], ...]) -> Any:
    """``__init__``: required fields, then those with defaults, then the keyword-only ones."""
    scope: dict[str, Any] = {"_set": object.__setattr__}
    plain = [_parameter(f, scope) for f in fields if not f.kw_only]
    named = [_parameter(f, scope) for f in fields if f.kw_only]
    body = [f"    _set(self, {f.name!r}, {_value(f)})\n" for f in fields] or ["    pass\n"]
    parameters = ", ".join(["self", *plain, *(["*", *named] if named else [])])
    exec(f"def __init__({parameters}):\n{''.join(body)}", scope)
    return scope["__init__"]


_MISSING = object()


def _parameter(field: dataclasses.Field[Any], scope: dict[str, Any]) -> str:
    if field.default is not dataclasses.MISSING:
        scope[f"_default_{field.name}"] = field.default
        return f"{field.name}=_default_{field.name}"
    if field.default_factory is not dataclasses.MISSING:
        scope[f"_make_{field.name}"] = field.default_factory
        scope["_missing"] = _MISSING
        return f"{field.name}=_missing"
    return field.name


def _value(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is dataclasses.MISSING:
        return field.name
    return f"_make_{field.name}() if {field.name} is _missing else {field.name}"


def _no_assignment(_self: object, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_deletion(_self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
