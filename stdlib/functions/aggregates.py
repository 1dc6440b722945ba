"""Functions of many rows. NULL values are left out unless a line says otherwise."""

from __future__ import annotations

from streamq.stdlib.functions.declare import Category
from streamq.stdlib.registry import Merge

_c = Category("aggregates")

# --- counts, sums, extremes ----------------------------------------------------------------------

_c.aggregate(
    "COUNT",
    "",
    "BIGINT",
    "How many rows there are.",
    sql="count(*)",
    null_safe=True,
    merge=Merge.COUNT,
    scalable=True,
)
_c.aggregate(
    "COUNT",
    "any, any*",
    "BIGINT",
    "How many rows have no NULL among the values.",
    null_safe=True,
    merge=Merge.COUNT,
    scalable=True,
)
_c.aggregate(
    "COUNT_IF",
    "BOOLEAN",
    "BIGINT",
    "How many rows fulfil the condition.",
    null_safe=True,
    merge=Merge.COUNT,
    scalable=True,
)
_c.aggregate(
    "SUM",
    "T:num",
    "sum(T)",
    "The sum.",
    merge=Merge.SUM,
    scalable=True,
)
_c.aggregate("TRY_SUM", "T:num", "sum(T)", "The sum; NULL where it does not fit.", scalable=True)
_c.aggregate("AVG MEAN", "T:num", "avg(T)", "The mean.", merge=Merge.AVG, scalable=True)
_c.aggregate("MIN", "T:ord", "T", "The smallest value.", merge=Merge.MIN)
_c.aggregate("MAX", "T:ord", "T", "The largest value.", merge=Merge.MAX)
_c.aggregate("MIN_BY ARG_MIN", "T, ord", "T", "The first at the row where the second is smallest.")
_c.aggregate(
    "MIN_BY ARG_MIN",
    "T, ord, INT!",
    "ARRAY<T>",
    "The first at the n rows where the second is smallest, smallest first.",
)
_c.aggregate("MAX_BY ARG_MAX", "T, ord", "T", "The first at the row where the second is largest.")
_c.aggregate(
    "MAX_BY ARG_MAX",
    "T, ord, INT!",
    "ARRAY<T>",
    "The first at the n rows where the second is largest, largest first.",
)
_c.aggregate(
    "FIRST FIRST_VALUE",
    "T:ord",
    "T",
    "The value of the row with the earliest event time; of equal times the smallest value.",
    sql="min_by({0}, struct({ts}, {0}))",
    null_safe=True,
    event_time=True,
)
_c.aggregate(
    "LAST LAST_VALUE",
    "T:ord",
    "T",
    "The value of the row with the latest event time; of equal times the largest value.",
    sql="max_by({0}, struct({ts}, {0}))",
    null_safe=True,
    event_time=True,
)
_c.aggregate("ANY_VALUE", "T:ord", "T", "One of the values: the smallest.", sql="min({args})")
_c.aggregate(
    "MODE",
    "T:ord",
    "T",
    "The value that is seen most often, the least of equals.",
    sql="mode({0}, true)",
)

# --- conditions and bits -------------------------------------------------------------------------

_c.aggregate(
    "BOOL_AND EVERY",
    "BOOLEAN",
    "BOOLEAN",
    "Whether the condition holds everywhere.",
    merge=Merge.MIN,
)
_c.aggregate(
    "BOOL_OR SOME", "BOOLEAN", "BOOLEAN", "Whether the condition holds somewhere.", merge=Merge.MAX
)
_c.aggregate("BIT_AND", "T:int", "T", "The bits set in all values.")
_c.aggregate("BIT_OR", "T:int", "T", "The bits set in any value.")
_c.aggregate("BIT_XOR", "T:int", "T", "The bits set in an odd number of values.")

# --- spread and relation -------------------------------------------------------------------------

_c.aggregate("STDDEV_SAMP STDDEV STD", "DOUBLE", "DOUBLE", "The standard deviation of a sample.")
_c.aggregate("STDDEV_POP", "DOUBLE", "DOUBLE", "The standard deviation of a population.")
_c.aggregate("VAR_SAMP VARIANCE", "DOUBLE", "DOUBLE", "The variance of a sample.")
_c.aggregate("VAR_POP", "DOUBLE", "DOUBLE", "The variance of a population.")
_c.aggregate("SKEWNESS", "DOUBLE", "DOUBLE", "How far the values lean to one side.")
_c.aggregate(
    "KURTOSIS", "DOUBLE", "DOUBLE", "How heavy the tails are; 0 for a normal distribution."
)
_c.aggregate("COVAR_SAMP", "DOUBLE, DOUBLE", "DOUBLE", "The covariance of a sample.")
_c.aggregate("COVAR_POP", "DOUBLE, DOUBLE", "DOUBLE", "The covariance of a population.")
_c.aggregate("CORR", "DOUBLE, DOUBLE", "DOUBLE", "Pearson's correlation, -1 to 1.")
_c.aggregate("REGR_SLOPE", "DOUBLE, DOUBLE", "DOUBLE", "The slope of the line y (first) over x.")
_c.aggregate(
    "REGR_INTERCEPT", "DOUBLE, DOUBLE", "DOUBLE", "Where the line y (first) over x meets x = 0."
)
_c.aggregate("REGR_R2", "DOUBLE, DOUBLE", "DOUBLE", "How well the line fits, 0 to 1.")
_c.aggregate(
    "REGR_COUNT",
    "DOUBLE, DOUBLE",
    "BIGINT",
    "How many pairs have no NULL.",
    null_safe=True,
    merge=Merge.COUNT,
    scalable=True,
)
_c.aggregate("REGR_AVGX", "DOUBLE, DOUBLE", "DOUBLE", "The mean of x (second) over the pairs.")
_c.aggregate("REGR_AVGY", "DOUBLE, DOUBLE", "DOUBLE", "The mean of y (first) over the pairs.")
_c.aggregate(
    "REGR_SXX", "DOUBLE, DOUBLE", "DOUBLE", "The squares of x (second) about its mean, summed."
)
_c.aggregate(
    "REGR_SYY", "DOUBLE, DOUBLE", "DOUBLE", "The squares of y (first) about its mean, summed."
)
_c.aggregate(
    "REGR_SXY", "DOUBLE, DOUBLE", "DOUBLE", "The products of x and y about their means, summed."
)

# --- order statistics ----------------------------------------------------------------------------

_c.aggregate("MEDIAN", "DOUBLE", "DOUBLE", "The middle value; keeps every value it has seen.")
_c.aggregate(
    "PERCENTILE",
    "DOUBLE, DOUBLE!",
    "DOUBLE",
    "The value below which a share (0 to 1) lies; keeps every value it has seen.",
)
_c.aggregate(
    "PERCENTILE", "DOUBLE, ARRAY<DOUBLE>!", "ARRAY<DOUBLE>", "The same for several shares."
)
_c.aggregate(
    "APPROX_PERCENTILE PERCENTILE_APPROX",
    "T:num|temporal, DOUBLE!, INT!?",
    "T",
    "About the value below which a share (0 to 1) lies; the error is 1/accuracy (10000).",
)
_c.aggregate(
    "APPROX_PERCENTILE PERCENTILE_APPROX",
    "T:num|temporal, ARRAY<DOUBLE>!, INT!?",
    "ARRAY<T>",
    "The same for several shares.",
)
_c.aggregate(
    "HISTOGRAM_NUMERIC",
    "T:num, INT!",
    "ARRAY<STRUCT<x: T, y: DOUBLE>>",
    "About n bins of the values: centre and height.",
)

# --- distinct values -----------------------------------------------------------------------------

_c.aggregate(
    "APPROX_COUNT_DISTINCT",
    "key, DOUBLE!?",
    "BIGINT",
    "About how many different values; the error is 5 percent unless another is given.",
    null_safe=True,
)
_c.aggregate(
    "APPROX_TOP_K",
    "T:num|str|bool|temporal, INT!?, INT!?",
    "ARRAY<STRUCT<item: T, count: BIGINT>>",
    "About the k (5 unless said) most frequent values with their counts.",
)
_c.aggregate(
    "COLLECT_LIST ARRAY_AGG",
    "T",
    "ARRAY<T>",
    "All values, in no particular order.",
    null_safe=True,
    deterministic=False,
)
_c.aggregate(
    "COLLECT_SET",
    "T:key",
    "ARRAY<T>",
    "All different values, in no particular order.",
    null_safe=True,
    deterministic=False,
)
_c.aggregate(
    "LISTAGG STRING_AGG",
    "str, str!?",
    "STRING",
    "The texts one after another, in no particular order, with a separator.",
    deterministic=False,
)

# --- sketches: small summaries that can be kept and merged ---------------------------------------

_c.aggregate(
    "HLL_SKETCH_AGG",
    "INT|BIGINT|bytes, INT!?",
    "BINARY",
    "A HyperLogLog sketch of the different values.",
    null_safe=True,
)
_c.aggregate(
    "HLL_UNION_AGG",
    "BINARY, BOOLEAN!?",
    "BINARY",
    "One sketch out of HyperLogLog sketches.",
    null_safe=True,
)
_c.scalar("HLL_SKETCH_ESTIMATE", "BINARY", "BIGINT", "How many different values a sketch has seen.")
_c.aggregate(
    "KLL_SKETCH_AGG",
    "DOUBLE",
    "BINARY",
    "A KLL sketch of the values' order.",
    sql="kll_sketch_agg_double({args})",
)
_c.scalar(
    "KLL_SKETCH_QUANTILE",
    "BINARY, DOUBLE!",
    "DOUBLE",
    "About the value below which a share (0 to 1) of a KLL sketch lies.",
    sql="kll_sketch_get_quantile_double({args})",
)
_c.aggregate(
    "COUNT_MIN_SKETCH",
    "int|bytes, DOUBLE!, DOUBLE!, INT!",
    "BINARY",
    "A count-min sketch of the values: error, confidence, seed.",
    null_safe=True,
)

FUNCTIONS = _c.build()
