"""Functions of strings and of BINARY."""

from __future__ import annotations

from streamq.stdlib.functions.declare import Category

_c = Category("strings")

# --- case, length, space ------------------------------------------------------------------------

_c.scalar("UPPER UCASE", "str", "STRING", "The text in upper case.")
_c.scalar("LOWER LCASE", "str", "STRING", "The text in lower case.")
_c.scalar("INITCAP", "str", "STRING", "The text with each word's first letter in upper case.")
_c.scalar(
    "LENGTH LEN CHAR_LENGTH CHARACTER_LENGTH",
    "bytes",
    "INT",
    "How many characters a string has, or bytes a BINARY.",
)
_c.scalar("OCTET_LENGTH", "bytes", "INT", "How many bytes the value takes.")
_c.scalar("BIT_LENGTH", "bytes", "INT", "How many bits the value takes.")
_c.scalar("TRIM", "str", "STRING", "The text without blanks at either end.")
_c.scalar("LTRIM", "str", "STRING", "The text without blanks at its start.")
_c.scalar("RTRIM", "str", "STRING", "The text without blanks at its end.")
_c.scalar(
    "BTRIM",
    "str, str?",
    "STRING",
    "The text without blanks, or without the given characters, at either end.",
)
_c.scalar(
    "LPAD", "str, INT, str?", "STRING", "The text filled up, or cut, to a length from the left."
)
_c.scalar(
    "RPAD", "str, INT, str?", "STRING", "The text filled up, or cut, to a length from the right."
)
_c.scalar("SPACE", "INT", "STRING", "A string of so many blanks.")
_c.scalar("REPEAT", "str, INT", "STRING", "The text so many times over.")
_c.scalar("REVERSE", "str", "STRING", "The text backwards.")
_c.scalar("REVERSE", "ARRAY<T>", "ARRAY<T>", "The array backwards.")

# --- parts ---------------------------------------------------------------------------------------

_c.scalar(
    "SUBSTR SUBSTRING MID",
    "str, INT, INT?",
    "STRING",
    "The text from a position (1 is the first; negative counts from the end), of a length.",
)
_c.scalar("SUBSTR SUBSTRING MID", "BINARY, INT, INT?", "BINARY", "The same of a BINARY.")
_c.scalar("LEFT", "str, INT", "STRING", "The first characters.")
_c.scalar("RIGHT", "str, INT", "STRING", "The last characters.")
_c.scalar(
    "SPLIT",
    "str, str, INT?",
    "ARRAY<STRING>",
    "The parts between the places where a regular expression matches, at most so many.",
)
_c.scalar(
    "SPLIT_PART",
    "str, str, INT",
    "STRING",
    "The n-th part between delimiters: 1 is the first, -1 the last; empty where there is none.",
    sql="split_part({0}, {1}, nullif({2}, 0))",
)
_c.scalar(
    "SPLIT_INDEX",
    "str, str, INT",
    "STRING",
    "The n-th part between delimiters: 0 is the first; NULL where there is none.",
    sql=r"get(split({0}, concat('\\Q', {1}, '\\E')), {2})",
)
_c.scalar(
    "SUBSTRING_INDEX",
    "str, str, INT",
    "STRING",
    "What stands before the n-th delimiter, or after it from the end where n is negative.",
)
_c.scalar(
    "OVERLAY",
    "str, str, INT, INT?",
    "STRING",
    "The text with another one written over it from a position.",
)
_c.scalar("REPLACE", "str, str, str?", "STRING", "The text with every match replaced, or removed.")
_c.scalar(
    "TRANSLATE", "str, str, str", "STRING", "The text with single characters replaced one by one."
)

# --- search --------------------------------------------------------------------------------------

_c.scalar("STARTSWITH", "str, str", "BOOLEAN", "Whether the text begins with another.")
_c.scalar("ENDSWITH", "str, str", "BOOLEAN", "Whether the text ends with another.")
_c.scalar("CONTAINS", "str, str", "BOOLEAN", "Whether the text holds another.")
_c.scalar("INSTR", "str, str", "INT", "Where another text first stands in it (from 1), or 0.")
_c.scalar(
    "LOCATE POSITION",
    "str, str, INT?",
    "INT",
    "Where the first text first stands in the second (from 1), or 0; from a position on.",
)
_c.scalar("FIND_IN_SET", "str, str", "INT", "The place (from 1) in a list with commas, or 0.")
_c.scalar("ILIKE", "str, str", "BOOLEAN", "Whether the text matches a LIKE pattern, case ignored.")
_c.scalar(
    "REGEXP_LIKE", "str, str", "BOOLEAN", "Whether a regular expression matches somewhere in it."
)
_c.scalar(
    "REGEXP_EXTRACT",
    "str, str, INT!?",
    "STRING",
    "What a group of a regular expression matched (the first group unless said), or empty.",
)
_c.scalar(
    "REGEXP_EXTRACT_ALL",
    "str, str, INT!?",
    "ARRAY<STRING>",
    "All that a group of a regular expression matched.",
)
_c.scalar(
    "REGEXP_REPLACE",
    "str, str, str, INT!?",
    "STRING",
    "The text with what a regular expression matches replaced ($1 is its first group).",
)
_c.scalar(
    "REGEXP_SUBSTR", "str, str", "STRING", "The first match of a regular expression, or NULL."
)
_c.scalar("REGEXP_INSTR", "str, str", "INT", "Where the first match stands (from 1), or 0.")
_c.scalar("REGEXP_COUNT", "str, str", "INT", "How often a regular expression matches.")

# --- joining and formatting ----------------------------------------------------------------------

_c.scalar("CONCAT", "str*", "STRING", "The texts one after another.")
_c.scalar("CONCAT", "BINARY*", "BINARY", "The same of BINARY values.")
_c.scalar("CONCAT", "ARRAY<T>*", "ARRAY<T>", "One array with the elements of all.")
_c.scalar(
    "CONCAT_WS",
    "str, str|ARRAY<STRING>*",
    "STRING",
    "The texts, and elements of arrays, with a separator between them; NULLs are left out.",
    null_safe=True,
)
_c.scalar(
    "FORMAT_STRING PRINTF",
    "str!, any*",
    "STRING",
    "The values in a format of printf, such as '%d of %s'.",
    null_safe=True,
)
_c.scalar(
    "FORMAT_NUMBER",
    "num, INT",
    "STRING",
    "The number with commas and so many digits after the point.",
)
_c.scalar("FORMAT_NUMBER", "num, str!", "STRING", "The number in a format such as '#,###.00'.")
_c.scalar("ELT", "INT, str, str*", "STRING", "The n-th of the texts, from 1.", null_safe=True)
_c.scalar("QUOTE", "str", "STRING", "The text as a string literal, quotes escaped.")
_c.scalar("MASK", "str", "STRING", "Letters become X or x, digits n.")

# --- characters and likeness ---------------------------------------------------------------------

_c.scalar("ASCII", "str", "INT", "The code of the first character.")
_c.scalar("CHR CHAR", "INT", "STRING", "The character of a code, modulo 256.")
_c.scalar("LEVENSHTEIN", "str, str", "INT", "How many edits turn one text into the other.")
_c.scalar("JARO_WINKLER_SIMILARITY", "str, str", "DOUBLE", "How alike two texts are, from 0 to 1.")
_c.scalar("SOUNDEX", "str", "STRING", "The Soundex code of an English word.")
_c.scalar(
    "SENTENCES", "str", "ARRAY<ARRAY<STRING>>", "The words of each sentence of an English text."
)
_c.scalar("LUHN_CHECK", "str", "BOOLEAN", "Whether the last digit checks by Luhn's rule.")
_c.scalar("IS_VALID_UTF8", "str", "BOOLEAN", "Whether the bytes of the text are UTF-8.")

# --- encodings -----------------------------------------------------------------------------------

_c.scalar("ENCODE", "str, str!", "BINARY", "The bytes of a text in a character set.")
_c.scalar("DECODE", "BINARY, str!", "STRING", "The text of bytes in a character set.")
_c.scalar("BASE64", "BINARY", "STRING", "The bytes in base 64.")
_c.scalar("BASE64", "str", "STRING", "The bytes of the text in base 64.")
_c.scalar("UNBASE64", "str", "BINARY", "The bytes that a text in base 64 stands for.")
_c.scalar("HEX", "int", "STRING", "The whole number in hexadecimal digits.")
_c.scalar("HEX", "bytes", "STRING", "The bytes in hexadecimal digits.")
_c.scalar("UNHEX", "str", "BINARY", "The bytes that hexadecimal digits stand for, or NULL.")
_c.scalar(
    "TO_BINARY",
    "str, str!?",
    "BINARY",
    "The bytes of a text in 'hex' (unless said), 'utf-8' or 'base64', or NULL.",
    sql="try_to_binary({args})",
)

FUNCTIONS = _c.build()
