# make help says what there is. CI runs .ci/run, which is check, test and conformance.
.DEFAULT_GOAL := help

GO    ?= go
BIN   := bin/parley
# What the linker is told: without symbols and DWARF, which only a debugger wants, the program is much smaller. make GO_LDFLAGS= leaves them in.
GO_LDFLAGS = -s -w
TOOL  := $(GO) tool -modfile=tools/go.mod
# What 'make check' runs under the race detector: the parts that share memory.
RACE  := . ./hub/... ./internal/... ./rpc/... ./sdk/... ./executors/... ./adapters/...
# How long 'make fuzz' spends on each target.
FUZZTIME ?= 10s

# One line for each promise from the output of tests.
SUMMARY := $(GO) run ./torture/summary
# Attacks are run one package after another: each wants the machine for itself.
ATTACK := $(GO) test -count=1 -p 1 -v
# The short forms of others wait more than they work, and are run two at a time.
ALONE := network disk power cluster failover

.PHONY: help build demo test check torture torture-nats plants bench bench-compare duel sessions simulation fuzz conformance clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/parley
	@echo "building $(BIN)"
	@$(GO) build -trimpath -ldflags "$(GO_LDFLAGS)" -o $(BIN) ./cmd/parley

demo: build ## a payer inside a hub and a clinic in a process of its own settle a case
	@$(BIN) demo

test: ## all tests, and a short form of the attacks on every promise
	$(GO) test -timeout 10m -skip '^TestWaitRaces$$' $$($(GO) list ./... | grep -v -e /torture$$ -e /torture/ -e /conformance$$)
	@echo "the attacks of docs/guarantees.md, short:"
	@$(GO) build -o bin/parley-test ./cmd/parley
	@export PARLEY_TEST_PROGRAM=$(CURDIR)/bin/parley-test; \
	{ $(ATTACK) -p 2 -timeout 10m $$($(GO) list ./torture/... | grep -v -x $(addprefix -e github.com/parleyhub/parley/torture/,$(ALONE))) ; $(ATTACK) -timeout 10m $(addprefix ./torture/,$(ALONE)) ; \
	  $(ATTACK) -timeout 5m -run '^TestWaitRaces$$' ./hub ; } 2>&1 | $(SUMMARY)

# The attacks in which hubs are killed, which do not care where the log is.
define KILLS
$(ATTACK) -timeout 60m ./torture -duel.turns 3000 -duel.takeovers 60 -duel.reoffer 1s -sessions.kills 50 ; \
$(ATTACK) -timeout 60m ./torture/power -power.kills 50 -power.cuts 10 -power.replies 10 ; \
$(ATTACK) -timeout 30m ./torture/a2a -a2a.kills 50 -a2a.pushkills 10 -a2a.tasks 10000 ; \
$(ATTACK) -timeout 30m ./torture/llm -llm.rounds 5 ; \
$(ATTACK) -timeout 30m ./torture/triggers -triggers.count 10000 -triggers.conversations 100 -triggers.every 1s -triggers.runnerkills 5 -triggers.kills 30
endef

torture: ## every promise attacked for about an hour, and every planted bug (as root for all of it); writes the figures into docs/guarantees.md
	@{ $(ATTACK) -parallel 1 -timeout 60m ./torture/network -cut.subscribers 200 -cut.seconds 60 -slow.fast 1000 -slow.stopped 50 -slow.trickle 50 -slow.pairs 5 -slow.window 10s -slow.within 20 -slow.dropped 20s \
	    -halfopen.clients 100 -halfopen.within 30s -storm.clients 5000 -storm.within 20s \
	    -crawl.sockets 2000 -crawl.pairs 5 -crawl.window 10s -crawl.within 50 -flood.conns 16 -flood.pairs 5 -flood.window 10s -flood.within 900 ; \
	  $(KILLS) ; \
	  $(ATTACK) -timeout 90m ./torture/disk -disk.points 0 -disk.flips 1000 -disk.slow 10 -disk.rounds 20 ; \
	  $(ATTACK) -timeout 60m ./torture/cluster -cluster.faults 39 -cluster.cuts 3 -cluster.lasts 8s -cluster.duelfaults 26 -cluster.duelcuts 2 ; \
	  $(ATTACK) -timeout 30m ./torture/failover -failover.rounds 6 -failover.crowd 12 -failover.within 5s -failover.ready 10s ; \
	  $(ATTACK) -timeout 30m ./torture/simulation -simulation.seeds 1000 ; \
	  $(ATTACK) -timeout 30m -run '^(TestWaitRaces|TestRefusalsTakeTheSameTime)$$' ./hub -simulation.races 1000000 -timing.pairs 50000 ; \
	  $(ATTACK) -timeout 30m ./hub/journal/bolt -bolt.thorough -rapid.checks 100 ; \
	  $(ATTACK) -timeout 30m ./hub/archive -archive.step 1 ; \
	  $(ATTACK) -timeout 30m -run '^TestConformance$$' ./hub/journal/jetstream -rapid.checks 100 ; \
	  $(ATTACK) -timeout 30m -run 'ComesToAnEnd$$' ./internal/selector ./internal/paramschema -stall.within 1s ; } 2>&1 | $(SUMMARY) -record docs/guarantees.md
	$(MAKE) plants

torture-nats: ## the same of hubs that keep their log on a NATS server, but for what is about the files of a log; prints the figures
	@{ $(GO) run ./torture/engine $(ATTACK) -parallel 1 -timeout 30m ./torture/network ; \
	  $(GO) run ./torture/engine sh -c '$(KILLS)' ; \
	  $(ATTACK) -timeout 60m ./torture/cluster -cluster.faults 26 -cluster.cuts 10 -cluster.lasts 8s -cluster.failing -cluster.duelfaults 26 -cluster.duelcuts 2 ; } 2>&1 | $(SUMMARY) -part

plants: ## every bug of internal/plant is planted, and the test that must find it goes red
	$(ATTACK) -timeout 60m ./torture/plants -plants.all

check: ## formatting, vet, staticcheck, import directions, race detector
	@echo "gofmt";       out=$$(gofmt -l .); test -z "$$out" || { echo "not formatted:"; echo "$$out"; exit 1; }
	@echo "go vet";      $(GO) vet ./...
	@echo "staticcheck"; $(TOOL) staticcheck ./...
	@echo "imports point one way"; $(GO) test -count=1 -run Imports .
	@echo "race";        $(GO) test -race -short -timeout 10m $(RACE)

bench: build ## what a hub carries on this machine, beside the bare limit of it in the same run
	$(BIN) bench append
	$(BIN) bench fanout
	$(BIN) bench replay
	$(BIN) bench wake
	$(BIN) bench idle
	$(BIN) bench turn
	$(BIN) bench session
	$(BIN) bench mcp
	$(BIN) bench a2a
	$(GO) test -run '^$$' -bench ChunkOverhead ./executors/llm

bench-compare: ## the same work with NATS JetStream, Redis and PostgreSQL, where they are installed; and several hubs on NATS servers
	cd bench/compare && $(GO) run . all
	cd bench/compare && $(GO) run . hubs

duel: ## eight replicas of an agent and their hub, stopped and killed for some minutes: each turn said once
	$(GO) test -timeout 20m -count=1 -v -run '^TestDuel$$' ./torture -duel.turns 6000 -duel.takeovers 100 -duel.reoffer 1s

sessions: ## 500 sessions whose hub is killed 50 times: each run once and told once
	$(GO) test -timeout 20m -count=1 -v -run "^TestCallbacksUnderKills$$" ./torture -sessions.kills 50

simulation: ## 1,000 duels of replicas on three hubs that share a journal, in time that is not real, and all small worlds gone through
	$(GO) test -timeout 20m -count=1 -v -run '^TestDuel$$' ./hub -duel.seeds 1000
	PARLEY_EXPLORE=1 $(GO) test -timeout 20m -count=1 -run '^TestExplore$$' -v ./hub/desk

fuzz: ## every fuzz target for FUZZTIME (10s)
	@set -e; for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime=10x $$p; \
	  done; \
	done

conformance: ## strangers speak the protocol: clients that share no code with Parley (needs node, npm and its registry, python3, curl, chromium, nginx, openssl, systemd); and the peers of bench/compare (redis, postgresql)
	$(GO) test -count=1 -v -timeout 40m ./conformance
	cd bench/compare && $(GO) vet ./... && $(GO) test -count=1 ./...

clean: ## remove what was built
	rm -rf bin
