# Two commands do everything, on a machine that has only Python 3.11+ and git:
#   make demo   run the main job on the example fleet, in a temporary git repository
#   make test   the whole gate: lint, types, layers, tests, conformance, docs
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# What muster needs at run time, and what its development needs besides.
RUNTIME := $(VENV)/.runtime
STAMP   := $(VENV)/.installed

.PHONY: demo test lint types layers pytest coverage soak bench servers format clean example docs pages release tested-with

demo: $(RUNTIME)
	$(BIN)/muster demo

# One core types, which takes a while, as the others begin with the tests.
test: $(STAMP)
	$(MAKE) --jobs=4 lint types layers pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy engine tests

layers: $(STAMP)
	$(BIN)/lint-imports

# A file's tests stay together: they share what is dear to set up. Two processes more than there are cores: agents, watches
# and detectors wait for time to pass. In the order of the files: else those with few tests, and the longest, come last.
PROCESSES ?= $(shell $(PYTHON) -c 'import os; print(min(8, (os.cpu_count() or 1) + 2))')
# Of many processes the first one compiles what all of them import, whatever is said elsewhere of bytecode.
pytest: export PYTHONDONTWRITEBYTECODE =
pytest: $(STAMP)
	@.ci/servers
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder

# Branch coverage of what mirrors the source, apart from the gate: tracing takes as long again. Whole fleets are not
# traced: a line that nothing but an example runs has no test that says what it is for. Nor is what interrupts at any
# instant: one in the tracer itself, with its lock held, would hang.
UNTRACED := conformance docs e2e packaging git/store/test_objects.py
coverage: $(STAMP)
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --cov --cov-report= $(UNTRACED:%=--ignore=tests/%)
	$(BIN)/coverage report --skip-covered | tail -40

# What takes minutes (MINUTES): fuzzing, simulations over days, agents beating for long, runs that are killed. Not part of
# the gate. Log records are not collected: they hold on to whole fleets.
MINUTES ?= 10
soak: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[soak]'
	MUSTER_SOAK_MINUTES=$(MINUTES) $(BIN)/python -m pytest -q -p no:cacheprovider -p no:logging tests/soak

# What whole runs cost, as ratios beside what is asked for; CLUSTERS=1000,10000 for other sizes of fleets.
CLUSTERS ?= 500,2000
bench: $(STAMP)
	$(BIN)/python -m benchmarks.scale --clusters $(CLUSTERS)
	$(BIN)/python -m benchmarks.starting

# Real servers for the tests of exports, pulses to RabbitMQ and alerts, kube-apiserver among them, which is built once.
# Where they cannot be had, those tests are skipped and counted by what is missing.
servers:
	@.ci/servers --build

# Derive the example fleet anew, as of its noon; the tests check that it is a fixed point.
example: $(STAMP)
	$(BIN)/python -m tests.support.example

# Write the parts of docs/ that are generated from the code; the tests check that they are current.
docs: $(STAMP)
	$(BIN)/python -m tests.support.docs

# The documentation as a site, in build/site; a link that leads nowhere is an error. The tests make it, too.
pages: $(STAMP)
	$(BIN)/python -m tests.support.docs_site

# Write docs/tested-with.md: which real parts a whole run of the tests used, from its results. After `make servers`.
tested-with: $(STAMP)
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --junit-xml=build/tests.xml
	MUSTER_SOAK_MINUTES=60 $(BIN)/python -m pytest --junit-xml=build/release.xml tests/soak/test_release.py
	$(BIN)/python -m tests.support.tested_with build/tests.xml build/release.xml

# Wheel, sdist, muster.pyz, an image and a chart in dist/, of what is committed, with bills of what is inside, digests and
# provenance. Each is run. What cannot be made here is said, with the reason.
release: $(STAMP)
	$(BIN)/python -m tests.support.release

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(RUNTIME): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("muster needs Python 3.11 or later, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $(RUNTIME)

$(STAMP): $(RUNTIME)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[dev,docs,amqp,detect,release]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
