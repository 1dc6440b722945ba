"""``python -m streamq``."""

from __future__ import annotations

from streamq.runtime.cli import entry

if __name__ == "__main__":
    entry()
