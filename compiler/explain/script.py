"""A Python program in the making: lines, and variables that do not clash."""

from __future__ import annotations

import json

from streamq.dsl.records import dataclass, field
from streamq.dsl.visible import escaped_python


def literal(text: str) -> str:
    """A Python string literal in double quotes; nothing in it can end the literal."""
    return escaped_python(json.dumps(text, ensure_ascii=False))


@dataclass
class Script:
    """Collects the body of one function."""

    lines: list[str] = field(default_factory=list)
    _counts: dict[str, int] = field(default_factory=dict)

    def add(self, line: str) -> None:
        self.lines.append(line)

    def variable(self, base: str) -> str:
        """A variable name that was not used yet."""
        n = self._counts[base] = self._counts.get(base, 0) + 1
        return f"{base}_{n}"

    def frame(self, code: str) -> str:
        """Assigns the code to a new frame variable and gives its name."""
        name = self.variable("frame")
        self.lines.append(f"{name} = {code}")
        return name
