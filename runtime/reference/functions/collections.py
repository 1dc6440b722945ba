"""Functions of arrays (tuples), maps (tuples of pairs) and structs (tuples of fields)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from streamq.compiler.ir.expr import Call
from streamq.dsl.types import DATE, DOUBLE, Array, Map, Type
from streamq.runtime.reference.casts import Convert, converter
from streamq.runtime.reference.facts import sort_key
from streamq.runtime.reference.functions.declare import Family, Function
from streamq.runtime.reference.operators import equality

_f = Family()

Values = tuple[Any, ...]
Pairs = tuple[tuple[Any, Any], ...]

_f.plain("ARRAY STRUCT")(lambda *values: values)
_f.plain("NAMED_STRUCT")(lambda *items: items[1::2])
_f.plain("ARRAY_REPEAT")(lambda v, n: None if n is None else (v,) * n)
_f.plain("SIZE CARDINALITY ARRAY_SIZE")(len)
_f.plain("GET")(lambda array, i: array[i] if 0 <= i < len(array) else None)
_f.plain("ARRAY_APPEND")(lambda array, v: None if array is None else (*array, v))
_f.plain("ARRAY_PREPEND")(lambda array, v: None if array is None else (v, *array))
_f.plain("ARRAY_COMPACT")(lambda array: tuple(v for v in array if v is not None))
_f.plain("ARRAY_MAX")(lambda array: max(_known(array), key=sort_key, default=None))
_f.plain("ARRAY_MIN")(lambda array: min(_known(array), key=sort_key, default=None))
_f.plain("OVERLAP")(lambda a, b: len(_set(a) & _set(b)))
_f.plain("CONTAINS_ALL")(lambda a, b: _set(b) <= _set(a))
_f.plain("FLATTEN")(lambda arrays: None if None in arrays else sum(arrays, ()))
_f.plain("ARRAYS_ZIP")(lambda *arrays: _zipped(arrays))
_f.plain("MAP_KEYS")(lambda pairs: tuple(k for k, _ in pairs))
_f.plain("MAP_VALUES")(lambda pairs: tuple(v for _, v in pairs))
_f.plain("MAP_ENTRIES")(lambda pairs: pairs)


def _known(array: Values) -> list[Any]:
    return [v for v in array if v is not None]


def _set(array: Values) -> set[object]:
    """What is known in the array, by what two equal values have in common."""
    return {sort_key(v) for v in _known(array)}


def _zipped(arrays: tuple[Values, ...]) -> Values:
    """Shorter arrays are filled up with NULL."""
    longest = max(map(len, arrays))
    return tuple(zip(*(a + (None,) * (longest - len(a)) for a in arrays), strict=True))


def make_map(pairs: Iterable[tuple[Any, Any]], key_type: Type) -> Pairs:
    """The last of equal keys wins, at the place of the first. ValueError for a NULL key."""
    key = equality(key_type)
    places: dict[object, int] = {}
    found: list[tuple[Any, Any]] = []
    for k, v in pairs:
        if k is None:
            raise ValueError("a map has no NULL key")
        place = places.setdefault(key(k), len(found))
        if place == len(found):
            found.append((k, v))
        else:
            found[place] = (found[place][0], v)
    return tuple(found)


def _key_type(call: Call) -> Type:
    assert isinstance(call.type, Map)
    return call.type.key


@_f.typed("MAP")
def map_(call: Call) -> Function:
    key = _key_type(call)
    return lambda *items: make_map(zip(items[::2], items[1::2], strict=True), key)


@_f.typed("MAP_CONCAT")
def map_concat(call: Call) -> Function:
    key = _key_type(call)
    return lambda *maps: make_map((pair for pairs in maps for pair in pairs), key)


@_f.typed("MAP_FROM_ARRAYS")
def map_from_arrays(call: Call) -> Function:
    key = _key_type(call)
    return lambda keys, values: make_map(zip(keys, values, strict=True), key)


@_f.typed("MAP_CONTAINS_KEY")
def map_contains_key(call: Call) -> Function:
    key = equality(call.args[1].type)
    return lambda pairs, wanted: any(key(k) == key(wanted) for k, _ in pairs)


@_f.typed("INNER_PRODUCT")
def inner_product(call: Call) -> Function:
    """The sum of floats depends on their order, which is that of the first map, and on nothing else."""
    (key, of_first), (_, of_second) = (_weighed(arg.type) for arg in call.args)

    def product(first: Pairs, second: Pairs) -> float:
        found = {key(k): of_second(v) for k, v in second if v is not None}
        total = 0.0  # The built-in sum() would be more exact than Spark.
        for k, v in first:
            if v is not None and key(k) in found:
                total += of_first(v) * found[key(k)]
        return total

    return product


def _weighed(t: Type) -> tuple[Callable[[object], object], Convert]:
    """What equal keys of a map have in common, and its numbers as doubles."""
    assert isinstance(t, Map)
    return equality(t.key), converter(t.value, DOUBLE)


@_f.typed("SEQUENCE")
def sequence(call: Call) -> Function:
    if call.args[0].type == DATE:
        return _days
    return _steps


def _days(first: Any, last: Any) -> Values:
    step = 1 if last >= first else -1
    return tuple(first + timedelta(days=n) for n in range(0, (last - first).days + step, step))


def _steps(first: int, last: int, step: int | None = None) -> Values | None:
    by = step if step is not None else (1 if last >= first else -1)
    if by == 0 or (last > first and by < 0) or (last < first and by > 0):
        return None
    return tuple(range(first, last + (1 if by > 0 else -1), by))


@_f.typed("ELEMENT_AT")
def element_at(call: Call) -> Function:
    container = call.args[0].type
    if isinstance(container, Map):
        key = equality(container.key)
        return lambda pairs, k: next((v for other, v in pairs if key(other) == key(k)), None)
    return _element_at


def _element_at(array: Values, place: int) -> Any:
    index = place - 1 if place > 0 else len(array) + place
    return array[index] if place and 0 <= index < len(array) else None


def _element_key(call: Call) -> Callable[[object], object]:
    array = call.args[0].type
    assert isinstance(array, Array)
    return equality(array.element)


@_f.typed("ARRAY_CONTAINS")
def array_contains(call: Call) -> Function:
    """NULL where the value is not found but might be a NULL."""
    key = _element_key(call)

    def contains(array: Values, value: Any) -> bool | None:
        if any(v is not None and key(v) == key(value) for v in array):
            return True
        return None if None in array else False

    return contains


@_f.typed("ARRAY_POSITION")
def array_position(call: Call) -> Function:
    key = _element_key(call)
    return lambda array, value: next(
        (i for i, v in enumerate(array, 1) if v is not None and key(v) == key(value)), 0
    )


@_f.plain("ARRAY_INSERT")
def array_insert(array: Values | None, place: int | None, value: Any) -> Values | None:
    """Places beyond the ends are filled up with NULL."""
    if array is None or not place:
        return None
    if place > 0:
        filled = array + (None,) * (place - 1 - len(array))
        return (*filled[: place - 1], value, *filled[place - 1 :])
    filled = (None,) * (-place - 1 - len(array)) + array
    cut = len(filled) + place + 1
    return (*filled[:cut], value, *filled[cut:])


@_f.typed("ARRAY_REMOVE")
def array_remove(call: Call) -> Function:
    key = _element_key(call)
    return lambda array, value: tuple(v for v in array if v is None or key(v) != key(value))


def _distinct(values: Iterable[Any], key: Callable[[object], object]) -> Values:
    """Each value once, at the place where it is first; a NULL is a value, too."""
    found: dict[object, Any] = {}
    for v in values:
        found.setdefault((v is None, None if v is None else key(v)), v)
    return tuple(found.values())


@_f.typed("ARRAY_DISTINCT")
def array_distinct(call: Call) -> Function:
    key = _element_key(call)
    return lambda array: _distinct(array, key)


@_f.typed("ARRAY_UNION")
def array_union(call: Call) -> Function:
    key = _element_key(call)
    return lambda a, b: _distinct(a + b, key)


@_f.typed("ARRAY_INTERSECT")
def array_intersect(call: Call) -> Function:
    return _filtered(call, keep=True)


@_f.typed("ARRAY_EXCEPT")
def array_except(call: Call) -> Function:
    return _filtered(call, keep=False)


def _filtered(call: Call, *, keep: bool) -> Function:
    """Values of the first that are, or are not, in the second."""

    def filtered(a: Values, b: Values) -> Values:
        others = {sort_key(v) for v in b}
        return _distinct((v for v in a if (sort_key(v) in others) is keep), key)

    key = _element_key(call)
    return filtered


@_f.plain("ARRAYS_OVERLAP")
def arrays_overlap(a: Values, b: Values) -> bool | None:
    if _set(a) & _set(b):
        return True
    return None if a and b and (None in a or None in b) else False


@_f.plain("ARRAY_SORT")
def array_sort(array: Values) -> Values:
    known = sorted(_known(array), key=sort_key)
    return (*known, *(None,) * (len(array) - len(known)))


@_f.plain("SORT_ARRAY")
def sort_array(array: Values, ascending: bool = True) -> Values:
    return tuple(sorted(array, key=sort_key, reverse=not ascending))


@_f.plain("SLICE")
def slice_(array: Values, place: int, length: int) -> Values | None:
    if place == 0 or length < 0:
        return None
    start = place - 1 if place > 0 else len(array) + place
    return array[start : start + length] if start >= 0 else ()


@_f.plain("ARRAY_JOIN")
def array_join(array: Values, delimiter: str, null: str | None = None) -> str:
    texts = array if null is None else (null if v is None else v for v in array)
    return delimiter.join(v for v in texts if v is not None)


MAKERS = _f.makers
