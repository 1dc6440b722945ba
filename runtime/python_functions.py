"""The Python function that a CREATE FUNCTION names, imported from beside its program or from what is installed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamq.dsl.diagnostics import Abort, Diagnostic, did_you_mean
from streamq.dsl.source import Span


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """A callable that finds its function by name where it runs, so that Spark's workers import it too.

    ``folder`` is the program's, whole: modules that lie beside the program can be named.
    """

    module: str
    attribute: str
    folder: str

    def load(self) -> Callable[..., Any]:
        """Imports the module and returns the function; ImportError, AttributeError, TypeError."""
        if self.folder not in sys.path:
            sys.path.append(self.folder)
        found = getattr(importlib.import_module(self.module), self.attribute)
        if not callable(found):
            raise TypeError(f"`{self.attribute}` is not callable")
        function: Callable[..., Any] = found
        return function

    def __call__(self, *arrays: Any) -> Any:
        return self.load()(*arrays)


def find_function(name: str, target: str, folder: str, origin: Span) -> NamedFunction:
    """The function of a target 'module:callable', which can be imported; Abort with SQ0706 where it cannot."""
    module, _, attribute = target.partition(":")
    # Workers need not run in the folder that this process runs in.
    named = NamedFunction(module, attribute, str(Path(folder).resolve()))
    hint = "the target is 'module:callable'; modules beside the program are found"
    try:
        named.load()
    except AttributeError:
        reason = f"module `{module}` has no `{attribute}`"
        hint = did_you_mean(attribute, dir(sys.modules.get(module))) or hint
    except Exception as error:  # a user's module may raise anything when it is imported
        reason = str(error) or type(error).__name__
    else:
        return named
    raise Abort(
        Diagnostic(
            "SQ0706", f"function `{name}` cannot be loaded from '{target}'",
            origin, notes=(reason,), help=hint,
        )
    )
