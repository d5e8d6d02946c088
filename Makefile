# `make help` lists the targets. Each one builds the environment that it needs, once.

VENV := .venv
BENCH := .venv-bench
DOCS := .venv-docs
# Heavy packages that we work with, tested by `make integrations`; the marker `needs` names them.
INTEGRATIONS := .venv-integrations
PACKAGES ?= jax paddle pyspark ray tensorflow
comma := ,
space := $(subst ,, )
PEERS := torchcodec==0.13.0 decord2==3.4.0 transformers==5.23.0

# The first Python that runs and is new enough; `make PYTHON=...` chooses another.
PYTHON ?= $(shell for python in python3.11 python3.12 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && \
	echo $$python && break; done)

DALI := .venv-dali
# Libraries with tests for our drop-ins, and what building them needs.
PEER_TESTS := .venv-peers
PEER_TOOLS := pytest pytest-timeout pillow torchcodec==0.13.0 \
	setuptools setuptools_scm setuptools_rust wheel regex jinja2 cmake ninja
MATRIX := .venv-matrix
# Rows of tests/matrix.py, all when empty.
ROWS ?=

# Versions of PyAV that are supported, and the tests of what differs between them.
PYAV ?= 15 16 17 18 19
PYAV_TESTS := tests/audio tests/indexing tests/decoding tests/test_video.py tests/test_video_outputs.py

# Other processors, as variables of the libraries that choose code by what they find: OpenBLAS (of
# NumPy), PyTorch, oneDNN and MKL (of PyTorch), OpenCV, NumPy; and the tests that they can touch.
PROCESSORS ?= avx2 sse
PROCESSOR_avx2 := OPENBLAS_CORETYPE=Haswell ATEN_CPU_CAPABILITY=avx2 DNNL_MAX_CPU_ISA=AVX2 \
	OPENCV_CPU_DISABLE=AVX512-SKX NPY_DISABLE_CPU_FEATURES=AVX512_ICL,X86_V4
PROCESSOR_sse := OPENBLAS_CORETYPE=Nehalem ATEN_CPU_CAPABILITY=default DNNL_MAX_CPU_ISA=SSE41 \
	MKL_CBWR=COMPATIBLE OPENCV_CPU_DISABLE=AVX512-SKX,AVX2 \
	NPY_DISABLE_CPU_FEATURES=AVX512_ICL,X86_V4,X86_V3
PROCESSOR_TESTS := tests/datasets tests/dali/operators tests/dali/auto_aug tests/audio tests/compat \
	tests/decoding/cpu tests/decoding/images tests/decoding/test_color.py \
	tests/decoding/test_swscale.py tests/test_video_outputs.py \
	videoloader/datasets videoloader/dali/operators

# A folder with test modules of NVIDIA DALI, media for them and a runner; docs/dali/from-dali.md.
DALI_TESTS ?= ../shared/dali_tests
# Modules to run, all when empty.
MODULES ?=

# Two workers more than processors: many tests wait for processes of their own. Those without work
# take tests from the others: the slow ones stand together, and would be the last of one worker.
WORKERS = -n $(shell echo $$(($$(nproc) + 2))) --dist worksteal

# Tests of the core's pure layers: they start no process and decode little.
QUICK := tests/sampling tests/codecs videoloader/errors.py videoloader/sampling videoloader/codecs

# Halves of the tests: `make test PART=core` leaves out DALI's programming model, `PART=dali` runs it alone.
PART_core := --ignore=tests/dali --ignore=videoloader/dali
PART_dali := tests/dali videoloader/dali

# Our own clips when empty; `make demo VIDEOS=folder` for one's own.
VIDEOS ?=

PIP := -m pip --quiet --disable-pip-version-check

# Compiled modules are kept whatever the environment says: tests start hundreds of interpreters.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo check quick test lint types format written integrations pyav processors matrix bench dropins peers docs fuzz attack soak dali clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.installed ## run the main job on a few generated clips, or on VIDEOS=folder
	@$(VENV)/bin/python -m videoloader.demo $(if $(VIDEOS),"$(VIDEOS)")

check: $(VENV)/.installed-test ## lint, types and the quick tests of pure layers, side by side, in a minute
	@$(MAKE) --no-print-directory -j3 lint types quick

quick: $(VENV)/.installed-test
	$(VENV)/bin/python -m pytest -n auto -q $(QUICK)

test: $(VENV)/.installed-test lint types ## lint, types and tests, as CI runs them; PART=core or PART=dali: one half
	$(VENV)/bin/python -m pytest $(WORKERS) $(PART_$(PART))

lint: $(VENV)/.installed-test ## ruff's rules and format
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/.installed-test ## mypy --strict
	$(VENV)/bin/mypy

format: $(VENV)/.installed-test ## rewrite the files as ruff wants them
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

written: $(VENV)/.installed-test ## write the files that are made from the declarations of operators
	$(VENV)/bin/python docs/making/written.py

integrations: $(INTEGRATIONS)/.installed ## run the tests with heavy packages: PACKAGES="jax ray"
	VIDEOLOADER_REQUIRE=$(subst $(space),$(comma),$(strip $(PACKAGES))) \
		$(INTEGRATIONS)/bin/python -m pytest $(WORKERS) --dist loadgroup -m needs

pyav: $(VENV)/.installed-test ## run the tests of decoding with each version of PyAV, or PYAV="15 16"
	@for version in $(PYAV); do \
		echo "PyAV $$version"; \
		$(VENV)/bin/python $(PIP) install --no-deps --upgrade --target build/pyav$$version \
			"av==$$version.*" || { echo "not for this Python; 19 needs 3.12 or newer"; continue; }; \
		PYTHONPATH=build/pyav$$version $(VENV)/bin/python -m pytest -n auto $(PYAV_TESTS) || exit 1; \
	done

processors: $(VENV)/.installed-test ## run the tests that a processor can touch as on others; PROCESSORS=sse takes one
	@$(foreach name,$(PROCESSORS),echo "$(name)" && env $(PROCESSOR_$(name)) \
		$(VENV)/bin/python -m pytest $(WORKERS) -W ignore::ImportWarning $(PROCESSOR_TESTS) &&) true

matrix: $(MATRIX)/bin/uv ## run tests of the wheel with oldest and newest Python and dependencies
	$(MATRIX)/bin/python tests/matrix.py --save $(ROWS)

bench: $(BENCH)/.installed ## measure us beside our peers, in an environment of its own
	$(BENCH)/bin/python benchmarks/indexing.py
	$(BENCH)/bin/python benchmarks/decoding.py

dropins: $(BENCH)/.installed ## measure our drop-ins beside the libraries that they stand in for
	$(BENCH)/bin/python benchmarks/dropins.py --save

peers: $(PEER_TESTS)/.installed ## run tests of other libraries on our drop-ins and on their own readers
	$(PEER_TESTS)/bin/python benchmarks/peers.py --save

docs: $(DOCS)/.installed ## build the site in build/docs/html; a warning or a broken link fails
	$(DOCS)/bin/python -m sphinx -W --keep-going -q -j auto -b html -d build/docs/doctrees docs build/docs/html
	@echo "build/docs/html/index.html"

fuzz: $(VENV)/.installed-test ## index 20,000 mutated videos: a result or an error of ours
	$(VENV)/bin/python benchmarks/fuzz.py

attack: $(VENV)/.installed-test ## some minutes of damaged files and killed workers: no wrong frame, nothing left
	for script in tests/attacks/*.py; do $(VENV)/bin/python $$script || exit 1; done

soak: $(VENV)/.installed-test ## 200,000 samples with damaged files, killed workers and restores: each once an epoch
	$(VENV)/bin/python tests/soak.py

dali: $(DALI)/.installed ## run DALI's own tests on us: DALI_TESTS=folder MODULES="a.py b.py"
	rm -rf build/dali && mkdir -p build/dali
	cp -r "$(DALI_TESTS)/." build/dali/runner && chmod -R u+w build/dali/runner
	$(DALI)/bin/python build/dali/runner/make_lmdb.py $(CURDIR)/build/dali/runner/extra >/dev/null
	cd build/dali/runner && ../../../$(DALI)/bin/python run.py videoloader $(MODULES) \
		--python $(CURDIR)/$(DALI)/bin/python --tests $(CURDIR)/build/dali/runner/tests \
		--extra $(CURDIR)/build/dali/runner/extra --out $(CURDIR)/build/dali/results
	cd build/dali/runner && ../../../$(DALI)/bin/python run.py report $(MODULES) \
		--out $(CURDIR)/build/dali/results

clean: ## remove what was built and cached; the environments stay
	rm -rf build dist demo benchmarks/data *.egg-info
	rm -rf docs/dali/operators.md docs/learn docs/how/made docs/reference/made docs/reference/commands.md docs/reference/gallery.md
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find videoloader tests samples benchmarks -name __pycache__ -prune -exec rm -rf {} +

# A stamp is newer than what it was made from, so the second call has nothing to do.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(call make-environment,$(VENV))
	@$(VENV)/bin/python $(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml constraints.txt
	$(call make-environment,$(VENV))
	@$(VENV)/bin/python $(PIP) install --constraint constraints.txt --editable '.[test]'
	@touch $(VENV)/.installed $@

$(BENCH)/.installed: pyproject.toml constraints.txt Makefile
	$(call make-environment,$(BENCH))
	@$(BENCH)/bin/python $(PIP) install --constraint constraints.txt --editable . $(PEERS)
	@touch $@

$(PEER_TESTS)/.installed: pyproject.toml constraints.txt Makefile
	$(call make-environment,$(PEER_TESTS))
	@$(PEER_TESTS)/bin/python $(PIP) install --constraint constraints.txt --editable . $(PEER_TOOLS)
	@touch $@

$(INTEGRATIONS)/.installed: pyproject.toml constraints.txt
	$(call make-environment,$(INTEGRATIONS))
	@$(INTEGRATIONS)/bin/python $(PIP) install --constraint constraints.txt --editable '.[test,integrations]'
	@touch $@

$(DOCS)/.installed: pyproject.toml constraints.txt
	$(call make-environment,$(DOCS))
	@$(DOCS)/bin/python $(PIP) install --constraint constraints.txt --editable '.[docs]'
	@touch $@

$(DALI)/.installed: pyproject.toml constraints.txt
	$(call make-environment,$(DALI))
	@$(DALI)/bin/python $(PIP) install --constraint constraints.txt --editable '.[dali-tests]'
	@touch $@

$(MATRIX)/bin/uv:
	$(call make-environment,$(MATRIX))
	@$(MATRIX)/bin/python $(PIP) install uv

# An environment whose pip does not run is made anew.
define make-environment
@echo "Installing into $(1); the first time, PyTorch takes a while."
@$(1)/bin/python -m pip --version >/dev/null 2>&1 || { \
	[ -n "$(PYTHON)" ] || { echo "Python 3.11 or newer is needed; see make PYTHON=..." >&2; exit 1; }; \
	$(PYTHON) -m venv --clear $(1) && echo '*' > $(1)/.gitignore; }
endef
