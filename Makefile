# The targets need Go. Everything else is used where it is there; `make test`
# says what it left out and why.
SHELL := bash
.SHELLFLAGS := -o pipefail -ec
.DEFAULT_GOAL := help

GO ?= go
# Further flags for go test, such as -run or -count=1.
TESTFLAGS ?=
FUZZTIME ?= 60s

GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VHS := github.com/charmbracelet/vhs@v0.10.0

# The race detector needs a C compiler.
CC := $(firstword $(shell $(GO) env CC))
RACE := $(if $(shell command -v $(CC)),-race)

# mawk hands lines on as they come only when told to.
AWK := awk $(shell awk -W version </dev/null 2>&1 | grep -q mawk && echo -W interactive)

.PHONY: help test demo bench live lint fuzz tape fetch

help: ## this list
	@$(AWK) -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Shortens `go test -v`: a package that passed is its one line, a package that
# failed is shown whole, and what was skipped is listed at the end.
define SHORTEN
/^[ \t]*=== /         { next }
/^[ \t]*--- PASS/     { next }
/^[ \t]*--- SKIP/     { name = $$3; why = last; sub(/^[ \t]*[^ ]+\.go:[0-9]+: /, "", why); skips[++n] = name ": " why; next }
/^(ok  |\?   )/       { print; fflush(); kept = last = ""; next }
/^FAIL\t/             { printf "%s", kept; print; fflush(); kept = last = ""; next }
/\.go:[0-9]+: /       { last = $$0 }
                      { kept = kept $$0 "\n" }
END                   { if (kept !~ /^(FAIL\n)?$$/) printf "%s", kept
                        if (n) print "\nSkipped, because something is missing here:"
                        for (i = 1; i <= n; i++) print "  " skips[i] }
endef
export SHORTEN

test: fetch ## go vet and every test; says what was skipped and why
	@$(if $(RACE),,echo "no C compiler ($(CC)): the tests run without the race detector")
	$(GO) vet ./...
	@echo "$(GO) test $(RACE) ./..."
	@$(GO) test -v $(RACE) -p 2 -timeout 20m $(TESTFLAGS) ./... | $(AWK) "$$SHORTEN"

# The pinned agents for the end-to-end tests. Without npm or without the
# network the tests that need them are skipped; CI turns the skips into failures.
fetch:
	@if ! command -v npm >/dev/null; then echo "no npm: the pinned agents are not fetched"; \
	elif [ teatest/node_modules/.package-lock.json -nt teatest/package-lock.json ]; then :; \
	else echo "npm ci in teatest"; npm ci --prefix teatest --loglevel=error --no-progress </dev/null \
		|| echo "npm ci failed: the tests that need the pinned agents are skipped"; fi

demo: ## the whole job with the built-in scripted agent; no account, no network
	$(GO) run . demo

live: ## asks a real model, with your own claude and account: make live MOST=1 (dollars at most)
	@if [ -n "$(CI)" ]; then echo "make live spends an operator's money and is not for CI"; exit 1; fi
	$(GO) run ./teatest/live --most "$(or $(MOST),0)"

bench: ## all benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

lint: ## gofmt and golangci-lint
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "gofmt would change:"; echo "$$bad"; exit 1; fi
	$(GO) run $(GOLANGCI) config verify
	$(GO) run $(GOLANGCI) run --allow-parallel-runners ./...

# go test at times reports the end of the fuzz time itself as a failure, "context deadline exceeded"; a finding
# always names its input.
fuzz: ## each fuzz target for FUZZTIME (60s)
	@list=$$(mktemp); log=$$(mktemp); trap 'rm -f "$$list" "$$log"' EXIT; \
	$(GO) test -list '^Fuzz' ./... | $(AWK) '/^Fuzz/ {t[++n] = $$1} /^ok/ {for (i = 1; i <= n; i++) print $$2, t[i]; n = 0}' >"$$list"; \
	[ -s "$$list" ] || echo "no fuzz targets"; \
	while read -r pkg target; do \
		if ! $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$pkg" </dev/null 2>&1 | tee "$$log"; then \
			if grep -q 'Failing input' "$$log" || ! grep -q 'context deadline exceeded' "$$log"; then exit 1; fi; \
			echo "$$target: the time was up, without a finding"; \
		fi; \
	done <"$$list"

tape: ## checks that demo.tape is there and valid
	@[ -s demo.tape ] || { echo "demo.tape is missing"; exit 1; } # vhs counts a missing file as valid
	$(GO) run $(VHS) validate demo.tape
