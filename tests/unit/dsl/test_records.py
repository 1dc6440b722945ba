"""The quick ``dataclass`` gives classes that behave as the standard ones do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field
from functools import cached_property
from typing import Any, ClassVar

import pytest

from streamq.dsl import records


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StandardBase:
    """A base."""

    place: int = field(default=0, compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Standard(StandardBase):
    name: str
    items: tuple[int, ...] = ()
    made: tuple[int, ...] = field(default_factory=lambda: (1, 2))


@records.dataclass(frozen=True, slots=True, kw_only=True)
class QuickBase:
    """A base."""

    place: int = records.field(default=0, compare=False, repr=False)


@records.dataclass(frozen=True, slots=True)
class Quick(QuickBase):
    name: str
    items: tuple[int, ...] = ()
    made: tuple[int, ...] = records.field(default_factory=lambda: (1, 2))


@records.dataclass(frozen=True, slots=True)
class Nothing:
    pass


@records.dataclass(frozen=True)
class Open:
    """Without slots, as the operators are."""

    n: int

    @cached_property
    def doubled(self) -> int:
        return self.n * 2


BOTH = pytest.mark.parametrize("cls", [Standard, Quick])


@BOTH
def test_construction(cls: Any) -> None:
    made = cls("a", (3,), place=7)
    assert (made.name, made.items, made.made, made.place) == ("a", (3,), (1, 2), 7)
    assert cls("a") == cls(name="a", items=())
    for wrong in ((), ("a", (), (), 1)):
        with pytest.raises(TypeError):
            cls(*wrong)
    with pytest.raises(TypeError):
        cls("a", nothing=1)


@BOTH
def test_equality_and_hash(cls: Any) -> None:
    assert cls("a", place=1) == cls("a", place=2)
    assert hash(cls("a", place=1)) == hash(cls("a", place=2))
    assert cls("a") != cls("b")
    assert cls("a") != ("a", ())
    assert len({cls("a"), cls("a"), cls("b")}) == 2


@BOTH
def test_frozen(cls: Any) -> None:
    made = cls("a")
    with pytest.raises(FrozenInstanceError):
        made.name = "b"
    with pytest.raises(FrozenInstanceError):
        del made.name
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        made.other = 1


@BOTH
def test_the_tools_of_dataclasses(cls: Any) -> None:
    made = cls("a", (3,), place=7)
    assert dataclasses.replace(made, name="b") == cls("b", (3,))
    assert dataclasses.replace(made, name="b").place == 7
    assert [f.name for f in dataclasses.fields(made)] == ["place", "name", "items", "made"]
    assert cls.__match_args__ == ("name", "items", "made")
    assert copy.deepcopy(made) == made
    assert pickle.loads(pickle.dumps(made)).place == 7
    match made:
        case cls(name, (item,)):
            assert (name, item) == ("a", 3)
        case _:
            pytest.fail("no match")


def test_repr_is_the_standard_one() -> None:
    assert repr(Quick("a")) == repr(Standard("a")).replace("Standard", "Quick")


def test_classes_of_equal_values_differ() -> None:
    assert Quick("a") != Standard("a")
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())
    assert repr(Nothing()) == "Nothing()"


def test_without_slots() -> None:
    made = Open(3)
    assert (made.doubled, made.doubled) == (6, 6)
    assert made == Open(3)
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(FrozenInstanceError):
        made.n = 4  # type: ignore[misc]


@pytest.mark.parametrize("module", [dataclasses, records])
def test_order(module: Any) -> None:
    @module.dataclass(frozen=True, order=True)
    class Place:
        file: str
        start: int
        note: str = module.field(default="", compare=False)

    low, high = Place("a", 2, "z"), Place("a", 3, "a")
    assert low < high
    assert low <= high
    assert high > low
    assert high >= low
    assert low <= Place("a", 2)
    assert sorted([high, low, Place("A", 9)])[0].file == "A"
    with pytest.raises(TypeError):
        _ = low < ("a", 3)


def test_what_is_not_frozen_and_what_checks_itself() -> None:
    @records.dataclass
    class Loose:
        n: int = 1

    loose = Loose()
    loose.n = 2
    assert loose == Loose(2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(loose)

    @records.dataclass(frozen=True)
    class Checked:
        n: int

        def __post_init__(self) -> None:
            if self.n < 0:
                raise ValueError("negative")

    with pytest.raises(ValueError, match="negative"):
        Checked(-1)


def test_constants_of_a_class_are_no_fields() -> None:
    @records.dataclass(frozen=True, slots=True)
    class Limited:
        most: ClassVar[int] = 3
        n: int = 1

    assert [f.name for f in dataclasses.fields(Limited)] == ["n"]
    assert (Limited.most, Limited()) == (3, Limited(1))


def test_a_field_of_the_standard_module_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Wrong\.n is a field of the standard module"):

        @records.dataclass
        class Wrong:
            n: int = field(default=1)


def test_what_a_class_has_of_its_own_stays() -> None:
    @records.dataclass(frozen=True, slots=True)
    class Own:
        n: int

        def __repr__(self) -> str:
            return "own"

        def __hash__(self) -> int:
            return 7

    assert (repr(Own(1)), hash(Own(1)), Own(1) == Own(1)) == ("own", 7, True)


@records.dataclass(frozen=True)
class Wider(Quick):
    """Without slots, over a class that has them."""

    more: int = 0


def test_a_class_without_slots_over_one_with_slots_is_copied_whole() -> None:
    made = Wider("a", (3,), more=5, place=7)
    for copied in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert copied == made
        assert (copied.more, copied.place) == (5, 7)


@pytest.mark.parametrize("module", [dataclasses, records])
def test_what_cannot_be_a_class(module: Any) -> None:
    with pytest.raises(ValueError, match="default_factory"):

        @module.dataclass
        class Shared:
            items: list[int] = []  # noqa: RUF012

    with pytest.raises(TypeError, match="default"):

        @module.dataclass
        class Disordered:
            a: int = 1
            b: int
