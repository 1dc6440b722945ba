"""The 24 queries of NEXMark, each answered three times over the same events.

By a program of its own in SQL on DuckDB (``answers/``), by the reference evaluator, and on Spark. Run from
the root of the repository, or with ``make nexmark``::

    python -m examples.nexmark.suite [--events 20000] [--only q5,q7] [--no-spark]
"""
