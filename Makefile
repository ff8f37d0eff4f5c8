# make help says what there is. CI runs .ci/run, which is check, test and conformance.
.DEFAULT_GOAL := help

SHELL := bash
.SHELLFLAGS := -o pipefail -c

GO    ?= go
BIN   := bin/parley
# Every target uses the versions of the go.mod of its module. go.work is for editors and for go
# commands by hand.
export GOWORK := off
# Without the path of this directory in its results, the build cache serves every clone.
export GOFLAGS := $(GOFLAGS) -trimpath
# The modules besides that of the product.
MODULES := bench conformance torture
# -s -w leaves symbols and DWARF out, which only a debugger needs. make GO_LDFLAGS= keeps them.
GO_LDFLAGS = -s -w
# The version of this source.
VERSION := 0.1.0
# What 'parley version' reports: the version, and the commit and its date where there is a
# repository. A commit without the tag of the version, or with changed files, is a development
# version: 0.1.0-dev+8526c70, or 0.1.0-dev+8526c70.dirty. It is 0.1.0-dev where git fails.
RELEASE = $(VERSION)$(shell commit=$$(git rev-parse --short=7 HEAD 2>/dev/null) || { [ ! -e .git ] || printf '%s' -dev; exit 0; }; changed=$$(git status --porcelain); \
  if [ -n "$$changed" ] || ! git tag --points-at HEAD | grep -qx 'v$(VERSION)'; then printf '%s' "-dev+$$commit$${changed:+.dirty}"; fi; \
  git log -1 --format=' %H %cI')
TOOL  := $(GO) tool -modfile=$(CURDIR)/tools/go.mod
# What 'make check' runs under the race detector: packages with goroutines, which pure packages such
# as hub/desk do not have.
RACE := ./hub ./hub/archive ./hub/vector ./hub/journal/... ./rpc/... ./sdk/... ./executors/... \
  ./adapters/a2a/... ./adapters/mcp/... ./adapters/timetable \
  $(addprefix ./internal/,egress memnet natscluster quota registration telemetry wire)
# Tests of a package that run at once. Most of them wait more than they work.
PARALLEL := -parallel 4
# How long 'make fuzz' spends on each target.
FUZZTIME ?= 10s

# One line for each promise from the output of tests.
SUMMARY := $(GO) -C $(CURDIR)/torture run ./summary
# Attacks are run one package after another: each wants the machine for itself.
ATTACK := $(GO) test -count=1 -p 1 -v
SHORT_ATTACK := $(ATTACK) $(PARALLEL) -timeout 30m
# The short forms of others wait more than they work, and are run two at a time.
ALONE := network disk power cluster failover

.PHONY: help build demo dev-cluster test check lint torture torture-nats race plants bench bench-compare duel sessions simulation fuzz conformance vuln clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The first build compiles several hundred packages. COMPILED counts the packages that -v prints, and
# passes errors on. It prints nothing when all packages are in the cache.
BUILD = $(GO) build -v -ldflags "$(GO_LDFLAGS) -X 'main.release=$(RELEASE)'"
define COMPILED
{ n=0; while read -r line; do \
  case $$line in 'go: downloading '*) continue;; '#'*|*' '*) echo "$$line"; continue;; esac; \
  n=$$((n + 1)); \
  [ $$n -ne 10 ] || echo "  the first build takes minutes: it compiles the $$($(GO) list -deps ./cmd/parley | wc -l) packages of the program"; \
  [ $$((n % 50)) -ne 0 ] || echo "  $$n packages compiled"; \
done; }
endef

build: ## build bin/parley
	@echo "building $(BIN)"
	@$(BUILD) -o $(BIN) ./cmd/parley 2>&1 | $(COMPILED)

demo: build ## a payer inside a hub and a clinic in a process of its own settle a case
	@$(BIN) demo

dev-cluster: ## three hubs and three NATS servers on this machine, with one log, until Ctrl-C
	@echo "building bin/parley-devcluster"
	@$(BUILD) -tags devcluster -o bin/parley-devcluster ./cmd/parley 2>&1 | $(COMPILED)
	bin/parley-devcluster dev-cluster

# Each part of the tests writes bin/test-PART.log. -k runs all parts, and fails at the end if one has failed.
test: ## all tests, and a short form of the attacks on every promise
	@mkdir -p bin; rm -f bin/test-*.log; code=0; \
	$(MAKE) --no-print-directory -k -j1 test-product test-bench test-attacks || code=$$?; \
	echo "seconds by package:"; $(TIMES) bin/test-*.log | sort -rn; exit $$code

# Packages that took more than a second, from the output of go test.
TIMES := awk '$$1 == "ok" || $$1 == "FAIL" { s = $$3; sub("s$$", "", s); if (s + 0 > 1) printf "%8.1f  %s\n", s, $$2 }' 
# Hub processes of all tests run this program, so that it is linked once.
PROGRAM := $(CURDIR)/bin/parley-test

.PHONY: test-product test-bench test-attacks test-program
test-program:
	@$(GO) build -o $(PROGRAM) ./cmd/parley

# The test scripts of cmd/parley run this one, which can also serve the calls of a script in one process.
SCRIPT_PROGRAM := $(CURDIR)/bin/parley-test-script

test-product: test-program
	@$(GO) build -o $(SCRIPT_PROGRAM) ./cmd/parley/internal/clitest/program
	@PARLEY_TEST_PROGRAM=$(PROGRAM) PARLEY_TEST_SCRIPT_PROGRAM=$(SCRIPT_PROGRAM) \
	  $(GO) test -count=1 $(PARALLEL) -timeout 30m -skip '^TestWaitRaces$$' ./... 2>&1 | tee bin/$@.log

test-bench: test-program
	@cd bench && PARLEY_TEST_PROGRAM=$(PROGRAM) $(GO) test -count=1 -timeout 30m $$($(GO) list ./... | grep -v /compare$$) 2>&1 | tee ../bin/$@.log

test-attacks: test-program
	@echo "the attacks of docs/concepts/guarantees.md, short:"
	@export PARLEY_TEST_PROGRAM=$(PROGRAM); cd torture; \
	{ $(SHORT_ATTACK) -p 2 $$($(GO) list ./... | grep -v -x $(addprefix -e github.com/parleyhub/parley/torture/,$(ALONE))) ; \
	  $(SHORT_ATTACK) $(addprefix ./,$(ALONE)) ; \
	  cd .. && $(SHORT_ATTACK) -run '^TestWaitRaces$$' ./hub ; } 2>&1 | tee ../bin/$@.log | $(SUMMARY)

# The attacks in which hubs are killed, which do not care where the log is. They run in torture/.
define KILLS
$(ATTACK) -parallel 1 -timeout 60m . -duel.turns 3000 -duel.takeovers 60 -duel.reoffer 1s -sessions.kills 50 ; \
$(ATTACK) -timeout 60m ./power -power.kills 50 -power.appends 500 -power.cuts 10 -power.controls 5 -power.replies 10 ; \
$(ATTACK) -timeout 30m ./a2a -a2a.kills 50 -a2a.pushkills 10 -a2a.streams 220 -a2a.tasks 10000 ; \
$(ATTACK) -timeout 30m ./llm -llm.rounds 5 ; \
$(ATTACK) -timeout 30m ./triggers -triggers.count 10000 -triggers.conversations 100 -triggers.every 1s -triggers.runnerkills 5 -triggers.kills 30
endef

torture: ## every promise attacked for about an hour, all races, and every planted bug (as root for all of it); writes the figures into docs/concepts/guarantees.md
	@code=0; cd torture; { $(ATTACK) -parallel 1 -timeout 60m ./network -cut.subscribers 200 -cut.seconds 60 -cut.catchup 55s -slow.fast 1000 -slow.stopped 50 -slow.trickle 50 -slow.pairs 5 -slow.window 10s -slow.within 20 -slow.dropped 20s \
	    -halfopen.clients 100 -halfopen.within 30s -storm.clients 5000 -storm.within 20s \
	    -crawl.sockets 2000 -crawl.pairs 5 -crawl.window 10s -crawl.within 50 -flood.conns 16 -flood.pairs 5 -flood.window 10s -flood.within 900 ; \
	  $(KILLS) ; \
	  $(ATTACK) -timeout 90m ./disk -disk.points 0 -disk.flips 1000 -disk.slow 10 -disk.rounds 20 ; \
	  $(ATTACK) -timeout 60m ./cluster -cluster.faults 39 -cluster.cuts 3 -cluster.controls 5 -cluster.lasts 8s -cluster.duelfaults 26 -cluster.duelcuts 2 ; \
	  $(ATTACK) -timeout 30m ./failover -failover.newer -failover.rounds 6 -failover.crowd 12 -failover.within 5s -failover.ready 10s ; \
	  $(ATTACK) -timeout 30m ./simulation -simulation.seeds 1000 ; \
	  cd .. && $(ATTACK) -timeout 30m -run '^(TestWaitRaces|TestRefusalsTakeTheSameTime)$$' ./hub -simulation.races 1000000 -timing.pairs 50000 ; \
	  $(ATTACK) -timeout 30m ./hub/journal/bolt -bolt.thorough -rapid.checks 100 ; \
	  $(ATTACK) -timeout 30m ./hub/archive -archive.step 1 ; \
	  $(ATTACK) -timeout 30m -run '^TestConformance$$' ./hub/journal/jetstream -rapid.checks 100 ; \
	  $(ATTACK) -timeout 30m -run 'ComesToAnEnd$$' ./internal/selector ./internal/paramschema -stall.within 1s ; } 2>&1 | $(SUMMARY) -record ../docs/concepts/guarantees.md || code=1; \
	cd $(CURDIR) && $(MAKE) -k race plants || code=1; exit $$code

torture-nats: ## the same of hubs that keep their log on a NATS server, but for what is about the files of a log; prints the figures
	@cd torture; { $(GO) run ./engine $(ATTACK) -parallel 1 -timeout 30m ./network -cut.catchup 55s -slow.dropped 24s ; \
	  $(GO) run ./engine sh -c '$(KILLS)' ; \
	  $(ATTACK) -timeout 60m ./cluster -cluster.faults 26 -cluster.cuts 10 -cluster.controls 5 -cluster.lasts 8s -cluster.failing -cluster.duelfaults 26 -cluster.duelcuts 2 ; } 2>&1 | $(SUMMARY) -part

plants: ## plant every bug of torture/plants/bugs, and see its test fail
	cd torture && $(ATTACK) -timeout 60m ./plants -plants.all

check: ## formatting, vet, staticcheck, import directions, race detector
	@echo "gofmt";       out=$$(gofmt -l .); test -z "$$out" || { echo "not formatted:"; echo "$$out"; exit 1; }
	@for m in . $(MODULES); do echo "go vet: $$m";      (cd $$m && $(GO) vet ./...) || exit 1; done
	@echo "go vet: dev-cluster"; $(GO) vet -tags devcluster ./cmd/parley/...
	@for m in . $(MODULES); do echo "staticcheck: $$m"; (cd $$m && $(TOOL) staticcheck ./...) || exit 1; done
	@echo "imports point one way"; $(GO) test -count=1 -run Imports .
	@echo "race";        $(GO) test -race -short $(PARALLEL) -timeout 30m $(RACE)

race: ## the race detector, with the packages and tests that are too slow for 'make check'
	$(GO) test -race -count=1 $(PARALLEL) -timeout 60m $(RACE) . ./hub/policy ./internal/paramschema ./internal/selector

lint: ## the style gate: hard-to-read phrases and long lines, against the committed ceilings
	$(GO) test -count=1 -v -run '^TestStyle' .

bench: build ## what a hub carries on this machine, beside the bare limit of it in the same run
	@$(GO) -C bench build -o ../bin/parley-bench ./cmd/parley-bench
	bin/parley-bench append
	bin/parley-bench fanout
	bin/parley-bench replay
	bin/parley-bench wake
	bin/parley-bench idle
	bin/parley-bench turn
	bin/parley-bench session
	bin/parley-bench mcp
	bin/parley-bench a2a
	$(GO) test -run '^$$' -bench ChunkOverhead ./executors/llm

bench-compare: ## the same work with NATS JetStream, Redis and PostgreSQL, where they are installed; and several hubs on NATS servers
	cd bench/compare && $(GO) run . all
	cd bench/compare && $(GO) run . hubs

duel: ## eight replicas of an agent and their hub, stopped and killed for some minutes: each turn said once
	cd torture && $(GO) test -timeout 20m -count=1 -v -run '^TestDuel$$' . -duel.turns 6000 -duel.takeovers 100 -duel.reoffer 1s

sessions: ## 500 sessions whose hub is killed 50 times: each run once and told once
	cd torture && $(GO) test -timeout 20m -count=1 -v -run "^TestCallbacksUnderKills$$" . -sessions.kills 50

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
	@code=0; (cd conformance && $(GO) test -count=1 -v $(PARALLEL) -timeout 40m .) || code=1; \
	(cd bench && $(GO) test -count=1 -timeout 30m ./compare) || code=1; exit $$code

vuln: ## known vulnerabilities in the code that the programs call (needs https://vuln.go.dev)
	@$(GO) build -modfile=tools/go.mod -o bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	@bin/govulncheck -version | grep '^DB updated' >/dev/null || \
	  { echo "vulnerability database https://vuln.go.dev is not reachable; nothing was checked" >&2; exit 2; }
	@failed=0; for m in . $(MODULES); do echo "govulncheck $$m"; (cd $$m && $(CURDIR)/bin/govulncheck ./...) || failed=$$?; done; exit $$failed

clean: ## remove what was built
	rm -rf bin
