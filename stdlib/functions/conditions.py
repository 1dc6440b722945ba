"""Functions that choose between values and look at NULL."""

from __future__ import annotations

from streamq.stdlib.functions.declare import Category

_c = Category("conditions")

_c.scalar(
    "IF IIF",
    "BOOLEAN, T, T",
    "T",
    "The second where the first holds, else the third.",
    null_safe=True,
)
_c.scalar("COALESCE", "T, T*", "T", "The first that is not NULL.", null_safe=True)
_c.scalar("IFNULL NVL", "T, T", "T", "The first, or the second where it is NULL.", null_safe=True)
_c.scalar(
    "NVL2",
    "any, T, T",
    "T",
    "The second where the first is not NULL, else the third.",
    null_safe=True,
)
_c.scalar(
    "NULLIF", "T:ord, T:ord", "T", "The first, but NULL where both are equal.", null_safe=True
)
_c.scalar("NULLIFZERO", "T:num", "T", "The number, but NULL where it is 0.")
_c.scalar(
    "ZEROIFNULL",
    "T:num",
    "T",
    "The number, 0 where it is NULL.",
    sql="coalesce({0}, CAST(0 AS {type}))",
    null_safe=True,
)
_c.scalar(
    "GREATEST", "T:ord, T:ord, T:ord*", "T", "The largest; NULLs are left out.", null_safe=True
)
_c.scalar("LEAST", "T:ord, T:ord, T:ord*", "T", "The smallest; NULLs are left out.", null_safe=True)
_c.scalar("ISNULL", "any", "BOOLEAN", "Whether the value is NULL.", null_safe=True)
_c.scalar("ISNOTNULL", "any", "BOOLEAN", "Whether the value is not NULL.", null_safe=True)
_c.scalar(
    "EQUAL_NULL",
    "T:ord, T:ord",
    "BOOLEAN",
    "Whether both are equal, two NULLs included; never NULL.",
    null_safe=True,
)
_c.scalar("ISNAN", "DOUBLE", "BOOLEAN", "Whether the number is NaN; NULL is not.", null_safe=True)
_c.scalar(
    "NANVL", "DOUBLE, DOUBLE", "DOUBLE", "The first, or the second where it is NaN.", null_safe=True
)
_c.scalar("TYPEOF", "any", "STRING", "The name of the value's type.", null_safe=True)

FUNCTIONS = _c.build()
