# Everything runs in .venv, which is built from python3 alone and rebuilt when what it depends on changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2
PYTEST_ARGS ?=

# What runs servers has an environment of its own, so that theirs and ours do not depend on each other.
SERVERS := .venv-servers
SERVERS_STAMP := $(SERVERS)/.installed

.PHONY: venv servers demo test test-durability lint bench clean

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

servers: $(SERVERS_STAMP)

$(SERVERS_STAMP): pyproject.toml constraints.txt tests/durability/requirements-servers.txt
	$(PYTHON) -m venv $(SERVERS)
	$(SERVERS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-r tests/durability/requirements-servers.txt -e .
	$(SERVERS)/bin/python -m pip install --quiet --disable-pip-version-check uwsgi==2.0.31 \
		|| echo "uWSGI cannot be compiled here; its test will be skipped"
	touch $@

demo: venv
	$(BIN)/tracedance demo

test: venv
	$(BIN)/python -m pytest -n $(JOBS) --inline-snapshot=disable $(PYTEST_ARGS)

# Kills, faults and servers, the short sets and the long ones, with their tables at the end.
test-durability: venv servers
	$(BIN)/python -m pytest -n $(JOBS) --inline-snapshot=disable -m "durability or not durability" \
		tests/durability $(PYTEST_ARGS)

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_sizes.py

bench: venv
	$(BIN)/python tests/performance/run.py

clean:
	rm -rf $(VENV) $(SERVERS) build dist .benchmarks .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
