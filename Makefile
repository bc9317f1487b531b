# make demo    run the example examinations: a humanoid, a guidewire, soccer, classic tasks; the first trial of each is filmed
#              (ARGS="--set n_trials=1" for a shorter one)
# make test    run the tests in four processes (ARGS="-k name" for some of them, JOBS=8 for more processes)
# make quick   run the tests that are not marked slow, likewise
# make lint    ruff and pyright
# make bench   print the benchmark table
# make campaign  break runs in every way and see that nothing is lost (ARGS="--faults 10000" for the long one)
# make oldest, make newest  fast tests with the lowest and the newest versions of the dependencies, in .venv-oldest and .venv-newest
# make warp    run the tests of tracking worlds on a device (MuJoCo Warp and MJX, on the processor) in .venv-warp
# make dist    build the wheels and source distributions of proctor and proctor-host into dist
# make bare    install those wheels without extras in a fresh environment: doctor, demo, and an examination of one's own
# make mjlab   build the runtime of the suite mjlab in .venv/runtimes, where `make test` looks for it; needs a registry
# make site    build the documentation as a website into site
# make clean   remove caches and build leftovers; results and the environment stay
#
# Each verb first sets up .venv if pyproject.toml or constraints.txt changed. PYTHON=python3.12 chooses the interpreter.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JOBS ?= 4
PYTEST = $(BIN)/pytest -n $(JOBS) --dist worksteal

# The tests start thousands of processes: with bytecode beside the sources each is there in half the time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick lint bench campaign oldest newest warp bare dist mjlab site clean setup
.DEFAULT_GOAL := test

demo: $(READY)
	@scripts/system-packages.sh
	$(BIN)/proctor run examples/tracking.yml --set 'record={level: video, video: {every: 8}}' $(ARGS)
	$(BIN)/proctor run examples/endovascular.yml --set record.level=video $(ARGS)
	$(BIN)/proctor run examples/soccer.yml $(ARGS)
	$(BIN)/proctor run examples/quickstart.yml --set 'record={level: video, video: {every: 2}}' $(ARGS)
	@echo "see all four in a browser: $(BIN)/proctor view"

test: $(READY)
	@scripts/system-packages.sh browser
	$(PYTEST) $(ARGS)

quick: $(READY)
	@scripts/system-packages.sh browser
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

warp:
	scripts/version-sets.sh $@ $(ARGS)

dist: $(READY)
	rm -rf dist
	$(BIN)/python -m build --quiet --no-isolation --outdir dist host
	$(BIN)/python -m build --quiet --no-isolation --outdir dist .

bare: dist
	scripts/version-sets.sh $@

# Where nothing can be fetched, the test that uses it is skipped.
mjlab: $(READY)
	-PROCTOR_RUNTIMES=$(CURDIR)/$(VENV)/runtimes $(BIN)/proctor runtimes install mjlab

site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

setup: $(READY)

$(READY): pyproject.toml constraints.txt scripts/setup-venv.sh
	@scripts/setup-venv.sh $(VENV)
	@touch $@

clean:
	rm -rf build dist site .pytest_cache .ruff_cache .hypothesis src/*.egg-info
	find src host tests examples benchmarks campaign scripts -name __pycache__ -type d -prune -exec rm -rf {} +
