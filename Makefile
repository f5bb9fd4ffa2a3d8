# Two commands do everything: `make demo` and `make test`. Both install what they need into .venv, once; the tests run in
# the versions of requirements/test.txt.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: .venv/installed  ## install, train an English-Spanish translator (about a minute), translate with it
	$(BIN)/dragoman train phrases --preset small --epochs 8 --out demo-model
	@echo
	@echo 'The plant is green.'
	$(BIN)/dragoman translate demo-model "The plant is green."
	@echo
	@echo 'Try next: $(BIN)/dragoman translate demo-model "My sister has a new car."'

test: .venv/installed-test  ## install the test tools, run all tests
	$(BIN)/python -m pytest -n auto -q

lint: .venv/installed-test  ## run ruff, mypy and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src tools/phrases
	$(BIN)/lint-imports

# The page is tested in Chromium: installed where that needs no questions, otherwise its tests are skipped, and say so.
BROWSER = command -v chromium >/dev/null \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& apt-get -qq update && apt-get -qq install --yes chromium >/dev/null; } \
	|| echo 'chromium is not installed: the tests of the page will be skipped'

CORPUS := $(wildcard ../shared/data/eng-spa.tsv.gz)
bench: .venv/installed-bench  ## install PyTorch and CTranslate2, measure side by side with them (long; let nothing else run)
	@echo '$(if $(CORPUS),real sentences: $(CORPUS),no corpus found, so sentences are made up; name one: make bench CORPUS=pairs.tsv)'
	@mkdir -p bench-results
	$(BIN)/dragoman bench --compile --scaling $(if $(CORPUS),--corpus $(CORPUS)) \
		--json bench-results/bench.json --plot bench-results/bench.png

ledger: .venv/installed-test  ## which statements of the sources have a test that uses the package
	$(BIN)/python -m pytest --ledger -q -p no:cacheprovider

format: .venv/installed-test  ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: .venv/bin/python  ## write requirements/*.txt anew (UPGRADE=1: with the newest versions)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	PATH="$(BIN):$$PATH" $(BIN)/python tools/lock.py $(if $(UPGRADE),--upgrade)

clean:  ## remove the environment and caches
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist demo-model bench-results

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

# hashes for all packages, then torch, which has none (see requirements/test.txt)
.venv/installed-test: .venv/bin/python pyproject.toml requirements/test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[test]"
	@$(BROWSER)
	@touch $@ .venv/installed

.venv/installed-bench: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	@touch $@ .venv/installed

.PHONY: help demo test lint bench ledger format lock clean
