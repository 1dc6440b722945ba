"""The process from which Spark forks its Python workers: it imports what they need once, before them.

Spark 4.3 gives a stateful operator in pandas its rows one by one through Python, at ten times the price of all else.
Here the operators of ``stateful.py`` get the Arrow batches as Spark sends them, cut where the bucket changes. All
other functions run as they always do.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

BatchFunction = Callable[[int, Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]
"""From the number of a partition and its batches to the batches of the result."""

ONE_HEAP = {"PYTHONMALLOC": "malloc", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Python's own allocator and Arrow's hold a block of a MiB for the one object in it that lives on; glibc's heap a page."""


def main() -> None:
    """Stands in for ``pyspark.daemon``, as the setting ``spark.python.daemon.module`` allows."""
    if trim_of_the_heap() is not None and not ONE_HEAP.keys() <= os.environ.keys():
        for name, value in ONE_HEAP.items():
            os.environ.setdefault(name, value)
        # Python chooses its allocator when it starts.
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    # Threads would not live on in the workers, so nothing is imported here that starts any.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import numpy  # noqa: F401
    import pyspark.worker
    from pyspark.daemon import manager

    import streamq.runtime.spark.stateful
    import streamq.runtime.spark.window_join  # noqa: F401

    pass_batches(pyspark.worker)
    give_back(pyspark.worker)
    # Spark collects garbage after each task: of what is imported there is none, and pages that nobody touches stay shared.
    gc.freeze()
    manager()


def pass_batches(worker: Any) -> None:
    """Makes the module ``pyspark.worker`` run this package's stateful operators over Arrow batches."""
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer
    from pyspark.util import PythonEvalType

    from streamq.runtime.spark.stateful import TimelineProcessor
    from streamq.runtime.spark.window_join import WindowJoinProcessor

    read_others = worker.read_udfs

    def read_udfs(pickler: Any, infos: Any, eval_type: int, conf: Any, eval_conf: Any) -> Any:
        if eval_type == PythonEvalType.SQL_TRANSFORM_WITH_STATE_PANDAS_UDF:
            function, _ = worker.read_command(pickler, infos[0].udfs[0])
            if type(function.__self__._stateful_processor) in (TimelineProcessor, WindowJoinProcessor):
                streams = ArrowStreamSerializer(write_start_stream=True)
                return over_batches(function, eval_conf), None, streams, streams
        return read_others(pickler, infos, eval_type, conf, eval_conf)

    worker.read_udfs = read_udfs


def trim_of_the_heap() -> Callable[[int], int] | None:
    """The function of glibc that gives free pages back to the system; None elsewhere."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def give_back(worker: Any) -> None:
    """Makes a worker give the memory of a task back to the system when that is done.

    Workers live as long as the query. The heap of glibc keeps what was freed between blocks that are in use, so a worker
    that has large arrays in each task holds a little more each time.
    """
    trim = trim_of_the_heap()
    if trim is None:
        return
    run, began = worker.main, False

    def main(infile: Any, outfile: Any) -> None:
        nonlocal began
        run(infile, outfile)
        outfile.flush()  # Nobody waits for what follows.
        if not began:
            began = True
            gc.collect()
            gc.freeze()  # What the first task imported stays, too.
        trim(0)

    worker.main = main


def over_batches(function: Callable[..., Any], eval_conf: Any) -> BatchFunction:
    """What a worker runs for a partition: each bucket with its rows, then those whose time has come."""
    from pyspark.sql.conversion import ArrowBatchTransformer
    from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorApiClient
    from pyspark.sql.streaming.stateful_processor_util import (
        TransformWithStateInPandasFuncMode as Mode,
    )

    from streamq.runtime.spark.stateful import BUCKET

    client = StatefulProcessorApiClient(
        eval_conf.state_server_socket_port, eval_conf.grouping_key_schema
    )

    def results(partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        del partition
        for bucket, pieces in groupby(by_bucket(batches, BUCKET), key=lambda pair: pair[0]):
            rows = (piece for _, piece in pieces)
            yield from function(client, Mode.PROCESS_DATA, (bucket,), rows)
        yield from function(client, Mode.PROCESS_TIMER, None, iter(()))
        yield from function(client, Mode.COMPLETE, None, iter(()))

    return lambda partition, batches: map(
        ArrowBatchTransformer.wrap_struct, results(partition, batches)
    )


def by_bucket(
    batches: Iterator[pa.RecordBatch], column: str
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Each bucket with its rows, piece by piece; the rows of a bucket follow each other."""
    import numpy as np

    for batch in batches:
        buckets = batch.column(column).to_numpy()
        bounds = [0, *(np.flatnonzero(buckets[1:] != buckets[:-1]) + 1).tolist(), len(buckets)]
        for start, stop in pairwise(bounds):
            if stop > start:
                yield int(buckets[start]), batch.slice(start, stop - start)


if __name__ == "__main__":
    main()
