# Every target works on its own from a clean clone with Python 3.11 or newer, git and make.
# Repeated calls are quick: what is installed is remembered by stamp files inside the environment.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV  ?= .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.stamp
OUT   := out

export UV_PYTHON_DOWNLOADS := never
# Two test workers on two cores: threads inside BLAS would only get into each other's way.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1

# The first interpreter that really runs, is new enough and can make an environment. The versions in
# constraints.txt were resolved on 3.11, so that one is tried first. Name another with PYTHON=….
PYTHONS := python3.11 python3.12 python3.13 python3.14 python3 python
PYTHON  ?= $(shell for python in $(PYTHONS); do \
	$$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& { echo $$python; break; }; done)

# ---- for people -------------------------------------------------------------------------------

.PHONY: help
help:  ## say what can be made (this list)
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: install
install: $(STAMP)/demo  ## make .venv with what files, plots and the collector need
	@echo "Ready: $(BIN)/discreet, or 'source $(BIN)/activate' and then 'discreet'."

.PHONY: demo
demo: $(STAMP)/demo  ## install what the demo needs, then run it
	@$(BIN)/discreet demo
	@echo "To use discreet on files of your own: source $(BIN)/activate, then: discreet privatize --help"

.PHONY: serve
serve: $(STAMP)/service  ## run a collector on this machine
	@$(BIN)/discreet serve

# ---- for developers ---------------------------------------------------------------------------

.PHONY: setup
setup: $(STAMP)/all  ## make .venv with everything: all extras (Flower apart) and the development tools
	@echo "Ready: $(BIN)/discreet, or 'source $(BIN)/activate'."

.PHONY: setup-flower
setup-flower:  ## make .venv-flower: Flower pins older versions of what we use, so it lives apart
	@$(MAKE) VENV=.venv-flower .venv-flower/.stamp/flower
	@echo "Ready: .venv-flower/bin/discreet, or 'source .venv-flower/bin/activate'."

.PHONY: setup-peers
setup-peers: .venv-peers  ## make .venv-peers: pure-ldp and multi-freq-ldpy need older versions of what we use
	@echo "Ready: 'discreet bench' finds it."

.venv-peers: benchmarks/src/discreet_benchmarks/constraints-peers.txt | $(STAMP)/test
	@echo "Making .venv-peers"
	@$(BIN)/python -m discreet_benchmarks.peers && touch $@

.PHONY: test
test: $(STAMP)/test system  ## run the fast tests and every example in the docstrings
	@$(BIN)/python -m pytest --doctest-modules tests papers benchmarks src/discreet
	@if [ "$${CI:-}" = true ]; then $(MAKE) test-light test-flower; fi

.PHONY: test-light
test-light:  ## run the tests that need no extra, in an environment with the core dependencies alone
	@$(MAKE) VENV=.venv-light .venv-light/.stamp/light
	@.venv-light/bin/python -m pytest --light --doctest-modules tests src/discreet

.PHONY: test-slow
test-slow: $(STAMP)/test system  ## run the slow tests: audits, large samples
	@$(BIN)/python -m pytest -m slow tests papers/tests benchmarks/tests

.PHONY: test-flower
test-flower: setup-flower  ## run the tests of federated learning in Flower's environment
	@.venv-flower/bin/python -m pytest tests/federated papers/tests/test_federated_page.py

.PHONY: flower
flower: setup-flower  ## learn on Flower's simulation engine once, for real; writes docs/results/federated_flower.json
	@.venv-flower/bin/python -m discreet_benchmarks.flower

.PHONY: check
check: $(STAMP)/test  ## lint, formatting, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: $(STAMP)/test  ## format the code and mend what the linter can mend
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: bench
bench: $(STAMP)/test  ## measure speed and accuracy beside the peers, into out/bench
	@$(BIN)/discreet bench --out $(OUT)/bench

.PHONY: docs
docs: $(STAMP)/docs  ## build the documentation into out/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir $(OUT)/site
	@echo "Open $(OUT)/site/index.html (to search as well: $(BIN)/python -m http.server --directory $(OUT)/site)"

.PHONY: dist
dist: $(STAMP)/test  ## build sdist, wheel and bill of materials into out/dist
	@rm -rf $(OUT)/dist
	@for target in sdist wheel; do $(BIN)/python -m hatchling build -t $$target -d $(OUT)/dist; done
	@$(BIN)/python tools/sbom.py $(OUT)/dist/discreet.cdx.json

.PHONY: newcomer
newcomer: $(STAMP)/test  ## install wheel and sdist in fresh environments, and run every command and code block of the pages
	@$(BIN)/python tools/newcomer.py

.PHONY: constraints
constraints: $(STAMP)/venv  ## resolve constraints*.txt again to today's newest versions (needs uv)
	@compile() { $(BIN)/uv pip compile --quiet --upgrade --python-version 3.11 --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links pyproject.toml "$$@"; }; \
	compile --extra all --extra docs --extra dev <(echo uv) -o constraints.txt; \
	compile --extra flower-simulation --extra dataframes --extra fast --extra plots --extra scipy --extra dev \
	  -o constraints-flower.txt

.PHONY: system
system:  ## install the Debian packages that a few tests use, where missing and possible
	@missing=""; \
	command -v psql >/dev/null || missing+=" postgresql"; \
	command -v chromium >/dev/null || missing+=" chromium"; \
	command -v chromedriver >/dev/null || missing+=" chromium-driver"; \
	command -v java >/dev/null || missing+=" default-jre-headless"; \
	{ command -v nginx || test -x /usr/sbin/nginx; } >/dev/null || missing+=" nginx"; \
	command -v caddy >/dev/null || missing+=" caddy"; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then echo "No apt-get here; missing:$$missing."; exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then root=""; \
	elif [ "$(MAKECMDGOALS)$${CI:-}" != test ] && sudo -n true 2>/dev/null; then root="sudo"; \
	else echo "Not installed:$$missing ('make system' installs it)."; exit 0; fi; \
	export DEBIAN_FRONTEND=noninteractive; \
	$$root apt-get update -qq || true; \
	for package in $$missing; do \
	  $$root apt-get install -y -qq --no-install-recommends $$package \
	    || echo "Could not install $$package; the tests that need it say so."; \
	done

.PHONY: clean
clean:  ## remove caches and everything make wrote, but not the environment
	@rm -rf $(OUT) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .benchmarks
	@find src tests papers benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

.PHONY: clean-all
clean-all: clean  ## remove the environments as well
	@rm -rf .venv .venv-flower .venv-light .venv-peers

# ---- environments -----------------------------------------------------------------------------

$(STAMP)/venv:
	@test -x $(BIN)/python || test -n "$(PYTHON)" || \
	  { echo "discreet needs Python 3.11 or newer with its venv module; name one with PYTHON=…" >&2; exit 1; }
	@test -x $(BIN)/python || { echo "Making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv \
	  || echo "uv cannot be had here: pip will do."
	@mkdir -p $(STAMP) && touch $@

# Each stamp stands for one set of extras, at pinned versions, and for the distributions of this repository that are
# installed beside discreet. uv installs where it can be had, pip otherwise (pip also knows a mirror that was set up
# for pip alone).
$(STAMP)/demo:    EXTRAS := service,plots,excel
$(STAMP)/service: EXTRAS := service,plots,excel
$(STAMP)/test:    EXTRAS := dev,all
$(STAMP)/docs:    EXTRAS := docs,plots,scipy,fast,dataframes
$(STAMP)/all:     EXTRAS := dev,docs,all
$(STAMP)/light:   EXTRAS := test
$(STAMP)/flower:  EXTRAS := dev,dataframes,fast,plots,scipy,flower-simulation

$(STAMP)/test $(STAMP)/all $(STAMP)/flower: BESIDE := -e ./papers -e ./benchmarks

PINS := constraints.txt
$(STAMP)/flower:  PINS := constraints-flower.txt

SETTINGS := $(wildcard pyproject.toml */pyproject.toml constraints*.txt)

$(addprefix $(STAMP)/,demo service test docs all light flower): $(SETTINGS) | $(STAMP)/venv
	@echo "Installing discreet[$(EXTRAS)]$(BESIDE:-e%=%) into $(VENV)"
	@{ test -x $(BIN)/uv && $(BIN)/uv pip install --quiet --python $(BIN)/python -c $(PINS) -e ".[$(EXTRAS)]" $(BESIDE); } \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(PINS) -e ".[$(EXTRAS)]" $(BESIDE)
	@touch $@
