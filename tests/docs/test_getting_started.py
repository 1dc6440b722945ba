"""``docs/getting-started.md``, ``docs/testing.md`` and ``docs/evolution.md`` are followed line by line; see ``following.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.following import follow
from tests.docs.pages import DOCS, read_page

PAGE = read_page(DOCS / "getting-started.md")


def _accept(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("accept", default=False))


def test_commands_without_spark(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    assert follow(PAGE, tmp_path, spark=False, accept=_accept(request)) >= 4


@pytest.mark.spark
@pytest.mark.slow
def test_every_command(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    assert follow(PAGE, tmp_path, spark=True, accept=_accept(request)) >= 7


def test_the_page_on_tests(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page = read_page(DOCS / "testing.md")
    assert follow(page, tmp_path, spark=False, accept=_accept(request)) == 3


@pytest.mark.spark
@pytest.mark.slow
def test_the_page_on_tests_with_spark(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page = read_page(DOCS / "testing.md")
    assert follow(page, tmp_path, spark=True, accept=_accept(request)) == 4


def test_the_page_on_deployment(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page = read_page(DOCS / "deployment.md")
    assert follow(page, tmp_path, spark=False, accept=_accept(request)) == 1


@pytest.mark.spark
@pytest.mark.slow
def test_the_page_on_programs_that_change(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page = read_page(DOCS / "evolution.md")
    assert follow(page, tmp_path, spark=True, accept=_accept(request)) == 5
