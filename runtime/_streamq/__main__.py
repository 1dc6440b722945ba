"""``python -m streamq``."""

from __future__ import annotations

import sys

from streamq.runtime.cli import main

if __name__ == "__main__":
    sys.exit(main())
