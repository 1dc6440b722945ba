"""CREATE FUNCTION: Python functions over Arrow arrays, imported by the name that the plan gives."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from streamq.compiler.ir.physical import FunctionSource
from streamq.dsl.diagnostics import Abort, Diagnostic, did_you_mean


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """A callable that finds its function by name where it runs, so that workers import it too.

    ``folder`` is the program's: modules that lie beside the program can be named.
    """

    module: str
    attribute: str
    folder: str

    def load(self) -> Callable[..., Any]:
        """Imports the module and returns the function; ImportError, AttributeError, TypeError."""
        if self.folder and self.folder not in sys.path:
            sys.path.append(self.folder)
        found = getattr(importlib.import_module(self.module), self.attribute)
        if not callable(found):
            raise TypeError(f"`{self.attribute}` is not callable")
        function: Callable[..., Any] = found
        return function

    def __call__(self, *arrays: Any) -> Any:
        return self.load()(*arrays)


def register_functions(
    spark: SparkSession, functions: tuple[FunctionSource, ...], folder: str
) -> None:
    """Makes each function callable from SQL text under its name; Abort with SQ0706 where it cannot.

    A function gets one pyarrow.Array per parameter and returns one of the same length.
    """
    for source in functions:
        module, _, attribute = source.target.partition(":")
        named = NamedFunction(module, attribute, folder)
        _try_import(source, named)
        with warnings.catch_warnings():
            # Spark asks for type hints where the kind of function is given instead.
            warnings.simplefilter("ignore", UserWarning)
            udf = arrow_udf(_call(named), source.return_type, ArrowUDFType.SCALAR)
        spark.udf.register(source.name, udf)


def _call(named: NamedFunction) -> Callable[..., Any]:
    """A plain function around the named one: Spark asks for ``__name__`` and a signature."""

    def call(*arrays: Any) -> Any:
        return named(*arrays)

    call.__name__ = named.attribute
    return call


def _try_import(source: FunctionSource, named: NamedFunction) -> None:
    hint = "the target is 'module:callable'; modules beside the program are found"
    try:
        named.load()
    except AttributeError:
        reason = f"module `{named.module}` has no `{named.attribute}`"
        module = sys.modules.get(named.module)
        hint = did_you_mean(named.attribute, dir(module)) or hint
    except Exception as error:  # a user's module may raise anything when it is imported
        reason = str(error) or type(error).__name__
    else:
        return
    raise Abort(
        Diagnostic(
            "SQ0706", f"function `{source.name}` cannot be loaded from '{source.target}'",
            source.origin, notes=(reason,), help=hint,
        )
    )
