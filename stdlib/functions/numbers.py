"""Functions of numbers and of their bits."""

from __future__ import annotations

from streamq.stdlib.functions.declare import Category

_c = Category("numbers")

# --- rounding and sign ---------------------------------------------------------------------------

_c.scalar("ABS", "T:num", "T", "The value without its sign.")
_c.scalar("SIGN SIGNUM", "num", "DOUBLE", "-1, 0 or 1.")
_c.scalar("NEGATIVE", "T:num", "T", "The value with the other sign.")
_c.scalar("POSITIVE", "T:num", "T", "The value itself.")
_c.scalar("CEIL CEILING", "T:num", "ceil(T)", "The least whole number that is not smaller.")
_c.scalar("FLOOR", "T:num", "ceil(T)", "The greatest whole number that is not larger.")
_c.scalar(
    "ROUND",
    "T:num, INT!?",
    "round(T)",
    "Rounded to so many places (0 unless said), halves away from zero.",
)
_c.scalar(
    "BROUND",
    "T:num, INT!?",
    "round(T)",
    "Rounded to so many places (0 unless said), halves to the even neighbour.",
)
_c.scalar("RINT", "DOUBLE", "DOUBLE", "The nearest whole number, as DOUBLE.")

# --- division and powers -------------------------------------------------------------------------

_c.scalar("MOD", "T:num, T:num", "T", "The remainder, with the sign of the first; NULL for 0.")
_c.scalar("PMOD", "T:num, T:num", "T", "The remainder that is not negative; NULL for 0.")
_c.scalar(
    "TRY_DIVIDE", "DOUBLE, DOUBLE", "DOUBLE", "The quotient as DOUBLE; NULL where divided by 0."
)
_c.scalar(
    "TRY_ADD", "T:int|FLOAT|DOUBLE, T:int|FLOAT|DOUBLE", "T", "The sum; NULL where it does not fit."
)
_c.scalar(
    "TRY_SUBTRACT",
    "T:int|FLOAT|DOUBLE, T:int|FLOAT|DOUBLE",
    "T",
    "The difference; NULL where it does not fit.",
)
_c.scalar(
    "TRY_MULTIPLY",
    "T:int|FLOAT|DOUBLE, T:int|FLOAT|DOUBLE",
    "T",
    "The product; NULL where it does not fit.",
)
_c.scalar("SQRT", "DOUBLE", "DOUBLE", "The square root; NaN of a negative number.")
_c.scalar("CBRT", "DOUBLE", "DOUBLE", "The cube root.")
_c.scalar("POWER POW", "DOUBLE, DOUBLE", "DOUBLE", "The first to the power of the second.")
_c.scalar("EXP", "DOUBLE", "DOUBLE", "e to the power of the value.")
_c.scalar("EXPM1", "DOUBLE", "DOUBLE", "EXP(x) - 1, exact near 0.")
_c.scalar("LN", "DOUBLE", "DOUBLE", "The natural logarithm; NULL unless positive.")
_c.scalar("LOG", "DOUBLE", "DOUBLE", "The natural logarithm; NULL unless positive.")
_c.scalar(
    "LOG", "DOUBLE, DOUBLE", "DOUBLE", "The logarithm of the second to the base of the first."
)
_c.scalar("LOG2", "DOUBLE", "DOUBLE", "The logarithm to base 2; NULL unless positive.")
_c.scalar("LOG10", "DOUBLE", "DOUBLE", "The logarithm to base 10; NULL unless positive.")
_c.scalar("LOG1P", "DOUBLE", "DOUBLE", "LN(1 + x), exact near 0.")
_c.scalar("FACTORIAL", "INT", "BIGINT", "n!, for n from 0 to 20, else NULL.")
_c.scalar("HYPOT", "DOUBLE, DOUBLE", "DOUBLE", "SQRT(a * a + b * b).")

# --- angles --------------------------------------------------------------------------------------

_c.scalar("PI", "", "DOUBLE", "The number pi.")
_c.scalar("E", "", "DOUBLE", "The number e.")
_c.scalar("SIN", "DOUBLE", "DOUBLE", "The sine of an angle in radians.")
_c.scalar("COS", "DOUBLE", "DOUBLE", "The cosine of an angle in radians.")
_c.scalar("TAN", "DOUBLE", "DOUBLE", "The tangent of an angle in radians.")
_c.scalar("COT", "DOUBLE", "DOUBLE", "The cotangent of an angle in radians.")
_c.scalar("SEC", "DOUBLE", "DOUBLE", "The secant of an angle in radians.")
_c.scalar("CSC", "DOUBLE", "DOUBLE", "The cosecant of an angle in radians.")
_c.scalar("ASIN", "DOUBLE", "DOUBLE", "The angle of a sine; NaN outside -1 .. 1.")
_c.scalar("ACOS", "DOUBLE", "DOUBLE", "The angle of a cosine; NaN outside -1 .. 1.")
_c.scalar("ATAN", "DOUBLE", "DOUBLE", "The angle of a tangent.")
_c.scalar("ATAN2", "DOUBLE, DOUBLE", "DOUBLE", "The angle of the point (second, first).")
_c.scalar("SINH", "DOUBLE", "DOUBLE", "The hyperbolic sine.")
_c.scalar("COSH", "DOUBLE", "DOUBLE", "The hyperbolic cosine.")
_c.scalar("TANH", "DOUBLE", "DOUBLE", "The hyperbolic tangent.")
_c.scalar("ASINH", "DOUBLE", "DOUBLE", "The inverse of SINH.")
_c.scalar("ACOSH", "DOUBLE", "DOUBLE", "The inverse of COSH; NaN below 1.")
_c.scalar("ATANH", "DOUBLE", "DOUBLE", "The inverse of TANH; NaN outside -1 .. 1.")
_c.scalar("DEGREES", "DOUBLE", "DOUBLE", "Radians in degrees.")
_c.scalar("RADIANS", "DOUBLE", "DOUBLE", "Degrees in radians.")

# --- buckets and bases ---------------------------------------------------------------------------

_c.scalar(
    "WIDTH_BUCKET",
    "DOUBLE, DOUBLE, DOUBLE, BIGINT",
    "BIGINT",
    "Which of n equal buckets between two bounds holds the value; 0 and n + 1 lie outside.",
)
_c.scalar("BIN", "BIGINT", "STRING", "The whole number in binary digits.")
_c.scalar("CONV", "str, INT, INT", "STRING", "Digits of one base (2 to 36) in another, or NULL.")
_c.scalar("CONV", "BIGINT, INT, INT", "STRING", "The same of a whole number's digits.")
_c.scalar(
    "TO_NUMBER",
    "str, str!",
    "number(STRING)",
    "The DECIMAL that a text holds in a format such as '999.99', or NULL.",
    sql="try_to_number({args})",
)
_c.scalar("TO_CHAR TO_VARCHAR", "num, str!", "STRING", "The number in a format such as '999.99'.")
_c.scalar(
    "TO_CHAR TO_VARCHAR", "temporal, str!", "STRING", "The time in a format, as DATE_FORMAT has it."
)

# --- bits ----------------------------------------------------------------------------------------

_c.scalar("BIT_COUNT", "int|BOOLEAN", "INT", "How many bits are set.")
_c.scalar(
    "BIT_GET GETBIT",
    "BIGINT, INT",
    "TINYINT",
    "The bit at a place, 0 at the right; NULL outside 0 .. 63.",
    sql="bit_get({0}, if(({1}) BETWEEN 0 AND 63, {1}, NULL))",
)
_c.scalar("SHIFTLEFT", "BIGINT, INT", "BIGINT", "The bits moved left.")
_c.scalar("SHIFTRIGHT", "BIGINT, INT", "BIGINT", "The bits moved right, the sign kept.")
_c.scalar("BITAND", "T:int, T:int", "T", "The bits set in both.", sql="(({0}) & ({1}))")
_c.scalar("BITOR", "T:int, T:int", "T", "The bits set in either.", sql="(({0}) | ({1}))")
_c.scalar("BITXOR", "T:int, T:int", "T", "The bits set in one only.", sql="(({0}) ^ ({1}))")
_c.scalar("BITNOT", "T:int", "T", "The bits turned over.", sql="(~({0}))")

FUNCTIONS = _c.build()
