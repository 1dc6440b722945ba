# One command surface, the same on a developer's machine and in CI.
#   make demo    the main example for about 20 seconds     make check   lint, types, contracts, fast tests
#   make test    the tests, in 20 to 25 minutes            make warm    halves the start of later runs
#   make test-long    tests of clusters, kills and pipelines, which take minutes
#   make test-kafka   tests with a broker of Kafka, which is got from Maven and started by them
#   make nexmark the 24 queries of NEXMark, compared and timed   make linear-road   the Linear Road example, checked
# Python 3.11 or later is all that must be there: a Java of 17 or later is used if found, else one is installed.

PYTHON ?= python3
# Processes that tests run in; those on Spark have a session in each, of about 2 GB.
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LINKS := build/typing/streamq
TYPED := PYTHONPATH=build/typing
PIP = $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
# On a terminal pip shows how far it is; in a log there is a dot every five seconds.
INSTALL = $(if $(MAKE_TERMOUT),$(PIP) -e $(1),(while sleep 5; do printf .; done) & dots=$$!; \
  $(PIP) --quiet -e $(1); code=$$?; kill $$dots; echo; (exit $$code))
WITH_JAVA := '.[dev,java]'

.DEFAULT_GOAL := help
.PHONY: help venv demo nexmark linear-road test test-long test-kafka check lint format types contracts links fast-tests warm clean

help:
	@sed -n 's/^# \{0,2\}//p;/^$$/q' Makefile

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed: make PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || { echo "Making the virtual environment $(VENV)."; $(PYTHON) -m venv $(VENV); }
	@echo "Installing StreamQ, pyspark (500 MB) and the tools of the tests into it: 1.5 GB in all, a minute or two, more on a slow line."
	@$(call INSTALL,'.[dev]')
	@$(BIN)/python -c 'from streamq.runtime.spark.java import find_java; find_java()' 2>/dev/null || \
	  { echo "No Java 17 or later was found: installing one with pip."; \
	    $(call INSTALL,$(WITH_JAVA)); }
	@touch $(STAMP)

demo: $(STAMP)
	$(BIN)/streamq run examples/nexmark/hot_items.cql --for 20s
	@echo
	@echo "Next: . $(BIN)/activate, then streamq init my-project makes a project of your own; docs/getting-started.md goes step by step."

# Other numbers of events, single queries, without Spark: make nexmark NEXMARK="--only q5,q7 --no-spark"
nexmark: $(STAMP)
	$(BIN)/python -m examples.nexmark.suite $(NEXMARK)

# Without Spark, another length: make linear-road LINEAR_ROAD="--engine reference --minutes 10"
linear-road: $(STAMP)
	$(BIN)/python -m examples.linear_road.run $(LINEAR_ROAD)

test: $(STAMP) warm
	$(BIN)/python -m pytest -m "not long and not kafka" -n $(JOBS) --dist worksteal --durations=15
	@echo "Left out: clusters, and processes that are killed again and again (make test-long); a broker of Kafka (make test-kafka)."

test-long: $(STAMP) warm
	$(BIN)/python -m pytest -m long -n $(JOBS) --dist worksteal --durations=5

# One process, one broker. Where its jars cannot be got all is skipped, and the last lines say why.
test-kafka: $(STAMP)
	$(BIN)/python -m pytest tests/kafka -m kafka -rs

check: lint types contracts fast-tests

lint: $(STAMP)
	$(BIN)/ruff check .

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: links
	$(BIN)/mypy

contracts: links
	$(TYPED) $(BIN)/lint-imports --no-logo

fast-tests: $(STAMP)
	$(BIN)/python -m pytest -q -n $(JOBS)

# Type checkers and import contracts do not run the import hook of the editable install: they see links.
links: $(STAMP)
	@mkdir -p $(LINKS)
	@for room in dsl stdlib compiler runtime; do ln -sfn ../../../$$room $(LINKS)/$$room; done
	@for file in __init__.py __main__.py py.typed; do \
	  test ! -e runtime/_streamq/$$file || ln -sfn ../../../runtime/_streamq/$$file $(LINKS)/$$file; done

# Makes the archive of classes that Spark's JVM starts from; without it everything runs, but starts slower.
warm: $(STAMP)
	-@$(BIN)/python -m streamq.runtime.spark.warm_up

clean:
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find dsl stdlib compiler runtime tests -name __pycache__ -type d -prune -exec rm -rf {} +
