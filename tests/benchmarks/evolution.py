"""``python -m tests.benchmarks.evolution``: the verdict on each change of a program, and what a restart really did."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from streamq.runtime.spark.session import create_session
from tests.support.evolution import run_cases, table
from tests.support.evolution_cases import CASES


def main() -> int:
    chosen = [case for case in CASES if not sys.argv[1:] or any(word in case.change for word in sys.argv[1:])]
    session = create_session({}, app="streamq-evolution", fast_start=True)
    with tempfile.TemporaryDirectory(prefix="streamq-evolution-") as folder:
        outcomes = run_cases(session, chosen, Path(folder))
    print(table(outcomes))
    for outcome in outcomes:
        if not outcome.agrees:
            print(f"\n{outcome.case.change}: given {outcome.verdict.kind}, found {outcome.found}: {outcome.detail[:500]}")
            for reason in outcome.verdict.reasons:
                print(f"  {reason.verdict}: {reason.where}: {reason.what}")
    session.stop()
    return 0 if all(outcome.agrees for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
