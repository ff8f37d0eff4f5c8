# make help says what there is. CI runs .ci/run, which is check, test and conformance.
.DEFAULT_GOAL := help

GO    ?= go
BIN   := bin/parley
TOOL  := $(GO) tool -modfile=tools/go.mod
# What 'make check' runs under the race detector: the parts that share memory.
RACE  := . ./hub/... ./internal/... ./rpc/... ./sdk/... ./executors/...
# How long 'make fuzz' spends on each target.
FUZZTIME ?= 10s

.PHONY: help build demo test check bench duel sessions simulation fuzz conformance clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/parley
	@echo "building $(BIN)"
	@$(GO) build -trimpath -o $(BIN) ./cmd/parley

demo: build ## a payer inside a hub and a clinic in a process of its own settle a case
	@$(BIN) demo

test: ## all tests, kill -9 and scripts included
	$(GO) test -timeout 10m $$($(GO) list ./... | grep -v -e /torture$$ -e /conformance$$)
	@echo "kill -9, 20 rounds, a short duel, and sessions under 5 kills:"
	$(GO) test -timeout 5m -count=1 -v ./torture

check: ## formatting, vet, staticcheck, import directions, race detector
	@echo "gofmt";       out=$$(gofmt -l .); test -z "$$out" || { echo "not formatted:"; echo "$$out"; exit 1; }
	@echo "go vet";      $(GO) vet ./...
	@echo "staticcheck"; $(TOOL) staticcheck ./...
	@echo "imports point one way"; $(GO) test -count=1 -run Imports .
	@echo "race";        $(GO) test -race -short -timeout 10m $(RACE)

bench: build ## durable appends per second beside a bare WebSocket echo, turns per second of two agents, and sessions of a command beside the bare one
	$(BIN) bench append
	$(BIN) bench turn
	$(BIN) bench session

duel: ## eight replicas of an agent and their hub, stopped and killed for some minutes: each turn said once
	$(GO) test -timeout 20m -count=1 -v -run '^TestDuel$$' ./torture -duel.turns 6000 -duel.takeovers 100

sessions: ## 500 sessions whose hub is killed 50 times: each run once and told once
	$(GO) test -timeout 20m -count=1 -v -run "^TestCallbacksUnderKills$$" ./torture -sessions.kills 50

simulation: ## 1,000 duels of replicas on two hubs that share a journal, in time that is not real, and all small worlds gone through
	$(GO) test -timeout 20m -count=1 -v -run '^TestDuel$$' ./hub -duel.seeds 1000
	PARLEY_EXPLORE=1 $(GO) test -timeout 20m -count=1 -run '^TestExplore$$' -v ./hub/desk

fuzz: ## every fuzz target for FUZZTIME (10s)
	@set -e; for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime=10x $$p; \
	  done; \
	done

conformance: ## strangers speak the protocol: clients that share no code with Parley (needs node, python3, curl, chromium, nginx, openssl, systemd)
	$(GO) test -count=1 -v ./conformance

clean: ## remove what was built
	rm -rf bin
