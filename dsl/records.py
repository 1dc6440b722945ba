"""``dataclass`` that makes classes in a tenth of the time, without importing the standard module.

A program that only checks a file makes more than two hundred of them. The standard decorator compiles six methods
for each, and its module imports a disassembler: that was three quarters of the start-up. Here only ``__init__`` is
compiled, when the first object is made; the other methods are shared, and what the standard functions look for
(``fields``, ``replace``, ``is_dataclass``) is made when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter, ge, gt, le, lt
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "replace"]

_MISSING: Any = object()


class _Field:
    """One field; ``default`` and ``factory`` are ``_MISSING`` where there is none."""

    __slots__ = ("compare", "default", "factory", "kw_only", "name", "repr", "type")

    def __init__(self, default: Any, factory: Any, compare: bool, shown: bool) -> None:
        self.default, self.factory = default, factory
        self.compare, self.repr = compare, shown
        self.name, self.type, self.kw_only = "", "", False


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:

    def field(*, default=_MISSING, default_factory=_MISSING, compare=True, repr=True):
        """The standard ``field``; takes only these arguments."""
        return _Field(default, default_factory, compare, repr)

    def replace(record, /, **changes):
        """The standard ``replace``, in half the time: every field here is one of ``__init__``."""
        for name in record.__record_fields__:
            if name not in changes:
                changes[name] = getattr(record, name)
        return record.__class__(**changes)

    def dataclass(cls=None, /, *, frozen=False, slots=False, kw_only=False, order=False):
        """The standard ``dataclass``, only quicker; takes only these arguments."""

        def make(plain: type) -> type:
            own = _own_fields(plain, kw_only)
            fields = {}
            for base in plain.__mro__[:0:-1]:
                fields.update(base.__dict__.get("__record_fields__", ()))
            fields.update(own)
            _check_order(plain, fields)
            made = _slotted(plain, own) if slots else plain
            _complete(made, fields, frozen=frozen)
            if order:
                _order(made, fields)
            return made

        return make if cls is None else make(cls)


def _own_fields(cls: type, kw_only: bool) -> dict[str, _Field]:
    """The fields that the body of the class names; its attributes become the defaults, as in the standard."""
    found: dict[str, _Field] = {}
    # ``inspect`` would take longer than all of this.
    for name, kind in cls.__dict__.get("__annotations__", {}).items():  # noqa: RUF063
        if str(kind).startswith(("ClassVar", "typing.ClassVar")):
            continue
        made = cls.__dict__.get(name, _MISSING)
        if type(made).__module__ == "dataclasses":
            raise TypeError(
                f"{cls.__qualname__}.{name} is a field of the standard module: take ours"
            )
        if type(made).__hash__ is None:
            raise ValueError(f"{cls.__qualname__}.{name} would be shared by all: give a default_factory")
        if not isinstance(made, _Field):
            made = _Field(made, _MISSING, compare=True, shown=True)
        elif made.default is _MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, made.default)
        made.name, made.type, made.kw_only = name, kind, kw_only
        found[name] = made
    return found


def _check_order(cls: type, fields: dict[str, _Field]) -> None:
    """Fields without a default cannot come after one that has one."""
    last = ""
    for f in fields.values():
        if f.kw_only:
            continue
        if f.default is not _MISSING or f.factory is not _MISSING:
            last = f.name
        elif last:
            raise TypeError(f"{cls.__qualname__}.{f.name} has no default and comes after {last}, which has one")


def _slotted(cls: type, own: dict[str, _Field]) -> type:
    """The same class with slots: those have to be there when a class is made."""
    body = dict(cls.__dict__)
    inherited = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
    body["__slots__"] = tuple(name for name in own if name not in inherited)
    for name in (*own, "__dict__", "__weakref__"):
        body.pop(name, None)
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


def _complete(cls: Any, fields: dict[str, _Field], *, frozen: bool) -> None:
    """Adds the methods."""
    names = tuple(fields)
    shown = tuple(f.name for f in fields.values() if f.repr)
    values = _compared(fields)

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

    cls.__record_fields__ = fields
    cls.__dataclass_fields__ = _StandardFields(cls, fields)
    made: dict[str, Any] = {
        "__match_args__": tuple(f.name for f in fields.values() if not f.kw_only),
        "__init__": _lazy_initializer(cls, fields), "__eq__": equals, "__repr__": shown_as,
        "__hash__": hashed if frozen else None,
    }
    if frozen:
        made |= {"__setattr__": _no_assignment, "__delattr__": _no_deletion}
        if any("__slots__" in base.__dict__ for base in cls.__mro__[:-1]):
            made |= {"__getstate__": get_state, "__setstate__": set_state}
    own = cls.__dict__
    for name, value in made.items():
        # What the class has of its own stays, as in the standard.
        if name not in own or own[name] is None:
            type.__setattr__(cls, name, value)


def _order(cls: Any, fields: dict[str, _Field]) -> None:
    """Adds comparisons by the compared fields, in their order."""
    values = _compared(fields)

    def comparison(compare: Callable[[Any, Any], bool]) -> Any:
        def compared(self: object, other: object) -> Any:
            if other.__class__ is not self.__class__:
                return NotImplemented
            return compare(values(self), values(other))

        return compared

    cls.__lt__, cls.__le__ = comparison(lt), comparison(le)
    cls.__gt__, cls.__ge__ = comparison(gt), comparison(ge)


def _compared(fields: dict[str, _Field]) -> Any:
    """A function that gives the values of the compared fields, to compare and to hash."""
    names = tuple(f.name for f in fields.values() if f.compare)
    return attrgetter(*names) if names else lambda _: ()


class _StandardFields:
    """The fields as the standard module describes them, made when it asks the class for them."""

    def __init__(self, cls: type, fields: dict[str, _Field]) -> None:
        self.cls, self.fields = cls, fields

    def __get__(self, record: object, owner: type) -> dict[str, Any]:
        import dataclasses

        made = {}
        for f in self.fields.values():
            described: Any = dataclasses.field(compare=f.compare, repr=f.repr, kw_only=f.kw_only)
            if f.default is not _MISSING:
                described.default = f.default
            if f.factory is not _MISSING:
                described.default_factory = f.factory
            made[f.name] = (f.name, f.type, described)
        like = dataclasses.make_dataclass(
            self.cls.__name__, made.values(), init=False, repr=False, eq=False
        )
        standard: dict[str, Any] = vars(like)["__dataclass_fields__"]
        type.__setattr__(self.cls, "__dataclass_fields__", standard)
        return standard


def _lazy_initializer(cls: Any, fields: dict[str, _Field]) -> Any:
    """An ``__init__`` that gives way to a compiled one at its first call: most classes never get there."""

    def __init__(self: object, *args: object, **named: object) -> None:  # noqa: N807
        compiled = _initializer(tuple(fields.values()), hasattr(cls, "__post_init__"))
        compiled.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = compiled
        compiled(self, *args, **named)

    return __init__


def _initializer(fields: tuple[_Field, ...], checks: bool) -> Any:
    """``__init__``: the fields in their order, then the keyword-only ones."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_missing": _MISSING}
    plain = [_parameter(f, scope) for f in fields if not f.kw_only]
    named = [_parameter(f, scope) for f in fields if f.kw_only]
    body = [f"    _set(self, {f.name!r}, {_value(f)})\n" for f in fields]
    body.append("    self.__post_init__()\n" if checks else "    pass\n")
    parameters = ", ".join(["self", *plain, *(["*", *named] if named else [])])
    exec(f"def __init__({parameters}):\n{''.join(body)}", scope)
    return scope["__init__"]


def _parameter(field: _Field, scope: dict[str, Any]) -> str:
    if field.default is not _MISSING:
        scope[f"_default_{field.name}"] = field.default
        return f"{field.name}=_default_{field.name}"
    if field.factory is not _MISSING:
        scope[f"_make_{field.name}"] = field.factory
        return f"{field.name}=_missing"
    return field.name


def _value(field: _Field) -> str:
    if field.factory is _MISSING:
        return field.name
    return f"_make_{field.name}() if {field.name} is _missing else {field.name}"


def _no_assignment(_self: object, name: str, _value: object) -> None:
    raise _frozen(f"cannot assign to field {name!r}")


def _no_deletion(_self: object, name: str) -> None:
    raise _frozen(f"cannot delete field {name!r}")


def _frozen(text: str) -> AttributeError:
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError(text)
