"""CREATE FUNCTION: Python functions over Arrow arrays, imported by the name that the plan gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from streamq.compiler.ir.physical import FunctionSource
from streamq.runtime.python_functions import NamedFunction, find_function
from streamq.runtime.spark.cluster import send_modules


def register_functions(
    spark: SparkSession, functions: tuple[FunctionSource, ...], folder: str, *, ours: bool = False
) -> None:
    """Makes each function callable from SQL text under its name; Abort with SQ0706 where it cannot.

    A function gets one pyarrow.Array per parameter and returns one of the same length. ``ours``: the compiler chose them, not a
    program, so nobody has to allow them.
    """
    for source in functions:
        named = find_function(source.name, source.target, folder, source.origin, ours=ours)
        if named.beside and send_modules(spark.sparkContext, Path(named.folder)):
            named = replace(named, folder="")
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
