# SPDX-License-Identifier: Apache-2.0

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# The version is pinned here: a new one may find more, and must not fail an old tree.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Systems where the adapters only pass through still have to compile.
OTHERS := darwin/arm64 windows/amd64 linux/386 linux/arm64

.PHONY: help build demo test bench lint generate compiler unit race

help: ## Show what there is.
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 20

build: ## Build ./predictio, the command line.
	@$(GO) build -buildvcs=false -o predictio ./cmd/predictio

demo: build ## Scan a cold database with and without, and compare.
	@./predictio demo

test: lint unit race ## Check everything that can be checked on this machine.
	@echo "passed: format, vet (here and $(OTHERS)), staticcheck, tests, tests under the race detector"

bench: build ## Measure against the bare engine (long; BENCH="bbolt --quick" for less).
	@./predictio bench $(or $(BENCH),bbolt)

lint: ## Check format, vet for all systems, staticcheck.
	@echo "format"
	@bad=$$("$$($(GO) env GOROOT)/bin/gofmt" -l .); \
	if [ -n "$$bad" ]; then echo "not gofmt'ed:"; echo "$$bad"; exit 1; fi
	@echo "vet"
	@$(GO) vet ./...
	@for system in $(OTHERS); do \
		echo "vet $$system"; \
		GOOS=$${system%/*} GOARCH=$${system#*/} CGO_ENABLED=0 $(GO) vet ./...; \
	done
	@echo "staticcheck"
	@$(GO) run $(STATICCHECK) ./...

generate: ## Make all generated files anew.
	@$(GO) generate ./...

unit:
	@echo "tests"
	@$(GO) test ./...

race: compiler
	@echo "tests under the race detector"
	@CGO_ENABLED=1 $(GO) test -race ./...

# The race detector needs a C compiler.
compiler:
	@command -v $${CC:-gcc} >/dev/null || { \
		[ "$$(id -u)" = 0 ] || { echo "make test needs a C compiler: install gcc"; exit 1; }; \
		echo "installing gcc"; \
		apt-get update -qq >/dev/null; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null; \
	}
