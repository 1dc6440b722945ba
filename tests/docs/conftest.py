"""The option ``--accept`` of ``pytest tests/docs``: writes generated parts of the documentation anew."""

from __future__ import annotations

import contextlib

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    # Other folders may offer the same option; it is then theirs, and means the same.
    with contextlib.suppress(ValueError):
        parser.addoption(
            "--accept", action="store_true", default=False, help="write recorded outputs anew"
        )
