"""Calls of every scalar function that the reference evaluator computes, as argument lists in CQL."""

from __future__ import annotations

NAN, INF = "CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)"
TS = "TIMESTAMP '2024-02-29 13:05:07.25'"
OLD = "TIMESTAMP '1969-12-31 23:59:59.999999'"
DAY = "DATE '2024-02-29'"
AB = "UNHEX('61620a')"
LEAP = f"{DAY}; {TS}; {OLD}; DATE '1900-01-01'; DATE '2024-12-30'"
ANGLES = f"0e0; 1e0; -0.5e0; 2.5e0; -1e0; 1e3; {NAN}; {INF}; -0e0"
PAIRS = "1e0, 2e0; -8e0, 3e0; 0e0, 0e0; 0e0, -1e0; 2.5e0, -0.5e0; -2e0, 0.5e0; 1e300, 2e0; -1e300, 3e0"
NUMBERS = (
    "5; -7; 0; CAST(-128 AS TINYINT); CAST(12345 AS SMALLINT); 9223372036854775807; 2.50; -2.5; 0.00;"
    f"CAST(2.5 AS FLOAT); -3.5e0; 1e20; -0e0; {NAN}; {INF}"
)
WHOLE = "5, 3; -7, 2; 0, 1; CAST(-128 AS TINYINT), CAST(1 AS TINYINT); 9223372036854775807, 12"
SETS = (
    "ARRAY(1, 2, 2, CAST(NULL AS INT)), ARRAY(2, 3); ARRAY('a'), ARRAY('b'); ARRAY(1), ARRAY(CAST(NULL AS INT));"
    f"ARRAY(1e0, {NAN}), ARRAY({NAN}, -0e0, 0e0); ARRAY(ARRAY(1)), ARRAY(ARRAY(1), ARRAY(2)); ARRAY(0), ARRAY(0)"
)
MORE_SETS = (
    "ARRAY(1, 2, CAST(NULL AS INT)), ARRAY(2, 2, 1); ARRAY(2, 1), ARRAY(1, CAST(NULL AS INT)); ARRAY(1), ARRAY(1, 2);"
    "ARRAY(1), ARRAY(); ARRAY(), ARRAY(1); ARRAY(), ARRAY(); ARRAY('a', 'b'), ARRAY('B', 'a');"
    f"ARRAY({NAN}, 1e0), ARRAY({NAN}, {NAN}); ARRAY(1.50, 2), ARRAY(1.5, 2.000); ARRAY({DAY}), ARRAY({TS}, {DAY});"
    f"ARRAY({AB}, UNHEX('')), ARRAY({AB}); ARRAY(STRUCT(1, {NAN})), ARRAY(STRUCT(1, {NAN}), STRUCT(2, {NAN}));"
    "ARRAY(ARRAY(1, NULL)), ARRAY(ARRAY(1, NULL)); ARRAY(CAST(1.1 AS FLOAT)), ARRAY(1.1e0); ARRAY(TRUE, FALSE), ARRAY(TRUE)"
)
WEIGHTS = (
    "MAP('a', 2, 'b', 3), MAP('b', 5, 'c', 7); MAP('a', 1e0), MAP('b', 1e0); MAP(), MAP(); MAP('a', 1), MAP();"
    "MAP('a', NULL, 'b', 2e0), MAP('a', 3e0, 'b', 4e0); MAP('a', 0.25, 'b', 1.5), MAP('b', 2, 'a', CAST(NULL AS INT));"
    "MAP('a', 1e16, 'b', 1e0, 'c', -1e16), MAP('c', 1, 'a', 1, 'b', 1); MAP('c', 1, 'a', 1, 'b', 1), MAP('a', 1e16, 'b', 1e0, 'c', -1e16);"
    f"MAP('a', {INF}, 'b', 1e0), MAP('a', CAST(NULL AS DOUBLE), 'b', 2e0); MAP('a', {NAN}), MAP('b', 1e0); MAP('a', {NAN}), MAP('a', 0e0);"
    f"MAP({NAN}, 2), MAP({NAN}, 3); MAP(0e0, 2), MAP(-0e0, 3); MAP(1, 2), MAP(1.0, 9223372036854775807); MAP({DAY}, 1), MAP({TS}, 1);"
    f"MAP(ARRAY(1, {NAN}), 2), MAP(ARRAY(1, {NAN}), 3); MAP({AB}, 2), MAP({AB}, CAST(0.1 AS FLOAT)); MAP('a', -0e0), MAP('a', 1)"
)
ARRAYS = (
    "ARRAY(3, 1, 2); ARRAY('b', 'a', CAST(NULL AS STRING), 'a'); ARRAY(CAST(NULL AS INT));"
    f"ARRAY(1e0, {NAN}, -1e0, {NAN}); ARRAY(1.5, 1.50, -2); ARRAY(STRUCT(1, 'b'), STRUCT(1, 'a'));"
    "ARRAY(ARRAY(2, 1), ARRAY(2)); SLICE(ARRAY(1), 1, 0)"
)
MAPS = "MAP('x', 1, 'y', CAST(NULL AS INT)); MAP(1, 'a', 1, 'b'); MAP(1.5, ARRAY(1))"
VALUES = (
    f"1; CAST(300 AS SMALLINT); CAST(-5 AS TINYINT); 12345678901; 1.5e0; -0e0; {NAN}; CAST(1.1 AS FLOAT); 12.345; TRUE;"
    f"'text'; ''; 'é😀'; 'four'; 'a text of more than thirty-two bytes, é'; {AB}; {TS}; {OLD}; {DAY};"
    "ARRAY(1, CAST(NULL AS INT)); STRUCT(1, 'a', 2.5e0); CAST('12345678901234567890.5' AS DECIMAL(38,10)); FALSE, NULL, 3"
)

SAMPLES: dict[str, str] = {
    # --- strings
    "UPPER": "'aßé1'; ''; 'İi'",
    "LOWER": "'AÉ1'; ''",
    "INITCAP": "'hELLO wORLD  x-y'; ''; ' a'; 'a	b'; 'élan'",
    "LENGTH": f"'é😀a'; ''; {AB}",
    "OCTET_LENGTH": f"'é😀a'; ''; {AB}",
    "BIT_LENGTH": f"'é'; ''; {AB}",
    "TRIM": "'  a b '; ''",
    "LTRIM": "'  a b '; ''",
    "RTRIM": "'  a b '; ''",
    "BTRIM": "'  a b '; 'xxaxbyx', 'xy'; 'abc', ''",
    "LPAD": "'ab', 5; 'ab', 5, 'xyz'; 'abcdef', 3, 'x'; 'ab', -1; 'ab', 5, ''; 'ab', 0",
    "RPAD": "'ab', 5; 'ab', 5, 'xyz'; 'abcdef', 3, 'x'; 'ab', -1; 'ab', 5, ''",
    "SPACE": "3; 0; -1",
    "REPEAT": "'ab', 3; 'ab', 0; 'ab', -2; '', 5",
    "REVERSE": "'abé'; ''; ARRAY(1, 2, CAST(NULL AS INT))",
    "SUBSTR": (
        "'hello', 2; 'hello', 2, 3; 'hello', -3; 'hello', -3, 2; 'hello', 0, 2; 'hello', -9, 6; 'hello', 9;"
        f"'hello', 1, -1; 'é😀a', 2, 1; {AB}, 2; {AB}, -2, 1; {AB}, 0, 2; 'hello', -9, 2"
    ),
    "LEFT": "'hello', 2; 'hello', 9; 'hello', 0; 'hello', -1",
    "RIGHT": "'hello', 2; 'hello', 9; 'hello', 0; 'hello', -1",
    "SPLIT": (
        "'a1b22c', '[0-9]+'; 'a,b,,', ','; 'abc', ''; 'abc', '', 2; 'a,b,c', ',', 2; 'a,b,,', ',', 0; '', ',';"
        "'abc', 'x'; 'aXbXc', '(?=X)'; '', ''; 'abc', '', 5"
    ),
    "SPLIT_PART": "'a|b|c', '|', 2; 'a|b', '|', -1; 'a|b', '|', 5; 'a|b', '|', 0; 'ab', '', 1; 'a|b', '|', -5",
    "SPLIT_INDEX": "'a|b|c', '|', 0; 'a|b', '|', 5; 'a|b', '|', -1; 'ab', '', 1; '', ',', 0",
    "SUBSTRING_INDEX": "'a.b.c', '.', 2; 'a.b.c', '.', -2; 'a.b.c', '.', 0; 'a.b.c', '.', 9; 'a.b.c', '.', -9; 'a.b', '', 1",
    "OVERLAY": "'abcdef', 'X', 3; 'abcdef', 'XYZ', 3, 1; 'abc', 'XY', 2, 0; 'abc', 'X', 9; 'abc', 'X', 0; 'abc', 'XY', -1",
    "REPLACE": "'abcabc', 'b', 'X'; 'abc', 'b'; 'abc', '', 'x'; '', 'a', 'b'",
    "TRANSLATE": "'abcb', 'bc', 'XY'; 'abc', 'bc', 'X'; 'abc', '', 'X'; 'abab', 'aa', 'XY'",
    "STARTSWITH": "'abc', 'ab'; 'abc', ''; 'abc', 'b'",
    "ENDSWITH": "'abc', 'bc'; 'abc', ''; 'abc', 'b'",
    "CONTAINS": "'abc', 'b'; 'abc', ''; 'abc', 'x'",
    "INSTR": "'abcb', 'b'; 'abc', ''; 'abc', 'x'; '', ''",
    "LOCATE": "'b', 'abcb'; 'b', 'abcb', 3; 'b', 'abc', 0; '', 'abc', 2; 'b', 'abc', -1; 'b', 'abc', 9; '', 'abc', 9",
    "FIND_IN_SET": "'b', 'a,b,c'; 'x', 'a,b'; 'a,b', 'a,b'; '', 'a,,b'; '', ''",
    "ILIKE": "'ABC', 'a%'; 'abc', '_B_'; 'a%c', 'A\\%C'; 'abc', ''",
    "REGEXP_LIKE": "'abc', 'b+'; 'abc', '^b'; 'a\nb', 'a.b'; 'x', '\\p{Alpha}'; 'é', '\\w'; 'a.b', 'a\\.b'; 'ab', '(?i)AB'; 'a\\b', '\\\\'; 'x1', '[\\p{Alpha}]\\d'; 'ab', '^(?<n>a)b$'; 'a1', '[^a-z]'; 'a', '\\bA?'",
    "REGEXP_EXTRACT": "'100-200', '(\\d+)-(\\d+)', 2; '100-200', '(\\d+)'; 'abc', '(x)'; 'ab', '(a)|(x)', 2; 'ab', 'b', 0",
    "REGEXP_EXTRACT_ALL": "'1-2, 3-4', '(\\d)-(\\d)'; '1-2, 3-4', '(\\d)-(\\d)', 2; 'a', '(x)'; 'ab', '.', 0",
    "REGEXP_REPLACE": "'a1b22', '[0-9]+', 'X'; 'ab', '(a)(b)', '$2$1'; 'aaa', 'a', 'b', 2; 'abc', 'x', 'y'; 'abc', 'c', 'd', 9; 'ab', '', '-'",
    "REGEXP_SUBSTR": "'a1b22', '[0-9]+'; 'abc', 'x'",
    "REGEXP_INSTR": "'a1b22', '[0-9]+'; 'abc', 'x'; 'é😀1', '[0-9]'",
    "REGEXP_COUNT": "'a1b22', '[0-9]+'; 'abc', 'x'; 'abc', ''",
    "CONCAT": f"'a', 'b', ''; ARRAY(1), ARRAY(2, CAST(NULL AS INT)); {AB}, {AB}; 'a'",
    "CONCAT_WS": "'-', 'a', NULL, 'b'; '-'; ',', ARRAY('a', NULL, 'b'), 'c'; '', 'a', 'b'",
    "FORMAT_STRING": (
        "'%d of %s', 5, 'x'; '%5d|%-5d|%05d|%,d|%+d', 1, 2, 3, 1234567, 5; '%.2f|%8.3f|%f', 1.005e0, 2.5e0, 1e0;"
        "'%x %X %o %%', 255, 255, 8; '%s %s %s', NULL, 1.5e0, TRUE; '%e', 12345.678e0; '%2$s %1$s', 'a', 'b';"
        "'%10s|%-10s|%.2s|%S', 'abc', 'abc', 'abc', 'abc'; '%b %b %c', TRUE, NULL, 65; '%,.2f', 1234567.125e0; '%.1f', 0.25e0; '%(d', -5;"
        "'%x', -1; '%d', -1; '%06.1f', -2.55e0"
    ),
    "FORMAT_NUMBER": (
        "1234567.891e0, 2; 0.5e0, 0; 1.5e0, 0; -1234.5, 1; 12, 3; 1e0, -1; 1234567.891e0, '#,###.00'; 0.5, '#.##';"
        "0.256e0, '0.0%'; 0, '#'; -0.001e0, 2; 1e15, 1; 12345, '000000'; 1234.5e0, '$#,##0.00'"
    ),
    "ELT": "1, 'a', 'b'; 3, 'a', 'b'; 0, 'a', 'b'; 2, 'a', NULL",
    "QUOTE": "'a''b'; 'a\\b'; ''",
    "MASK": "'Ab-12 é'; ''",
    "ASCII": "'abc'; ''; 'é'; '😀'",
    "CHR": "65; 321; -1; 0; 233",
    "LEVENSHTEIN": "'kitten', 'sitting'; '', 'abc'; 'a', 'a'",
    "JARO_WINKLER_SIMILARITY": "'MARTHA', 'MARHTA'; 'abc', 'xyz'; '', ''; 'DIXON', 'DICKSONX'; 'a', 'a'; 'ab', ''; 'prefixes', 'prefix'; 'CRATE', 'TRACE'",
    "SOUNDEX": "'Miller'; 'Tymczak'; 'Pfister'; '1abc'; ''; 'Ashcraft'; 'a'; 'Honey man'",
    "LUHN_CHECK": "'79927398713'; '79927398714'; 'abc'; ''; '0'",
    "IS_VALID_UTF8": "'é'; ''",
    "ENCODE": "'aé', 'UTF-8'; 'a', 'US-ASCII'; 'a', 'UTF-16'; '', 'ISO-8859-1'; 'aé', 'UTF-16LE'",
    "DECODE": f"{AB}, 'UTF-8'; UNHEX('0061'), 'UTF-16BE'; UNHEX('e9'), 'ISO-8859-1'; UNHEX('feff0061'), 'UTF-16'",
    "BASE64": f"'abcd'; ''; {AB}",
    "UNBASE64": "'YWJjZA=='; ''; 'YWJj'",
    "HEX": f"255; -1; 'aé'; {AB}; 12345678901",
    "UNHEX": "'616'; 'zz'; ''; '6162'",
    "TO_BINARY": "'6162'; 'zz'; 'ab', 'utf-8'; 'YWI=', 'base64'; '616'; 'abc', 'HEX'; 'Y!I=', 'base64'; ''",
    # --- numbers
    "ABS": NUMBERS,
    "SIGN": NUMBERS,
    "NEGATIVE": NUMBERS,
    "POSITIVE": NUMBERS,
    "CEIL": NUMBERS + "; 123.45; -123.45",
    "FLOOR": NUMBERS + "; 123.45; -123.45",
    "ROUND": NUMBERS + "; 2.675e0, 2; 25, -1; 1.255, 2; -1.5, 0; 125.5, -1; 1e300, 2; CAST(1.15 AS FLOAT), 1; 99, -3; 127, -1; 1.5, 5; CAST(127 AS TINYINT), -1",
    "BROUND": NUMBERS + "; 2.675e0, 2; 25, -1; 1.245, 2; -1.5, 0; 2.5e0; 35, -1; CAST(1.25 AS FLOAT), 1",
    "RINT": f"2.5e0; 3.5e0; -0.2e0; {NAN}; {INF}; 1e300",
    "MOD": WHOLE + f"; 5, 0; 5.5, 2.5; -5.5, 2; 5.5e0, -2e0; 1e0, 0e0; {INF}, 2e0; 5.5, 0.0; CAST(5.5 AS FLOAT), 2",
    "PMOD": WHOLE + "; -7, 3; -7, -3; 5, 0; -5.5, 2.5; -5.5e0, 2e0; 7, -3; 1e0, 0e0; -7.5, -2.0",
    "TRY_DIVIDE": "1, 3; 1e0, 0e0; -7.5, 2",
    "TRY_ADD": "1, 2; 2147483647, 1; 9223372036854775807, 1; 1.5e0, 2; CAST(127 AS TINYINT), CAST(1 AS TINYINT); CAST(0.1 AS FLOAT), CAST(0.2 AS FLOAT)",
    "TRY_SUBTRACT": "1, 2; -2147483648, 1; 1.5e0, 2",
    "TRY_MULTIPLY": "3, 2; 2147483647, 2; 9223372036854775807, 2; 1.5e0, 2",
    "SQRT": ANGLES, "CBRT": ANGLES, "EXP": ANGLES, "EXPM1": ANGLES, "LN": ANGLES, "LOG2": ANGLES, "LOG10": ANGLES, "LOG1P": ANGLES,
    "SIN": ANGLES, "COS": ANGLES, "TAN": ANGLES, "COT": ANGLES, "SEC": ANGLES, "CSC": ANGLES, "ASIN": ANGLES, "ACOS": ANGLES,
    "ATAN": ANGLES, "SINH": ANGLES, "COSH": ANGLES, "TANH": ANGLES, "ASINH": ANGLES, "ACOSH": ANGLES, "ATANH": ANGLES,
    "DEGREES": ANGLES, "RADIANS": ANGLES,
    "LOG": f"{ANGLES}; 2e0, 8e0; 1e0, 5e0; 10e0, 0e0; -1e0, 5e0; 0e0, 5e0; 0.5e0, 8e0; 1e0, 1e0; 2e0, {NAN}",
    "POWER": PAIRS + f"; 1e0, {NAN}; {NAN}, 0e0; 1e0, {INF}; -1e0, {INF}; 0.5e0, {INF}; -1e300, 2e0; 2e0, -1e4",
    "HYPOT": PAIRS, "ATAN2": PAIRS,
    "FACTORIAL": "5; 0; 20; 21; -1",
    "PI": "", "E": "",
    "WIDTH_BUCKET": "5.3e0, 0.2e0, 10.6e0, 5; -1e0, 0e0, 10e0, 3; 11e0, 0e0, 10e0, 3; 10e0, 0e0, 10e0, 3; 3e0, 10e0, 0e0, 4; 1e0, 1e0, 1e0, 3; 1e0, 0e0, 2e0, 0; 0e0, 10e0, 0e0, 4; 11e0, 10e0, 0e0, 4",
    "BIN": "5; -1; 0",
    "CONV": "'ff', 16, 10; '-10', 10, 16; '-10', 10, -16; 'zz', 10, 2; '', 10, 2; '12x', 10, 2; '12', 99, 10; 255, 10, 16; -1, 10, 16; '99999999999999999999', 10, 10; 'xyz', 36, 10; ' 12 ', 10, 8",
    "TO_NUMBER": "'12.5', '99.9'; 'zz', '999'; '1,234', '9,999'; '$5.00', '$9.99'; '-5', 'S9'; '123', '99'; '5-', '9MI'; '12', '999'; '1.25', '9.9'",
    "TO_CHAR": f"12.5, '999.9'; 5, '000'; 1234, '9,999'; -5, 'S99'; 5.25, '$9.99'; 0, '9'; -5, '99MI'; 5, '99MI'; -5, '99PR'; 0.5, '9.9'; 0.5, '99.9'; 0.00, '9.9'; 0.00, '99.99'; 0.5e0, '9.9'; 0, '999'; 0, '9.9'; 0e0, '9.9'; 5.0, '9'; 0.5, '.9'; 0.05, '9.99'; -0.5, 'S9.9'; {TS}, 'yyyy-MM-dd HH:mm'; {DAY}, 'dd.MM.yy'; 12, '0,000.00'; 5, 'S999'",
    "BIT_COUNT": "7; -1; 0; TRUE; CAST(-1 AS TINYINT)",
    "BIT_GET": "5, 0; 5, 1; -1, 63; 5, 64; 5, -1",
    "SHIFTLEFT": "1, 3; 1, 63; 1, 64; -1, 1; 5, -1",
    "SHIFTRIGHT": "8, 2; -8, 1; 8, 64; 5, -1",
    "BITAND": "5, 3; -1, 7; CAST(5 AS TINYINT), 4", "BITOR": "5, 3; -8, 7", "BITXOR": "5, 3; -1, 7", "BITNOT": "5; -1; CAST(0 AS TINYINT)",
    # --- times
    **dict.fromkeys(("YEAR", "QUARTER", "MONTH", "WEEKOFYEAR", "DAY", "DAYOFYEAR", "DAYOFWEEK", "WEEKDAY", "MONTHNAME", "DAYNAME", "LAST_DAY"), LEAP),
    **dict.fromkeys(("HOUR", "MINUTE", "SECOND", "UNIX_SECONDS", "UNIX_MILLIS", "UNIX_MICROS"), f"{TS}; {OLD}; TIMESTAMP '1900-01-01 00:00:00.5'"),
    "DATE_PART": "; ".join(f"'{p}', {TS}; '{p}', {OLD}" for p in ("year", "yearofweek", "quarter", "month", "week", "day", "dayofweek", "dayofweek_iso", "doy", "hour", "minute", "second", "YEARS")),
    "DATE_ADD": f"{DAY}, 1; {TS}, -60; {DAY}, 0", "DATE_SUB": f"{DAY}, 1; {TS}, -60",
    "DATEDIFF": f"{DAY}, {OLD}; DATE '2024-01-01', {DAY}; {TS}, {DAY}",
    "ADD_MONTHS": f"{DAY}, 12; DATE '2024-01-31', 1; {TS}, -2; DATE '2024-03-31', -1; DATE '2023-02-28', 12",
    "MONTHS_BETWEEN": f"{TS}, {OLD}; TIMESTAMP '2024-03-31 10:00:00', TIMESTAMP '2024-02-29 00:00:00'; {OLD}, {TS}, FALSE; {TS}, TIMESTAMP '2023-01-10 11:30:00', TRUE; {TS}, TIMESTAMP '2023-01-29 11:30:00'",
    "NEXT_DAY": f"{DAY}, 'Mon'; {DAY}, 'THURSDAY'; {TS}, 'fr'; {DAY}, 'x'",
    "DATE_TRUNC": "; ".join(f"'{u}', {TS}; '{u}', {OLD}" for u in ("year", "QUARTER", "mon", "week", "day", "hour", "minute", "second", "millisecond", "microsecond", "fortnight", "dd")),
    "TRUNC": "; ".join(f"{DAY}, '{u}'; {OLD}, '{u}'" for u in ("year", "YY", "quarter", "mm", "week", "day")),
    "TIME_BUCKET": f"INTERVAL 15 MINUTES, {TS}; INTERVAL 7 DAYS, {OLD}; INTERVAL 1 SECONDS, {OLD}",
    "MAKE_DT_INTERVAL": "; 1; 1, 2, 3, 4.5; -1, 25, 61; 0, 0, 0, -0.000001",
    "DATE_FORMAT": "; ".join(
        f"{TS}, '{p}'" for p in ("yyyy-MM-dd HH:mm:ss.SSS", "yy/M/d h:m:s a", "EEE, d MMM yyyy", "EEEE MMMM", "D DDD", "K k kk KK", "Q QQ QQQ QQQQ", "''o''''clock''", "VV z XXX x xx Z O", "SSSSSS SS", "G", "yyyyMMdd", "[yyyy]", "LLL")
    ) + f"; {OLD}, 'yyyy h a K k'; TIMESTAMP '2024-03-01 00:00:00', 'hh a kk F'",
    "TO_TIMESTAMP": (
        "'2024-02-29 10:20:30.5'; '2024-02-29T10:20:30Z'; '2024-02-29 10:20:30+02:00'; '2024-02-29'; '2024'; '2024-1-1 1:2:3'; 'x'; '';"
        "'2024-02-30'; ' 2024-02-29 10:20 '; '2024-01-01 10:20:30 Europe/Berlin'; '2024-01-01 25:00:00'; '2024-01-01 10:20:30.1234567'; '2024-01-01 10';"
        "'2024-01-01 10:20:30.'; '2024-1-1', 'yyyy-MM-dd'; '29.02.2024 13', 'dd.MM.yyyy HH'; '2/9/2024', 'M/d/yyyy'; '20240229', 'yyyyMMdd'; '01 Mar 2024', 'dd MMM yyyy';"
        "'2024-02-30', 'yyyy-MM-dd'; '1:05 PM', 'h:mm a'; '24-02-29', 'yy-MM-dd'; '2024-02-29 10:00 +0200', 'yyyy-MM-dd HH:mm Z'; '2024-02-29x', 'yyyy-MM-dd'; '2024-060', 'yyyy-DDD';"
        f"'10:20:30.25', 'HH:mm:ss.SS'; {DAY}; {TS}"
    ),
    "TO_DATE": f"'2024-02-29'; '2024-2'; '2024'; 'x'; '2024-02-29 99'; '2024-02-30'; '29.02.2024', 'dd.MM.yyyy'; '1.2.2024', 'dd.MM.yyyy'; {TS}; {DAY}",
    "DATE": f"'2024-02-29T1'; 'x'; {OLD}",
    "FROM_UNIXTIME": "0; -1; 1709211907, 'yyyy-MM-dd'; 1709211907, 'HH:mm'",
    "UNIX_TIMESTAMP": f"'2024-02-29 13:05:07'; 'x'; '29.02.2024', 'dd.MM.yyyy'; {TS}; {DAY}; {OLD}",
    "UNIX_DATE": f"{DAY}; DATE '1969-12-31'",
    "TIMESTAMP_SECONDS": "0; -1; 1.5; 1.5e0; 1e15; 12345678901; CAST(0.5 AS FLOAT); -0.000001",
    "TIMESTAMP_MILLIS": "0; -1; 9223372036854775807", "TIMESTAMP_MICROS": "0; -1; 1709211907250000",
    "DATE_FROM_UNIX_DATE": "0; -1; 19782", "MAKE_DATE": "2024, 2, 29; 2023, 2, 29; 2024, 13, 1",
    "MAKE_TIMESTAMP": "2024, 2, 29, 1, 2, 3.5; 2024, 1, 1, 0, 0, 60; 2024, 1, 1, 24, 0, 0; 2024, 2, 30, 0, 0, 0; 2024, 1, 1, 0, 0, 60.5",
    "FROM_UTC_TIMESTAMP": f"{TS}, 'Europe/Berlin'; {OLD}, '+05:30'; TIMESTAMP '2024-07-01 00:00:00', 'America/New_York'; {TS}, 'UTC'",
    "TO_UTC_TIMESTAMP": f"{TS}, 'Europe/Berlin'; TIMESTAMP '2024-03-31 02:30:00', 'Europe/Berlin'; TIMESTAMP '2024-10-27 02:30:00', 'Europe/Berlin'; {TS}, '-03:00'",
    # --- conditions
    "IF": "TRUE, 1, 2; NULL, 'a', 'b'; FALSE, 1, 2.5e0", "COALESCE": "NULL, 1; 1, 2.5; NULL, NULL, 'x'", "IFNULL": "NULL, 1; 2, 1", "NVL2": "NULL, 1, 2; 'x', 1, 2",
    "NULLIF": f"1, 1; 1, 2; {NAN}, {NAN}; 0e0, -0e0", "NULLIFZERO": f"0; 5; 0.0; -0e0; {NAN}", "ZEROIFNULL": "5; CAST(NULL AS DECIMAL(5,2)); CAST(NULL AS DOUBLE)",
    "GREATEST": f"1, 2, NULL; 'a', 'b'; 1e0, {NAN}; {DAY}, {TS}; ARRAY(1, 2), ARRAY(1, 3); NULL, CAST(NULL AS INT)", "LEAST": f"1, 2, NULL; 'a', 'b'; 1e0, {NAN}; STRUCT(1, 'b'), STRUCT(1, 'a')",
    "ISNULL": "1; NULL", "ISNOTNULL": "1; NULL", "EQUAL_NULL": f"1, 1; 1, NULL; CAST(NULL AS INT), NULL; {NAN}, {NAN}; ARRAY(1), ARRAY(1)",
    "ISNAN": f"{NAN}; 1e0", "NANVL": f"{NAN}, 2e0; 1e0, 2e0", "TYPEOF": f"{VALUES.rpartition(';')[0]}; {MAPS}; NULL; MAKE_DT_INTERVAL(1)",
    # --- collections
    "ARRAY": "1, 2, NULL; 'a'; 1, 2.5", "MAP": "'a', 1, 'b', NULL; 1, 'x', 1, 'y'", "STRUCT": "1, 'a', NULL; 1", "NAMED_STRUCT": "'a', 1, 'b', 'x'; 'a', NULL",
    "ARRAY_REPEAT": "'a', 3; 1, 0; 1, -1; CAST(NULL AS INT), 2", "SEQUENCE": f"1, 3; 3, 1; 1, 10, 4; 5, 1, -2; 1, 5, -1; 1, 5, 0; 2, 2; {DAY}, DATE '2024-03-02'; DATE '2024-03-02', {DAY}; 2, 2, 0; 2, 2, 3",
    "SIZE": f"ARRAY(1, 2); {MAPS}; ARRAY(CAST(NULL AS INT))", "ARRAY_SIZE": "ARRAY(1, 2); ARRAY('a')", "GET": "ARRAY(1, 2), 0; ARRAY(1, 2), 2; ARRAY(1, 2), -1",
    "ELEMENT_AT": "ARRAY(1, 2), 1; ARRAY(1, 2), -1; ARRAY(1, 2), 0; ARRAY(1, 2), 3; ARRAY(1, 2), -3; MAP('a', 1), 'a'; MAP('a', 1), 'b'",
    "ARRAY_CONTAINS": f"ARRAY(1, 2), 2; ARRAY(1, NULL), 2; ARRAY(1, 2), 3; ARRAY({NAN}), {NAN}", "ARRAY_POSITION": "ARRAY(1, 2, 2), 2; ARRAY(1, NULL), 3; ARRAY('a'), 'a'",
    "ARRAY_APPEND": "ARRAY(1), 2; ARRAY(1), NULL", "ARRAY_PREPEND": "ARRAY(1), 2; ARRAY(1), NULL",
    "ARRAY_INSERT": "ARRAY(1, 2, 3), 2, 9; ARRAY(1, 2), 5, 9; ARRAY(1, 2), -1, 9; ARRAY(1, 2), -4, 9; ARRAY(1, 2), 0, 9; ARRAY(1, 2), -3, 9; ARRAY(1, 2), 3, NULL",
    "ARRAY_REMOVE": f"ARRAY(1, 2, NULL, 2), 2; ARRAY('a'), 'b'; ARRAY(1e0, {NAN}), {NAN}",
    **dict.fromkeys(("ARRAY_COMPACT", "ARRAY_DISTINCT", "ARRAY_MAX", "ARRAY_MIN", "ARRAY_SORT", "SORT_ARRAY"), ARRAYS),
    **dict.fromkeys(("ARRAY_UNION", "ARRAY_INTERSECT", "ARRAY_EXCEPT", "ARRAYS_OVERLAP"), SETS),
    **dict.fromkeys(("OVERLAP", "CONTAINS_ALL"), f"{SETS}; {MORE_SETS}"),
    "INNER_PRODUCT": WEIGHTS,
    "SLICE": "ARRAY(1, 2, 3), 2, 2; ARRAY(1, 2, 3), -2, 5; ARRAY(1, 2), 0, 1; ARRAY(1, 2), 1, -1; ARRAY(1, 2), 5, 1; ARRAY(1, 2), -5, 2", "FLATTEN": "ARRAY(ARRAY(1, 2), ARRAY(3)); ARRAY(ARRAY(1), NULL)",
    "ARRAY_JOIN": "ARRAY('a', NULL, 'b'), '-'; ARRAY('a', NULL, 'b'), '-', '?'; ARRAY(CAST(NULL AS STRING)), ','", "ARRAYS_ZIP": "ARRAY(1, 2), ARRAY('a'); ARRAY(1)",
    "MAP_KEYS": MAPS, "MAP_VALUES": MAPS, "MAP_ENTRIES": MAPS, "MAP_CONTAINS_KEY": "MAP('a', 1), 'a'; MAP('a', 1), 'b'",
    "MAP_CONCAT": "MAP('a', 1), MAP('b', 2, 'a', 3); MAP(1, 'x')", "MAP_FROM_ARRAYS": "ARRAY('a', 'b'), ARRAY(1, NULL); ARRAY(1, 1), ARRAY('x', 'y')",
    "STR_TO_MAP": "'a:1,b:2'; 'a:1,a:2'; 'a=1;b', ';', '='; ''; 'a:1:2'",
    # --- hashes, JSON, CSV, addresses
    "HASH": VALUES, "XXHASH64": VALUES, "CRC32": f"'abc'; ''; {AB}", "MD5": f"'abc'; {AB}", "SHA1": f"'abc'; {AB}", "SHA2": f"'abc', 256; 'abc', 0; 'abc', 224; {AB}, 512; 'abc', 7; 'abc', 384",
    "HMAC": f"'key', 'text'; {AB}, 'text', 'SHA-1'; 'key', 'text', 'SHA-512'",
    "GET_JSON_OBJECT": (
        "'{\"a\":{\"b\":[1,2.50,\"x\"]}}', '$.a.b[2]'; '{\"a\":{\"b\":[1,2.50,\"x\"]}}', '$.a.b'; '{\"a\":1.50}', '$.a'; '{\"a\":null}', '$.a'; '{', '$.a'; '{\"a\":true}', '$[''a'']';"
        "'[{\"a\":1},{\"a\":2}]', '$[*].a'; '{\"a\":\"é\\\\n\"}', '$.a'; '{\"a\":1}', '$'; '{\"a\":1}', 'a'; '{\"a\":[1]}', '$.a[*]'; '{\"a\":[\"x\"]}', '$.a[*]'; '{\"a\":1}', '$.b'; '{\"a\":[1,2]}', '$.a[5]'"
    ),
    "JSON_VALUE": "'{\"a\":\"x\"}', '$.a'; 'x', '$.a'", "JSON_ARRAY_LENGTH": "'[1,[2],3]'; '{}'; 'x'; '[]'", "JSON_OBJECT_KEYS": "'{\"a\":1,\"b\":{\"c\":2}}'; '[]'; 'x'; '{}'",
    "FROM_JSON": (
        "'{\"a\":1,\"b\":\"x\"}', 'a INT, b STRING'; '{\"a\":\"1\"}', 'a INT'; '{\"a\":1.50,\"b\":2.0}', 'a STRING, b INT'; '{\"a\":1e3}', 'a STRING'; '{\"a\":[1,\"x\"],\"b\":1}', 'a ARRAY<INT>, b INT'; 'null', 'a INT'; '{\"A\":1}', 'a INT'; '{\"a\":1.5,\"b\":{\"c\":1}}', 'a INT, b STRING'; 'x', 'a INT'; '{\"a\":[1,2],\"m\":{\"k\":1.5}}', 'a ARRAY<INT>, m MAP<STRING,DOUBLE>';"
        "'{\"a\":1.25,\"t\":\"2024-02-29T10:00:00Z\",\"d\":\"2024-02-29\"}', 'a DECIMAL(5,1), t TIMESTAMP, d DATE'; '{\"a\":true,\"b\":3000000000}', 'a BOOLEAN, b INT'; '[1,2]', 'ARRAY<INT>'; '', 'a INT'; '{\"s\":{\"x\":1}}', 's STRUCT<x: INT, y: STRING>'"
    ),
    "TO_JSON": f"STRUCT(1, 'a\"b', 1.5e0, NULL, TRUE, 2.50, {TS}, {DAY}); MAP('a', 1, 'b', NULL); ARRAY(1, NULL); NAMED_STRUCT('x', 1e20, 'y', {NAN}, 'z', CAST(1.1 AS FLOAT), 'b', {AB}, 'n', STRUCT(1), 't', {OLD}); STRUCT('é/\n')",
    "FROM_CSV": "'1,x,2.5', 'a INT, b STRING, c DOUBLE'; 'y,\"a,b\"', 'a INT, b STRING'; ',', 'a INT, b STRING'; '1', 'a INT, b STRING'; '1,2,3', 'a INT, b STRING'; '2024-02-29,true', 'a DATE, b BOOLEAN'",
    "TO_CSV": f"STRUCT(1, 'a,b', NULL, 'x\"y', ''); STRUCT({TS}, {DAY}, 1.5e0, TRUE, 'plain', ' a ')",
    "PARSE_URL": "; ".join(f"'http://u:p@a.b:80/c/d?id=7&x=y#frag', '{p}'" for p in ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO", "host"))
    + "; 'http://a.b/c?id=7&x=y', 'QUERY', 'x'; 'http://a.b', 'PATH'; 'http://a b/', 'HOST'; 'http://a.b', 'QUERY'; 'nothing', 'HOST'; 'http://a.b/?id=7', 'QUERY', 'z'; 'http://a.b?x=1', 'FILE'",
    "URL_ENCODE": "'a b&é/~*-_.'; ''", "URL_DECODE": "'a+b%26%C3%A9'; '%zz'; ''",
}
"""Function to its argument lists, parted by semicolons; NULL arguments are put in by the test."""

EXPRESSIONS: tuple[str, ...] = (
    "7 / 2", "-7 / 2", "7 / 0", "-2147483648 / -1", "7 % 3", "-7 % 3", "7 % 0", "2147483647 + 1", "-2147483648 - 1", "65536 * 65536",
    "9223372036854775807 + 1", "9223372036854775807 / -1", "CAST(127 AS TINYINT) + CAST(1 AS TINYINT)", "CAST(100 AS TINYINT) * CAST(3 AS SMALLINT)",
    "1.5 + 2.25", "1.5 * 2.25", "1.0 / 3", "2.0 / 3.00", "1.5 / 0.0", "-7.5 % 2", "10 / 4.0", "1e0 / 0e0", "1 / 3e0", "5 + 1.5e0", "0.1e0 + 0.2e0",
    "CAST(0.1 AS FLOAT) + CAST(0.2 AS FLOAT)", "CAST(0.1 AS FLOAT) * 3", "CAST(1 AS FLOAT) / 3", "CAST(0.1 AS FLOAT) + 0.1e0", "CAST(0.1 AS FLOAT) + 0.1",
    "CAST('99999999999999999999999999999999999999' AS DECIMAL(38,0)) + 1", "CAST('9999999999999999999999999999999999' AS DECIMAL(38,4)) * 1000.5",
    "CAST('1.123456789012345678901234567890' AS DECIMAL(38,30)) * CAST('1.123456789012345678901234567890' AS DECIMAL(38,30))",
    "CAST(1 AS DECIMAL(38,30)) / CAST(3 AS DECIMAL(38,30))", "-(2.5)", "-(CAST(-128 AS TINYINT))", "-(-2147483648)", "- (0e0)", "-(INTERVAL 5 SECONDS)",
    f"{TS} + INTERVAL 90 SECONDS", f"{TS} - INTERVAL 1 DAYS", f"{TS} - {OLD}", f"{DAY} + 5", f"{DAY} - 60", f"{DAY} + INTERVAL 1 HOURS", "INTERVAL 1 HOURS - INTERVAL 90 MINUTES",
    "1 = 1", "1 < 2.5", "INTERVAL 1 SECONDS < INTERVAL 1 MINUTES", "CAST(9223372036854775807 AS BIGINT) * 2", "CAST(16777217 AS FLOAT) + 1", "CAST(3e38 AS FLOAT) * 10", "1e200 * 1e200", "-7.5e0 % 2", "7 % 2.5", "CAST(5 AS TINYINT) / CAST(2 AS BIGINT)", "CAST(-32768 AS SMALLINT) / CAST(-1 AS SMALLINT)", "9007199254740993 / 2e0", "1.25 = 1.250", "1 + NULL", "CAST(10 AS DECIMAL(20,5)) / CAST(7 AS DECIMAL(30,10))", "CAST(10 AS DECIMAL(20,5)) % CAST(7 AS DECIMAL(30,10))", "'a' < 'B'", "'é' > 'z'", f"{NAN} = {NAN}", f"{NAN} > {INF}", f"{NAN} < 1e0", "0e0 = -0e0", "1 <> NULL", "TRUE > FALSE", f"{DAY} < {TS}",
    "ARRAY(1, NULL) = ARRAY(1, NULL)", "STRUCT(1, 'a') < STRUCT(1, 'b')", f"{AB} < UNHEX('ff')", "ARRAY(1) < ARRAY(1, 2)",
    "NULL AND FALSE", "NULL AND TRUE", "NULL OR TRUE", "NULL OR FALSE", "NOT NULL", "NOT TRUE", "TRUE AND TRUE AND FALSE",
    "'a' || 'b' || 1", "'a' || NULL", "1.5 || TRUE", f"'x' || {DAY}", "1e0 || ''", "1e7 || '|' || 1e-4 || '|' || 123.456e0",
    "ARRAY(1, 2) @> ARRAY(2, 2)", "ARRAY(1) <@ ARRAY(2, 1.0)", "ARRAY('a') IS NOT SUBSET OF ARRAY('b')", "ARRAY(1, 2) IS SUPERSET OF NULL", "NULL <@ NULL",
    "'abc' LIKE 'a%'", "'abc' LIKE '_b_'", "'a%c' LIKE 'a\\%c'", "'a\nb' LIKE 'a%b'", "'abc' NOT LIKE 'x%'", "'abc' RLIKE 'b.'", "NULL LIKE 'a'", "'a.c' LIKE 'a.c'",
    "1 IN (1, 2)", "3 IN (1, NULL)", "1 IN (1, NULL)", "NULL IN (1)", f"{NAN} IN (1e0, {NAN})", "1 NOT IN (2, 3)", "'a' IN ('b')", "1 IN (1 + 0, 2.5)",
    "5 BETWEEN 1 AND 5", "NULL BETWEEN 1 AND 2", "5 IS NULL", "NULL IS NOT NULL",
    "CASE WHEN NULL THEN 1 WHEN TRUE THEN 2 END", "CASE 5 WHEN 4 THEN 'a' END", "CASE 1 WHEN 1 THEN 1 ELSE 2.5 END",
    "ARRAY(1, 2)[0]", "ARRAY(1, 2)[2]", "ARRAY(1, 2)[-1]", "MAP('a', 1)['a']", "MAP('a', 1)['b']", "NAMED_STRUCT('p', 1).p",
)
"""Operators and the other forms of expressions."""

NUMERIC = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5,2)", "DECIMAL(38,18)", "STRING")
CASTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    *((n, NUMERIC) for n in ("127", "128", "-129", "3000000000", "1.005", "-999.995", "1234.5", "2.5e0", "-2.5e0", "1e10", "1e20", "1e-5", "123456789.123e0", "1e100",
                             "9007199254740993", "CAST(1.1 AS FLOAT)", "CAST(16777217 AS FLOAT)", "CAST(1e-10 AS FLOAT)", "-0e0", NAN, INF, "TRUE", "0.0000001", "CAST(0 AS DECIMAL(10,8))",
                             "'12'", "' -12.9 '", "'1e3'", "'x'", "''", "'+'", "'.'", "'.5'", "'5.'", "'+7'", "'128'", "'1d'", "'NaN'", "'-inf'", "'Infinity'", "'99999999999999999999'", "'1_0'", "'１'")),
    *((n, ("BOOLEAN",)) for n in ("0", "5", "0.0", "1e0", NAN, "'t'", "'Yes'", "' true '", "'0'", "'2'", "''")),
    *((n, ("TIMESTAMP",)) for n in ("0", "-1", "1.5", "1.5e0", "CAST(1.5 AS FLOAT)", NAN, DAY, "'2024-02-29 1:2:3.123456789'", "'2024-02-29T01:02:03+01'", "'x'", "'2024-02-29 01:02:03 UTC'", "'2024-02-29Z'")),
    *((n, ("DATE",)) for n in (TS, OLD, "'2024-2-9'", "'2024-02-29T'", "'2024-02-29x'", "'24-02-29'", "' 2024-02-29 '", "''")),
    *((n, ("TINYINT", "INT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL(20,6)", "STRING")) for n in (TS, OLD)),
    *((n, ("STRING", "VARCHAR(3)", "CHAR(30)")) for n in (DAY, "12345", "'abcdef'", "ARRAY(1, NULL)", "MAP('a', 1.5)", "STRUCT(1, 'x', NULL, TRUE)", AB, "MAKE_DT_INTERVAL(0, 0, 0, 90)", "-(MAKE_DT_INTERVAL(0, 36, 0, 1.5))", "CAST(1.1 AS FLOAT)", "''", "'é'")),
    *((n, ("BINARY",)) for n in ("'é'", "5", "CAST(-1 AS TINYINT)", "12345678901")),
    ("ARRAY(300, NULL)", ("ARRAY<TINYINT>", "ARRAY<STRING>", "ARRAY<DOUBLE>", "ARRAY<DECIMAL(3,1)>")), (f"ARRAY(1e10, {NAN}, -1e30, 2.7e0)", ("ARRAY<INT>", "ARRAY<TINYINT>", "ARRAY<BIGINT>", "ARRAY<FLOAT>")),
    ("ARRAY(70000.5)", ("ARRAY<SMALLINT>", "ARRAY<INT>")), ("MAP('1', 2)", ("MAP<STRING, STRING>", "MAP<STRING, DOUBLE>")), ("STRUCT(1, 'x')", ("STRUCT<a: STRING, b: STRING>", "STRUCT<a: DOUBLE, b: INT>")),
)
"""A value and the types it is cast to."""

ROWS = (
    "(3, 30L, 0.5D, 1.25, 'b', true, TIMESTAMP'2024-01-01 00:00:02', DATE'2024-01-02')",
    "(1, 10L, -1.5D, 2.50, 'a', false, TIMESTAMP'2024-01-01 00:00:01', DATE'2024-01-01')",
    "(NULL, NULL, NULL, NULL, NULL, NULL, TIMESTAMP'2024-01-01 00:00:00', NULL)",
    "(3, 9223372036854775807L, 2.25D, 1.25, 'b', NULL, TIMESTAMP'2024-01-01 00:00:02', DATE'2023-12-31')",
    "(7, -5L, double('NaN'), 99999999.99, '', true, TIMESTAMP'2024-01-01 00:00:03', NULL)",
    "(-2, 9223372036854775807L, 1.0D, -0.01, 'é', true, TIMESTAMP'2024-01-01 00:00:04', DATE'2024-01-01')",
    "(4, 0L, 3.75D, 0.33, NULL, true, TIMESTAMP'2024-01-01 00:00:05', DATE'2024-01-05')",
)
"""Rows with the columns i, l, x, d, t, b, ts and day of the tests' stream ``s``."""
COLUMNS = ("i", "l", "x", "d", "t", "b", "ts", "day")

_ANY = ("i", "l", "x", "d", "t", "b", "day", "STRUCT(i, x)", "ARRAY(i, l)")
_REAL = ("CASE WHEN x < 10e0 THEN x END", "CASE WHEN x < 10e0 THEN l END", "CASE WHEN x < 10e0 THEN d * 0.5e0 END", "1e0")
_RELATION = tuple(f"{a}, {b}" for a, b in (("i * 1.0", "d"), ("i", "i + 1"), ("d", "1"), ("1", "i")))
AGGREGATES: dict[str, tuple[str, ...]] = {
    "COUNT": ("*", "i", "i, t", "DISTINCT i", "DISTINCT x", "DISTINCT t, b"),
    "COUNT_IF": ("b", "i > 2"),
    "SUM": ("i", "l", "x", "d", "CAST(x AS FLOAT)", "DISTINCT i", "DISTINCT d", "CAST(d AS DECIMAL(38,2)) * 10000000000000000000.0"),
    "TRY_SUM": ("i", "l", "x", "d"),
    "AVG": ("i", "l", "x", "d", "CAST(d AS DECIMAL(30,10))", "CAST(x AS FLOAT)", "DISTINCT i"),
    **dict.fromkeys(("MIN", "MAX", "ANY_VALUE", "FIRST", "LAST"), _ANY),
    "MODE": ("i", "t", "x", "d"),
    **dict.fromkeys(("MIN_BY", "MAX_BY"), ("i, x", "t, l * 0 + i * 2 + d", "t, ts", "i, i + d, 2", "i, i, 3")),
    **dict.fromkeys(("BOOL_AND", "BOOL_OR"), ("b", "i > 0", "i > 100", "i < 100")),
    **dict.fromkeys(("BIT_AND", "BIT_OR", "BIT_XOR"), ("i", "l", "CAST(i AS TINYINT)")),
    **dict.fromkeys(("STDDEV_SAMP", "STDDEV_POP", "VAR_SAMP", "VAR_POP", "SKEWNESS", "KURTOSIS"), _REAL),
    **dict.fromkeys(("COVAR_SAMP", "COVAR_POP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2", "REGR_COUNT"), _RELATION),
    **dict.fromkeys(("REGR_AVGX", "REGR_AVGY", "REGR_SXX", "REGR_SYY", "REGR_SXY"), _RELATION),
    "MEDIAN": ("i", "x", "d"),
    "PERCENTILE": ("i, 0.3", "x, 0.5", "d, ARRAY(0.0e0, 0.25e0, 1.0e0)"),
    "APPROX_PERCENTILE": ("i, 0.3", "i, ARRAY(0.0e0, 0.5e0, 1.0e0), 100", "d, 0.5", "ts, 0.5", "l, 0.9"),
    "APPROX_COUNT_DISTINCT": ("i", "t", "x", "i, 0.1", "day"),
    "APPROX_TOP_K": ("i, 1", "t, 1", "d, 1, 100"),
    "COLLECT_LIST": ("i", "t", "STRUCT(i, x)"),
    "COLLECT_SET": ("i", "t", "x"),
    "LISTAGG": ("t", "t, '-'"),
}
"""Aggregate to its argument lists over the columns of ``ROWS``."""
