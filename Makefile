# make demo    run the example examinations: a humanoid, a guidewire, soccer, classic tasks
# make test    run the tests in two processes (ARGS="-k name" for some of them, JOBS=8 for more processes)
# make quick   run the tests that are not marked slow, likewise
# make lint    ruff and pyright
# make bench   print the benchmark table
# make campaign  break runs in every way and see that nothing is lost (ARGS="--faults 10000" for the long one)
# make oldest, make newest  fast tests with the lowest and the newest versions of the dependencies, in .venv-oldest and .venv-newest
# make bare    install without extras in a fresh environment, and run a Gymnasium task with a Python policy
# make clean   remove caches and build leftovers; results and the environment stay
#
# Each verb first sets up .venv if pyproject.toml or constraints.txt changed. PYTHON=python3.12 chooses the interpreter.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JOBS ?= 2
PYTEST = $(BIN)/pytest -n $(JOBS) --dist worksteal

.PHONY: demo test quick lint bench campaign oldest newest bare clean setup
.DEFAULT_GOAL := test

demo: $(READY)
	@scripts/system-packages.sh
	$(BIN)/proctor run examples/tracking.yml
	$(BIN)/proctor run examples/endovascular.yml
	$(BIN)/proctor run examples/soccer.yml
	$(BIN)/proctor run examples/quickstart.yml

test: $(READY)
	@scripts/system-packages.sh
	$(PYTEST) $(ARGS)

quick: $(READY)
	@scripts/system-packages.sh
	$(PYTEST) -m "not slow" $(ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: $(READY)
	$(BIN)/python -m benchmarks $(ARGS)

campaign: $(READY)
	$(BIN)/python -m campaign $(ARGS)

oldest:
	@scripts/system-packages.sh
	scripts/version-sets.sh $@ $(ARGS)

newest:
	@scripts/system-packages.sh
	scripts/version-sets.sh $@ $(ARGS)

bare:
	scripts/version-sets.sh $@

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@scripts/setup-venv.sh $(VENV)
	@touch $@

clean:
	rm -rf build dist .pytest_cache .ruff_cache .hypothesis src/*.egg-info
	find src tests examples benchmarks campaign -name __pycache__ -type d -prune -exec rm -rf {} +
