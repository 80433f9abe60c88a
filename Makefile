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

# So have backends that spans are sent to, and SDKs that observe the same process.
PHOENIX := .venv-phoenix
PHOENIX_STAMP := $(PHOENIX)/.installed
BESIDE := .venv-beside
BESIDE_STAMP := $(BESIDE)/.installed

# And so have agent frameworks, which pin each other's versions.
FRAMEWORKS := tier1 spans-a spans-b
FRAMEWORK_REPORTS := $(FRAMEWORKS:%=.reports/frameworks-%.json)

# A real small model on this machine: 1.1 GB, fetched once.
LOCAL_MODEL := .venv-local-model
LOCAL_MODEL_STAMP := $(LOCAL_MODEL)/.installed
LOCAL_MODEL_FILES := .cache/local-model

.PHONY: venv servers backends demo test test-durability test-backends test-browser test-local-model \
	test-frameworks test-frameworks-newest test-frameworks-oldest integration-table lint bench bench-scale clean

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,all]'
	touch $@

servers: $(SERVERS_STAMP)

$(SERVERS_STAMP): pyproject.toml constraints.txt tests/durability/requirements-servers.txt
	$(PYTHON) -m venv $(SERVERS)
	$(SERVERS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-r tests/durability/requirements-servers.txt -e .
	$(SERVERS)/bin/python -m pip install --quiet --disable-pip-version-check uwsgi==2.0.31 \
		|| echo "uWSGI cannot be compiled here; its test will be skipped"
	touch $@

backends: $(PHOENIX_STAMP) $(BESIDE_STAMP)

$(PHOENIX_STAMP): tests/durability/requirements-phoenix.txt
	$(PYTHON) -m venv $(PHOENIX)
	$(PHOENIX)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

$(BESIDE_STAMP): pyproject.toml constraints.txt tests/durability/requirements-beside.txt
	$(PYTHON) -m venv $(BESIDE)
	$(BESIDE)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-r tests/durability/requirements-beside.txt -e .
	touch $@

$(LOCAL_MODEL_STAMP): pyproject.toml constraints.txt tests/llm/requirements-local-model.txt
	$(PYTHON) -m venv $(LOCAL_MODEL)
	$(LOCAL_MODEL)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-r tests/llm/requirements-local-model.txt -e '.[dev,models,behaviors]'
	touch $@

.venv-frameworks-%/.installed: pyproject.toml tests/frameworks/requirements-%.txt tests/frameworks/requirements-tests.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
		-r tests/frameworks/requirements-$*.txt -r tests/frameworks/requirements-tests.txt -e .
	touch $@

demo: venv
	$(BIN)/tracedance demo

test: venv
	$(BIN)/python -m pytest -n $(JOBS) --inline-snapshot=disable $(PYTEST_ARGS)

# Kills, faults and servers, the short sets and the long ones, with their tables at the end.
test-durability: venv servers
	$(BIN)/python -m pytest -n $(JOBS) --inline-snapshot=disable -m "durability or not durability" \
		tests/durability $(PYTEST_ARGS)

# A real backend, and other SDKs in one process with ours; their first installation takes minutes.
test-backends: venv backends
	TRACEDANCE_REQUIRE=backend $(BIN)/python -m pytest --inline-snapshot=disable \
		-m "durability or not durability" \
		tests/durability/test_phoenix.py tests/durability/test_beside.py \
		tests/durability/test_foreign_spans.py $(PYTEST_ARGS)

# Reports in real Chromium (apt-get install chromium); a minute.
test-browser: venv
	TRACEDANCE_REQUIRE=browser $(BIN)/python -m pytest --inline-snapshot=disable \
		tests/report/test_html_browser.py $(PYTEST_ARGS)

# Agent frameworks themselves, against a scripted endpoint, in environments of their own: the newest
# versions that are supported, and the oldest.
test-frameworks: test-frameworks-newest test-frameworks-oldest

test-frameworks-newest: $(FRAMEWORK_REPORTS)

.PHONY: $(FRAMEWORK_REPORTS)
.reports/frameworks-tier1.json: FRAMEWORK_TESTS := $(filter-out %_local_model.py,$(wildcard tests/frameworks/test_*.py))
.reports/frameworks-spans-a.json: FRAMEWORK_TESTS := tests/frameworks/spans_a
.reports/frameworks-spans-b.json: FRAMEWORK_TESTS := tests/frameworks/spans_b
$(FRAMEWORK_REPORTS): .reports/frameworks-%.json: .venv-frameworks-%/.installed
	TRACEDANCE_REQUIRE=frameworks TRACEDANCE_FRAMEWORK_REPORT=$@ \
		.venv-frameworks-$*/bin/python -m pytest --inline-snapshot=disable $(FRAMEWORK_TESTS) $(PYTEST_ARGS)

OLDEST := tier1-oldest agents-oldest clients-oldest
OLDEST_REPORTS := $(OLDEST:%=.reports/frameworks-%.json)
test-frameworks-oldest: $(OLDEST_REPORTS)

.PHONY: $(OLDEST_REPORTS)
.reports/frameworks-tier1-oldest.json: FRAMEWORK_TESTS := $(filter-out %_agents.py %_agents_runs.py %_local_model.py,$(wildcard tests/frameworks/test_*.py))
.reports/frameworks-agents-oldest.json: FRAMEWORK_TESTS := tests/frameworks/test_openai_agents.py tests/frameworks/test_openai_agents_runs.py
.reports/frameworks-clients-oldest.json: FRAMEWORK_TESTS := tests/frameworks/test_openai.py tests/frameworks/test_anthropic.py
$(OLDEST_REPORTS): .reports/frameworks-%.json: .venv-frameworks-%/.installed
	TRACEDANCE_FRAMEWORK_REPORT=$@ \
		.venv-frameworks-$*/bin/python -m pytest --inline-snapshot=disable $(FRAMEWORK_TESTS) $(PYTEST_ARGS)

# The tables of docs/integrations.md, from what the tests above came to.
integration-table: test-frameworks-newest
	$(PYTHON) tools/integration_table.py $(FRAMEWORK_REPORTS)

# A real model behind the same APIs, some minutes on two processors; benchmarks need the shared data.
test-local-model: $(LOCAL_MODEL_STAMP)
	LOCAL_LLM_GGUF="$$($(LOCAL_MODEL)/bin/python tools/fetch_local_model.py $(LOCAL_MODEL_FILES))" \
		TRACEDANCE_REQUIRE="local model" \
		$(LOCAL_MODEL)/bin/python -m pytest --inline-snapshot=disable \
		tests/replay/test_next_turn_local_model.py tests/judging/test_judge_local_model.py \
		tests/replay/test_replay_local_model.py \
		tests/behaviors/test_benchmark_local_model.py tests/frameworks/test_local_model.py $(PYTEST_ARGS)

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_sizes.py

bench: venv
	$(BIN)/python tests/performance/run.py

# Scanning 252,557 generated sessions, once: half an hour to make them, minutes to search them.
bench-scale: venv
	PYTHONPATH=. $(BIN)/python -m tests.performance.scanning

clean:
	rm -rf $(VENV) .venv-frameworks-* .reports $(SERVERS) $(PHOENIX) $(BESIDE) $(LOCAL_MODEL) build dist .benchmarks .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
