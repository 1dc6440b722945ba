"""StreamQ: continuous queries that say what they are worth, on Spark Structured Streaming.

>>> import streamq
>>> result = streamq.compile_program("SELECT 1")
>>> [d.code for d in result.diagnostics]
['SQ0408']

Names are imported when they are first used, so that a part of the package does not pay for the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamq.compiler.driver import CompileResult, compile_program
    from streamq.compiler.explain import render as explain
    from streamq.compiler.options import CompileOptions
    from streamq.dsl.diagnostics import CompileFailed, Diagnostic
    from streamq.runtime.metrics import RunReport
    from streamq.runtime.run import RunOptions
    from streamq.runtime.spark.runner import run_plan as run

_HOMES = {
    "CompileFailed": ("streamq.dsl.diagnostics", "CompileFailed"),
    "CompileOptions": ("streamq.compiler.options", "CompileOptions"),
    "CompileResult": ("streamq.compiler.driver", "CompileResult"),
    "Diagnostic": ("streamq.dsl.diagnostics", "Diagnostic"),
    "RunOptions": ("streamq.runtime.run", "RunOptions"),
    "RunReport": ("streamq.runtime.metrics", "RunReport"),
    "compile_program": ("streamq.compiler.driver", "compile_program"),
    "explain": ("streamq.compiler.explain", "render"),
    "run": ("streamq.runtime.spark.runner", "run_plan"),
}

__all__ = [
    "CompileFailed",
    "CompileOptions",
    "CompileResult",
    "Diagnostic",
    "RunOptions",
    "RunReport",
    "__version__",
    "compile_program",
    "explain",
    "run",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("streamq")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'streamq' has no attribute {name!r}")
    return getattr(import_module(home[0]), home[1])
