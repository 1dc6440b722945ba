"""Functions of dates and timestamps. The session's time zone is UTC."""

from __future__ import annotations

from streamq.stdlib.functions.declare import Category

_c = Category("times")

# --- now -----------------------------------------------------------------------------------------

_c.scalar(
    "CURRENT_TIMESTAMP NOW",
    "",
    "TIMESTAMP",
    "The time at which the batch began; the same for all its rows.",
    deterministic=False,
)
_c.scalar(
    "CURRENT_DATE CURDATE", "", "DATE", "The day on which the batch began.", deterministic=False
)
_c.scalar(
    "UNIX_TIMESTAMP",
    "",
    "BIGINT",
    "The time at which the batch began, in seconds since 1970.",
    deterministic=False,
)

# --- parts ---------------------------------------------------------------------------------------

_c.scalar("YEAR", "temporal", "INT", "The year.")
_c.scalar("QUARTER", "temporal", "INT", "The quarter, 1 to 4.")
_c.scalar("MONTH", "temporal", "INT", "The month, 1 to 12.")
_c.scalar("WEEKOFYEAR WEEK", "temporal", "INT", "The ISO week, 1 to 53.")
_c.scalar("DAY DAYOFMONTH", "temporal", "INT", "The day of the month, 1 to 31.")
_c.scalar("DAYOFYEAR", "temporal", "INT", "The day of the year, 1 to 366.")
_c.scalar("DAYOFWEEK", "temporal", "INT", "The day of the week, 1 is Sunday.")
_c.scalar("WEEKDAY", "temporal", "INT", "The day of the week, 0 is Monday.")
_c.scalar("HOUR", "TIMESTAMP", "INT", "The hour, 0 to 23.")
_c.scalar("MINUTE", "TIMESTAMP", "INT", "The minute, 0 to 59.")
_c.scalar("SECOND", "TIMESTAMP", "INT", "The second, 0 to 59.")
_c.scalar("MONTHNAME", "temporal", "STRING", "The month's name in three letters.")
_c.scalar("DAYNAME", "temporal", "STRING", "The day's name in three letters.")
_c.scalar(
    "DATE_PART DATEPART",
    "str!, TIMESTAMP",
    "date_part()",
    "A part by its name: DATE_PART('hour', ts); seconds carry their fraction.",
)

# --- arithmetic ----------------------------------------------------------------------------------

_c.scalar("DATE_ADD DATEADD", "temporal, INT", "DATE", "The date so many days later.")
_c.scalar("DATE_SUB", "temporal, INT", "DATE", "The date so many days earlier.")
_c.scalar("DATEDIFF DATE_DIFF", "temporal, temporal", "INT", "Days from the second to the first.")
_c.scalar("ADD_MONTHS", "temporal, INT", "DATE", "The date so many months later.")
_c.scalar(
    "MONTHS_BETWEEN",
    "TIMESTAMP, TIMESTAMP, BOOLEAN?",
    "DOUBLE",
    "Months from the second to the first, by 31 days for a part of one, rounded to 8 places.",
)
_c.scalar("LAST_DAY", "temporal", "DATE", "The last day of the month.")
_c.scalar("NEXT_DAY", "temporal, str", "DATE", "The next such day of the week: NEXT_DAY(d, 'Mon').")
_c.scalar(
    "DATE_TRUNC",
    "str, TIMESTAMP",
    "TIMESTAMP",
    "The start of the unit that holds the time: DATE_TRUNC('hour', ts); NULL for no unit.",
)
_c.scalar(
    "TRUNC",
    "temporal, str",
    "DATE",
    "The first day of the year, quarter, month or week: TRUNC(d, 'month').",
)
_c.scalar(
    "TIME_BUCKET",
    "INTERVAL!, TIMESTAMP",
    "TIMESTAMP",
    "The start of the bucket of a length, counted from 1970, that holds the time.",
)
_c.scalar(
    "MAKE_DT_INTERVAL",
    "INT?, INT?, INT?, DECIMAL(18,6)?",
    "INTERVAL",
    "An interval of days, hours, minutes and seconds.",
)

# --- from and to text ----------------------------------------------------------------------------

_c.scalar(
    "DATE_FORMAT",
    "TIMESTAMP, str!",
    "STRING",
    "The time in a format such as 'yyyy-MM-dd HH:mm:ss'.",
)
_c.scalar(
    "TO_TIMESTAMP",
    "str, str!?",
    "TIMESTAMP",
    "The time that a text holds, in ISO form unless a format is given, or NULL.",
)
_c.scalar("TO_TIMESTAMP", "temporal", "TIMESTAMP", "The date as a time.")
_c.scalar(
    "TO_DATE",
    "str, str!?",
    "DATE",
    "The date that a text holds, in ISO form unless a format is given, or NULL.",
)
_c.scalar("TO_DATE DATE", "temporal", "DATE", "The day of a time.", sql="to_date({args})")
_c.scalar(
    "DATE", "str", "DATE", "The date that a text in ISO form holds, or NULL.", sql="to_date({args})"
)
_c.scalar(
    "FROM_UNIXTIME",
    "BIGINT, str!?",
    "STRING",
    "Seconds since 1970 as text, 'yyyy-MM-dd HH:mm:ss' unless said.",
)
_c.scalar(
    "UNIX_TIMESTAMP TO_UNIX_TIMESTAMP",
    "str, str!?",
    "BIGINT",
    "Seconds since 1970 of the time in a text, or NULL.",
)
_c.scalar("UNIX_TIMESTAMP TO_UNIX_TIMESTAMP", "temporal", "BIGINT", "Seconds since 1970.")

# --- from and to numbers -------------------------------------------------------------------------

_c.scalar("UNIX_SECONDS", "TIMESTAMP", "BIGINT", "Seconds since 1970.")
_c.scalar("UNIX_MILLIS", "TIMESTAMP", "BIGINT", "Milliseconds since 1970.")
_c.scalar("UNIX_MICROS", "TIMESTAMP", "BIGINT", "Microseconds since 1970.")
_c.scalar("UNIX_DATE", "DATE", "INT", "Days since 1970.")
_c.scalar(
    "TIMESTAMP_SECONDS",
    "num",
    "TIMESTAMP",
    "The time of seconds since 1970, with a fraction; NULL out of range.",
    sql="timestamp_seconds(if(({0}) BETWEEN -9223372036854 AND 9223372036854, {0}, NULL))",
)
_c.scalar(
    "TIMESTAMP_MILLIS",
    "int",
    "TIMESTAMP",
    "The time of milliseconds since 1970; NULL out of range.",
    sql="timestamp_millis(if(({0}) BETWEEN -9223372036854775 AND 9223372036854775, {0}, NULL))",
)
_c.scalar("TIMESTAMP_MICROS", "int", "TIMESTAMP", "The time of microseconds since 1970.")
_c.scalar("DATE_FROM_UNIX_DATE", "INT", "DATE", "The date so many days after 1970-01-01.")
_c.scalar("MAKE_DATE", "INT, INT, INT", "DATE", "The date of a year, month and day, or NULL.")
_c.scalar(
    "MAKE_TIMESTAMP",
    "INT, INT, INT, INT, INT, DECIMAL(16,6)",
    "TIMESTAMP",
    "The time of a year, month, day, hour, minute and second, or NULL.",
)

# --- time zones ----------------------------------------------------------------------------------

_c.scalar(
    "FROM_UTC_TIMESTAMP",
    "TIMESTAMP, str",
    "TIMESTAMP",
    "What a clock in the zone shows at that time; an unknown zone fails the run.",
)
_c.scalar(
    "TO_UTC_TIMESTAMP",
    "TIMESTAMP, str",
    "TIMESTAMP",
    "The time at which a clock in the zone shows that; an unknown zone fails the run.",
)

FUNCTIONS = _c.build()
