"""Options that are wrong, told in a line and not behind all that a command takes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from streamq.runtime.output import USAGE


class Parser(argparse.ArgumentParser):
    """A parser of a command; ends the process with exit code 2 where an argument is wrong."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """No argument is left over: the command that does not know it says so, not the one above."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._unknown(unknown))
        return found, unknown

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message}\n`{self.prog} --help` tells what can be given\n")

    def _unknown(self, words: list[str]) -> str:
        from streamq.dsl.diagnostics import did_you_mean

        option = next((word.partition("=")[0] for word in words if word.startswith("-")), None)
        if option is None:
            return f"unexpected argument {words[0]}"
        hint = did_you_mean(option, self._option_string_actions)
        return f"unknown option {option}{', ' if hint else ''}{hint}"
