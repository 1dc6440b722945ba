"""Functions of arrays, maps and structs."""

from __future__ import annotations

from streamq.stdlib.functions.declare import Category

_c = Category("collections")

# --- making --------------------------------------------------------------------------------------

_c.scalar("ARRAY", "T*", "ARRAY<T>", "An array of the values.", null_safe=True)
_c.scalar(
    "MAP",
    "K:ord*, V*",
    "MAP<K,V>",
    "A map of keys and values in turn; a NULL key fails the run, the last of equal keys wins.",
    null_safe=True,
)
_c.scalar(
    "STRUCT",
    "any, any*",
    "struct()",
    "A struct of the values, its fields named as the columns.",
    sql="named_struct({named})",
    null_safe=True,
)
_c.scalar(
    "NAMED_STRUCT",
    "str!, any, str!*, any*",
    "named_struct()",
    "A struct of names and values in turn.",
    null_safe=True,
)
_c.scalar(
    "ARRAY_REPEAT", "T, INT", "ARRAY<T>", "An array of the value so many times.", null_safe=True
)
_c.scalar("SEQUENCE", "T:int, T:int", "ARRAY<T>", "All whole numbers from the first to the second.")
_c.scalar(
    "SEQUENCE",
    "T:int, T:int, T:int",
    "ARRAY<T>",
    "Whole numbers from the first to the second in steps; NULL where the step leads nowhere.",
    sql="if(({2}) > 0 AND ({0}) <= ({1}) OR ({2}) < 0 AND ({0}) >= ({1}), sequence({args}), NULL)",
)
_c.scalar("SEQUENCE", "DATE, DATE", "ARRAY<DATE>", "All days from the first to the second.")

# --- arrays --------------------------------------------------------------------------------------

_c.scalar(
    "SIZE CARDINALITY",
    "array|map",
    "INT",
    "How many elements there are.",
    sql="nullif(size({0}), -1)",
)
_c.scalar("ARRAY_SIZE", "array", "INT", "How many elements there are.")
_c.scalar("GET", "ARRAY<T>, INT", "T", "The element at a place, 0 is the first; NULL outside.")
_c.scalar(
    "ELEMENT_AT",
    "ARRAY<T>, INT",
    "T",
    "The element at a place, 1 is the first, -1 the last; NULL outside.",
    sql="element_at({0}, nullif({1}, 0))",
)
_c.scalar("ELEMENT_AT", "MAP<K,V>, K", "V", "The value of a key, or NULL.")
_c.scalar("ARRAY_CONTAINS", "ARRAY<T>, T:ord", "BOOLEAN", "Whether the value is an element.")
_c.scalar("ARRAY_POSITION", "ARRAY<T>, T:ord", "BIGINT", "The place (from 1) of the value, or 0.")
_c.scalar(
    "ARRAY_APPEND", "ARRAY<T>, T", "ARRAY<T>", "The array with a value at its end.", null_safe=True
)
_c.scalar(
    "ARRAY_PREPEND",
    "ARRAY<T>, T",
    "ARRAY<T>",
    "The array with a value at its start.",
    null_safe=True,
)
_c.scalar(
    "ARRAY_INSERT",
    "ARRAY<T>, INT, T",
    "ARRAY<T>",
    "The array with a value put in at a place (from 1; negative from the end).",
    sql="array_insert({0}, nullif({1}, 0), {2})",
    null_safe=True,
)
_c.scalar("ARRAY_REMOVE", "ARRAY<T>, T:ord", "ARRAY<T>", "The array without the value.")
_c.scalar("ARRAY_COMPACT", "ARRAY<T>", "ARRAY<T>", "The array without its NULLs.")
_c.scalar("ARRAY_DISTINCT", "ARRAY<T:ord>", "ARRAY<T>", "The array with each value once.")
_c.scalar("ARRAY_UNION", "ARRAY<T:ord>, ARRAY<T:ord>", "ARRAY<T>", "The values of either, once.")
_c.scalar("ARRAY_INTERSECT", "ARRAY<T:ord>, ARRAY<T:ord>", "ARRAY<T>", "The values of both, once.")
_c.scalar(
    "ARRAY_EXCEPT", "ARRAY<T:ord>, ARRAY<T:ord>", "ARRAY<T>", "The values of the first only, once."
)
_c.scalar("ARRAYS_OVERLAP", "ARRAY<T:ord>, ARRAY<T:ord>", "BOOLEAN", "Whether a value is in both.")
_c.scalar(
    "OVERLAP",
    "ARRAY<T:ord>, ARRAY<T:ord>",
    "INT",
    "How many different values are in both, NULLs left out.",
    sql="array_size(array_compact(array_intersect({args})))",
)
_c.scalar(
    "CONTAINS_ALL",
    "ARRAY<T:ord>, ARRAY<T:ord>",
    "BOOLEAN",
    "Whether every value of the second is in the first, NULLs left out; `a @> b` means it.",
    sql="(array_size(array_compact(array_except({1}, {0}))) = 0)",
)
_c.scalar("ARRAY_MAX", "ARRAY<T:ord>", "T", "The largest element.")
_c.scalar("ARRAY_MIN", "ARRAY<T:ord>", "T", "The smallest element.")
_c.scalar("ARRAY_SORT", "ARRAY<T:ord>", "ARRAY<T>", "The elements in order, NULLs last.")
_c.scalar(
    "SORT_ARRAY",
    "ARRAY<T:ord>, BOOLEAN!?",
    "ARRAY<T>",
    "The elements in order, NULLs first; FALSE turns the order round.",
)
_c.scalar(
    "SLICE",
    "ARRAY<T>, INT, INT",
    "ARRAY<T>",
    "So many elements from a place (from 1; negative from the end).",
    sql="slice({0}, nullif({1}, 0), if(({2}) < 0, NULL, {2}))",
)
_c.scalar("FLATTEN", "ARRAY<ARRAY<T>>", "ARRAY<T>", "One array with the elements of all.")
_c.scalar(
    "ARRAY_JOIN",
    "ARRAY<STRING>, str, str?",
    "STRING",
    "The texts with a delimiter between them; NULLs left out or replaced.",
)
_c.scalar("ARRAYS_ZIP", "array, array*", "zip()", "An array of structs of the n-th elements.")

# --- maps ----------------------------------------------------------------------------------------

_c.scalar("MAP_KEYS", "MAP<K,V>", "ARRAY<K>", "The keys.")
_c.scalar("MAP_VALUES", "MAP<K,V>", "ARRAY<V>", "The values.")
_c.scalar("MAP_ENTRIES", "MAP<K,V>", "ARRAY<STRUCT<key: K, value: V>>", "Keys with their values.")
_c.scalar("MAP_CONTAINS_KEY", "MAP<K,V>, K", "BOOLEAN", "Whether the key is there.")
_c.scalar(
    "MAP_CONCAT", "MAP<K,V>, MAP<K,V>*", "MAP<K,V>", "One map of all; the last of equal keys wins."
)
_c.scalar(
    "MAP_FROM_ARRAYS", "ARRAY<K:ord>, ARRAY<V>", "MAP<K,V>", "A map of keys and as many values."
)
_c.scalar(
    "INNER_PRODUCT",
    "MAP<K:ord,num>, MAP<K:ord,num>",
    "DOUBLE",
    "The sum, over the keys of both, of the two numbers' products; NULL numbers add nothing.",
    sql=(
        "aggregate(map_values(map_zip_with({0}, {1}, (k, a, b) -> CAST(a AS DOUBLE) * CAST(b AS DOUBLE))),"
        " 0D, (total, product) -> total + coalesce(product, 0D))"
    ),
)
_c.scalar(
    "STR_TO_MAP",
    "str, str?, str?",
    "MAP<STRING,STRING>",
    "A map of a text 'a:1,b:2'; the regular expressions between pairs, and in them, may be given.",
)

FUNCTIONS = _c.build()
