"""The process from which Spark forks its Python workers."""

from __future__ import annotations

import pytest

from streamq.runtime.spark.python_workers import without_farewell


def test_a_worker_that_spark_left_ends_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    def left(connection: object, authenticated: bool) -> int:
        raise BrokenPipeError(32, "Broken pipe")

    assert without_farewell(left)(None, True) == 1
    assert capfd.readouterr() == ("", "")


def test_other_failures_of_a_worker_are_not_hidden() -> None:
    def failing(connection: object, authenticated: bool) -> int:
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        without_farewell(failing)(None, True)


@pytest.mark.parametrize("code", [0, 1])
def test_what_a_worker_says_counts(code: int) -> None:
    assert without_farewell(lambda connection, authenticated: code if authenticated else 7)(None, True) == code
