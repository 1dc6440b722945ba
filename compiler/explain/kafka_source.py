"""Streams and sinks of Kafka in a PySpark program of their own: secrets come from the environment, schemas from their files."""

from __future__ import annotations

import json

from streamq.compiler.explain.script import Script, literal
from streamq.compiler.ir import physical as ph
from streamq.compiler.lowering.sql import quote
from streamq.compiler.lowering.values import (
    BATCH,
    RUN,
    asks_headers,
    avro_bytes,
    headers_sql,
    key_sql,
    parse_sql,
    record_items,
    shape_of,
    value_sql,
    whole_sql,
)
from streamq.stdlib.avro_schema import END_TYPE, READ, told_as_read
from streamq.stdlib.kafka_options import CLIENT, OWN, PATHS, SECRETS, is_client_secret, login_of
from streamq.stdlib.secrets import reference

HELPERS = '''def in_quotes(text):
    """A text for the login of Kafka's client."""
    for part, escaped in (("\\\\", "\\\\\\\\"), ('"', '\\\\"'), ("\\n", "\\\\n"), ("\\r", "\\\\r")):
        text = text.replace(part, escaped)
    return f'"{text}"'


def secret_file(path):
    """A secret that stands in a file."""
    with open(path, encoding="utf-8") as file:
        return file.read().rstrip("\\r\\n")


'''
"""What the program needs where it logs in, or secrets stand in files."""


def needs_helpers(plan: ph.PhysicalPlan) -> bool:
    """True where a stream or sink of Kafka is talked to with secrets."""
    scans = (s for q in plan.queries for s in ph.walk(q.root) if isinstance(s, ph.ScanStream) and s.connector == "kafka")
    options = [*(s.options for s in scans), *(q.sink.options for q in plan.queries if q.sink.connector == "kafka")]
    return any(name in SECRETS or is_client_secret(name) for one in options for name, _ in one)


def read_lines(step: ph.ScanStream, script: Script) -> str:
    """Adds the lines that read records; gives the variable of their frame."""
    options = dict(step.options)
    name = script.variable("reader")
    script.add(f'{name} = spark.readStream.format("kafka")')
    named = {
        **{key: literal(str(options[option])) for option, key in _TOPICS.items() if option in options},
        "failOnDataLoss": literal(str(options["fail_on_data_loss"]).lower()),
    }
    starting = str(options["starting"])
    if starting in ("earliest", "latest"):
        named["startingOffsets"] = literal(starting)
    else:
        named["startingTimestamp"] = f"str(max(0, round(datetime.fromisoformat({literal(starting + '+00:00')}).timestamp() * 1000)))"
        named["startingOffsetsByTimestampStrategy"] = literal("latest")
        script.add("from datetime import datetime")
    if "max_rows_per_trigger" in options:
        named["maxOffsetsPerTrigger"] = literal(str(options["max_rows_per_trigger"]))
    if asks_headers(step):
        named["includeHeaders"] = literal("true")
    for key, value in (*_client(options), *named.items()):
        script.add(f"{name} = {name}.option({literal(key)}, {value})")
    return script.frame(f"{name}.load().select(\n{_columns(record_items(step))}    )")


_TOPICS = {"topic": "subscribe", "topic_pattern": "subscribePattern"}


def parse_lines(step: ph.Parse, below: str, script: Script) -> str:
    """Adds the lines that read values; gives the variable of their frame."""
    passed = "".join(f"        {literal(quote(name))},\n" for name in step.passed)
    if step.format != "avro":
        made = f"F.expr({literal(parse_sql(step))})"
    else:
        schema = _told_as_read(dict(step.options), script)
        mode = literal("FAILFAST" if step.fails else "PERMISSIVE")
        script.add("from pyspark.sql.avro.functions import from_avro")
        made = f'from_avro(F.expr({literal(avro_bytes(step))}), {schema}, {{"mode": {mode}}})'
    return script.frame(f"{below}.select(\n{passed}        {made}.alias({literal(step.into)}),\n    )")


def write_lines(query: ph.PhysicalQuery) -> list[str]:
    """The lines that write rows as records, of a function that has a ``writer``."""
    options, script = dict(query.sink.options), Script()
    shape = shape_of(query.columns, query.keys, options)
    if options["format"] == "avro":
        schema = _schema({"schema": shape.schema, **options}, script)
        script.add("from pyspark.sql.avro.functions import to_avro")
        value = f"to_avro(F.expr({literal(whole_sql(shape))}), {schema}).alias(\"value\")"
    else:
        value = f"F.expr({literal(value_sql(shape, options))}).alias(\"value\")"
    key = [f"F.expr({literal(key_sql(shape, query.columns))}).alias(\"key\")"] if shape.key else []
    headers = f"F.expr({literal(headers_sql(shape, query.name))}).alias(\"headers\")"
    script.add("def write(batch, batch_id):")
    script.add('    run = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")')
    script.add(f"    batch = batch.withColumn({literal(RUN)}, F.lit(run)).withColumn({literal(BATCH)}, F.lit(str(batch_id)))")
    script.add(f"    batch = batch.select({', '.join((value, headers, *key))})")
    script.add('    records = batch.write.format("kafka")')
    for name, text in (*_client(options), ("topic", literal(str(options["topic"])))):
        script.add(f"    records = records.option({literal(name)}, {text})")
    script.add("    records.save()")
    return [*script.lines, "return writer.foreachBatch(write).start()"]


def _client(options: dict[str, ph.OptionValue]) -> list[tuple[str, str]]:
    """What Kafka's client is to know: Spark's option, and Python that gives its value."""
    found: list[tuple[str, str]] = []
    for name, value in options.items():
        if name.startswith(OWN):
            found.append((name, _secret(str(value)) if is_client_secret(name) else literal(str(value))))
        elif name in CLIENT:
            shown = _secret(str(value)) if name in SECRETS else literal(str(value))
            found.append((OWN + CLIENT[name], f"os.path.abspath({shown})" if name in PATHS else shown))
    if "username" in options:
        login = literal(f"{login_of(str(options['sasl_mechanism']))} required username=")
        user, password = literal(str(options["username"])), _secret(str(options["password"]))
        found.append((f"{OWN}sasl.jaas.config", f'{login} + in_quotes({user}) + " password=" + in_quotes({password}) + ";"'))
    return found


def _secret(text: str) -> str:
    where = reference(text)
    if where is None:
        return 'os.environ["STREAMQ_SECRET"]'
    kind, name = where
    return f"os.environ[{literal(name)}]" if kind == "env" else f"secret_file({literal(name)})"


def _schema(options: dict[str, ph.OptionValue], script: Script) -> str:
    """Python that gives the Avro schema of values."""
    if "schema_file" not in options:
        return literal(str(options["schema"]))
    name = script.variable("schema")
    script.add(f"with open({literal(str(options['schema_file']))}, encoding=\"utf-8\") as file:")
    script.add(f"    {name} = file.read()")
    return name


def _told_as_read(options: dict[str, ph.OptionValue], script: Script) -> str:
    """Python that gives the schema of a value with the mark behind it that tells where it ends."""
    if "schema_file" not in options:
        return literal(told_as_read(str(options["schema"])))
    name = _schema(options, script)
    script.add("import json")
    script.add(f"told_{name} = json.loads({name})")
    script.add(f'told_{name}["fields"].append({json.dumps({"name": READ, "type": END_TYPE})})')
    return f"json.dumps(told_{name})"


def _columns(items: tuple[ph.Named, ...]) -> str:
    return "".join(f"        F.expr({literal(s)}).alias({literal(n)}),\n" for n, s in items)
