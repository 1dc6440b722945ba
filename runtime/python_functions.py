"""The Python function that a CREATE FUNCTION names, imported from beside its program or from what is installed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from streamq.dsl.diagnostics import Abort, Diagnostic, did_you_mean
from streamq.dsl.source import Span
from streamq.runtime import permission

LONGEST = 300
"""Characters that are shown of what an error says."""

_folders: list[str] = []
"""The folder of the program that modules were imported for last, if any."""


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """A callable that finds its function by name where it runs, so that Spark's workers import it too.

    ``folder`` is the program's, whole: modules that lie beside the program can be named. It is empty where they were sent
    to the workers, which find them as they find all else.
    """

    module: str
    attribute: str
    folder: str

    @property
    def beside(self) -> bool:
        """Whether its module lies beside the program."""
        return any(file.is_file() for file in _files(self.module.partition(".")[0], self.folder))

    def load(self) -> Callable[..., Any]:
        """Imports the module and returns the function; raises whatever the module does, AttributeError, TypeError."""
        return _load(self.module, self.attribute, self.folder)

    def __call__(self, *arrays: Any) -> Any:
        return self.load()(*arrays)


@cache
def _load(module: str, attribute: str, folder: str) -> Callable[..., Any]:
    found = getattr(_module(module, folder), attribute)
    if not callable(found):
        raise TypeError(f"`{attribute}` is not callable")
    function: Callable[..., Any] = found
    return function


def _module(name: str, folder: str) -> Any:
    """The module as the program in that folder sees it: another program may have one of the same name.

    What is installed goes first, as all else may need it. ImportError where it hides a module beside the program.
    """
    if not folder:
        return importlib.import_module(name)
    for other in [f for f in _folders if f != folder]:
        _forget(other)
    if folder not in sys.path:
        sys.path.append(folder)
    if folder not in _folders:
        _folders.append(folder)
    found = importlib.import_module(name)
    top = name.partition(".")[0]
    if any(file.is_file() for file in _files(top, folder)) and not _is_beside(top, folder):
        raise ImportError(f"another module `{top}` is installed; give the one beside the program another name")
    return found


def _forget(folder: str) -> None:
    """Takes a program's folder out of the way of the next one's imports."""
    _folders.remove(folder)
    if folder in sys.path:
        sys.path.remove(folder)
    for name in [n for n in sys.modules if _is_beside(n.partition(".")[0], folder)]:
        del sys.modules[name]


def _is_beside(top: str, folder: str) -> bool:
    """Whether an imported module or package lies in the folder itself, and not somewhere below."""
    file = getattr(sys.modules.get(top), "__file__", None)
    return isinstance(file, str) and Path(file) in _files(top, folder)


def _files(top: str, folder: str) -> tuple[Path, Path]:
    return Path(folder, f"{top}.py"), Path(folder, top, "__init__.py")


def find_function(name: str, target: str, folder: str, origin: Span, *, ours: bool = False) -> NamedFunction:
    """The function of a target 'module:callable', imported; Abort with SQ0706 where it cannot be, with SQ0710 where none may be.

    ``ours``: the target is StreamQ's own, and no program said it.
    """
    if not (ours or permission.allowed()):
        raise Abort(permission.no_function(name, origin))
    module, _, attribute = target.partition(":")
    # Workers need not run in the folder that this process runs in.
    named = NamedFunction(module, attribute, str(Path(folder).resolve()))
    hint = "the target is 'module:callable'; modules beside the program are found"
    try:
        imported = _module(module, named.folder)
        if hasattr(imported, attribute):
            named.load()
            return named
        reason = f"module `{module}` has no `{attribute}`"
        hint = did_you_mean(attribute, dir(imported)) or hint
    except (Exception, SystemExit) as error:  # a user's module may raise anything when it is imported
        reason = said_by(error)
    raise Abort(
        Diagnostic(
            "SQ0706", f"function `{name}` cannot be loaded from '{target}'",
            origin, notes=(reason,), help=hint,
        )
    )


def said_by(error: BaseException) -> str:
    """What an error of the user's code says, fit for a terminal; its type where it says nothing."""
    try:
        text = str(error)
    except Exception:  # the error is the user's own class
        text = ""
    shown = "".join(c if c.isprintable() else " " for c in text).strip()
    name = type(error).__name__
    if not shown:
        return name
    return f"{name}: {shown[:LONGEST]}{'…' if len(shown) > LONGEST else ''}"
