# Everything here needs Linux, git, make and Python 3.11 or newer; the rest is fetched once.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PACKAGES := $(patsubst %/pyproject.toml,%,$(wildcard libs/*/pyproject.toml services/*/pyproject.toml)) cli
SOURCES := $(wildcard $(addsuffix /src,$(PACKAGES)) $(addsuffix /tests,$(PACKAGES)) tests bench) conftest.py
BIN := .venv/bin
READY := .venv/.ready
# More than two cores can carry out, because a test of the whole stack waits half of its time.
WORKERS := 4

.PHONY: help setup demo test up check format bench corpus docs lock schemas

help: ## Show what can be made
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

setup: $(READY) ## Make .venv with everything in it, as locked

demo: $(READY) ## Validate an example skill on a stack of its own, and show the verdict
	$(BIN)/assay validate examples/skills/csv-analyzer --report report-csv-analyzer.md

test: $(READY) ## Run every test; ARGS="-k name" chooses
	@$(HAVE_CHROMIUM)
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

up: $(READY) ## Run the whole stack here until Ctrl-C; ARGS="--port 9000" changes it
	$(BIN)/assay up $(ARGS)

check: $(READY) ## Lint, check the format and the types, look for dead code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/vulture $(addsuffix /src,$(filter-out libs/testkit,$(PACKAGES))) bench
	$(BIN)/mypy $(SOURCES)

format: $(READY) ## Put the format right, and what the linter can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

CORPUS ?= tests/corpus
corpus: $(READY) ## Lint and validate every skill below CORPUS without an LLM; ARGS="--out FILE --earlier FILE"
	$(BIN)/python -m tests.corpus.validate $(CORPUS) $(ARGS)

bench: $(READY) ## Measure the platform's overhead and idle memory
	$(BIN)/python -m bench $(ARGS)

schemas: $(READY) ## Write the JSON Schemas of all messages and the AsyncAPI document anew
	$(BIN)/python -m assay_contracts.schemas libs/contracts/schemas
	$(BIN)/python -m assay_contracts.asyncapi libs/contracts/asyncapi.json

docs: $(READY) ## Write the reference of all settings anew
	$(BIN)/python -m assay_cli.settings_reference docs/configuration.md

lock: ## Choose the versions in requirements.lock anew; ARGS=--upgrade takes newer ones
	@$(FIND_UV); \
	"$$uv" pip compile $(addsuffix /pyproject.toml,$(PACKAGES)) requirements-dev.in $(ARGS) \
	  --universal --python-version 3.11 --generate-hashes --no-header --quiet \
	  $(foreach package,$(notdir $(PACKAGES)),--no-emit-package assay-$(package)) \
	  --output-file requirements.lock

# A shell line that sees to a browser for the tests of the page, where it may; they say what is missing where it may not.
# The font is for Chinese on their screenshots.
define HAVE_CHROMIUM
if ! command -v chromium chromium-browser google-chrome >/dev/null \
  && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
  echo "Installing Chromium for the tests of the admin page …"; \
  for try in 1 2 3; do \
    if apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
      apt-get install -qq --no-install-recommends chromium fonts-wqy-microhei >/dev/null; then break; fi; \
    echo "Attempt $$try to install Chromium failed." >&2; sleep 5; \
  done; \
fi
endef

# A shell line that sets `python`, or ends with advice.
define FIND_PYTHON
python=""; \
for name in $${PYTHON:-} python3 python3.13 python3.12 python3.11; do \
  if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
    python=$$(command -v $$name); break; \
  fi; \
done; \
if [ -z "$$python" ]; then \
  echo "Assay needs Python 3.11 or newer: install one, or name it with PYTHON=/path/to/python3." >&2; \
  exit 1; \
fi
endef

# A shell line that sets `uv`: the one on the PATH if it is new enough, else one of our own.
define FIND_UV
uv=$$(command -v uv || true); \
if [ -z "$$uv" ] || ! printf '0.9\n%s\n' "$$($$uv --version | cut -d' ' -f2)" | sort -CV; then \
  uv=$(CURDIR)/.uv/bin/uv; \
  if ! [ -x "$$uv" ]; then \
    $(FIND_PYTHON); \
    echo "Fetching uv into .uv …"; \
    "$$python" -m venv .uv || { \
      echo "Python's venv module is missing: install python3-venv, or uv itself." >&2; exit 1; }; \
    .uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
      --only-binary :all: --requirement requirements-uv.lock; \
  fi; \
fi
endef

$(READY): requirements.lock $(addsuffix /pyproject.toml,$(PACKAGES))
	@$(FIND_PYTHON); $(FIND_UV); export UV_PYTHON_DOWNLOADS=never; \
	echo "Setting up .venv …"; \
	[ -x $(BIN)/python ] || "$$uv" venv --quiet --python "$$python" .venv; \
	export VIRTUAL_ENV=$(CURDIR)/.venv; \
	"$$uv" pip sync --quiet --require-hashes --only-binary :all: --compile-bytecode requirements.lock; \
	"$$uv" pip install --quiet --no-deps --no-build-isolation $(addprefix --editable ,$(PACKAGES)); \
	touch $@
