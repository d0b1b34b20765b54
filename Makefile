# Lockstep. `make run` shows a live cluster, `make test` tests what a change breaks
# first, and `make check` tests the rest.

# go-metrics is the library behind Raft's metrics; without the tag it would be
# its predecessor, and ours would see nothing.
export GOFLAGS := -tags=hashicorpmetrics

# ST1005 wants error texts in lower case; many here are replies, in Redis's words.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2 -checks inherit,-ST1005
FUZZTIME    ?= 10000x
TESTFLAGS   ?=

# Debian's packages and their versions, as tested.
VERSIONS    ?= tests/versions.txt

# Packages that have goroutines, in the code or in its tests. Those that run the
# rest of the engine side by side are fsm and cluster/shard.
CONCURRENT := ./engine/sched ./engine/script ./fsm/... ./cluster/... ./proto/... ./node/... ./ground/...

# Suites that take a minute or keep the processors busy: `make check` runs them, and
# `make test` leaves them out.
SUITES := $(addprefix ./tests/,backlog badinput clients clusterctl damage founding fulldisk grow linear narrow podlife powercut scripts software tracking)

# What tests use beside Go, and do without where it is not installed.
TOOLS := redis-server redis-cli redis-benchmark strace ip mkfs.ext4 fsfreeze chromium npm python3 sidekiq prometheus-redis-exporter promtool systemd-analyze dpkg-deb

.PHONY: run build chart test suites yielding missing versions race fuzz-short lint bench corpus differential cross cluster disk linear tracking grow powercut podlife kube docs screenshots deb release check clean

run: ## three real nodes on this machine, with a live view
	go run ./cmd/clusterctl demo

build: ## both programs, into bin/
	go build -o bin/ ./cmd/...

# Tests wait for about half of the time, so more packages and more tests run side by
# side than there are processors.
PARALLEL := -p $(shell echo $$((3 * $$(getconf _NPROCESSORS_ONLN)))) -parallel 8

# Lint vets everything. Without debug information the tests link in half of the time.
QUICKER := -timeout 15m -vet=off -ldflags=-w

# go test says nothing of what was skipped where a package passes: tests write it
# into a file (tests/kit/proc).
go-test = @skipped=$$(mktemp); echo go test $(QUICKER) $(TESTFLAGS) '$(1)'; \
	LOCKSTEP_SKIPPED=$$skipped go test $(QUICKER) $(TESTFLAGS) $(2); \
	status=$$?; sort -u $$skipped; rm -f $$skipped; exit $$status

test: missing versions ## the tests of all packages, and the suites of some seconds: 4 minutes
	$(call go-test,all packages but SUITES,$(PARALLEL) $$(go list ./... | grep -vxF $(SUITES:./%=-e lockstep/%)))
	@echo "LEFT OUT of make test: $(SUITES), lint, the race detector and fuzzing (make check)"

suites: missing versions ## the suites that make test leaves out
	$(call go-test,$(SUITES),-p 2 $(SUITES))

missing: ## which tests are skipped on this machine, and for want of what
	@for tool in $(TOOLS); do command -v $$tool >/dev/null || echo "SKIPPED: the tests that need $$tool, which is not installed"; done
	@[ "$$(id -u)" = 0 ] || echo "SKIPPED: the tests that need root: full and hung disks, network namespaces"

versions: ## which of the programs that tests use are others than were tested
	@! command -v dpkg-query >/dev/null || grep -v '^#' $(VERSIONS) | while read -r package tested; do \
		here=$$(dpkg-query -W -f '$${Version}' "$$package" 2>/dev/null); \
		[ -z "$$here" ] || [ "$$here" = "$$tested" ] || echo "CHANGED: $$package is $$here here; the tests were last passed with $$tested ($(VERSIONS))"; \
	done

race: ## the concurrent packages under the race detector
	go test -race -short $(QUICKER) $(PARALLEL) $(TESTFLAGS) $(CONCURRENT)

# A number of inputs, as in FUZZTIME=10000x, ends each target surely: with a time,
# Go up to 1.26 now and then calls its end a failure (golang/go#75804).
fuzz-short: ## each fuzz target for FUZZTIME
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*(' . | sed 's|^\(.*\)/[^/]*:func \(.*\)($$|\1 \2|' | \
		xargs -P 2 -L 1 sh -c 'echo "$$0 $$1" && go test -run "^$$" -fuzz "^$$1\$$" -fuzztime $(FUZZTIME) $$0'

lint: ## gofmt, vet, staticcheck and the style of this repository
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not gofmt'ed: $$unformatted"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...
	go test ./tests/lint

bench: ## speed beside redis-server, as a table of ratios
	go run ./tests/tools/bench

corpus: ## the same answers as redis-server
	go test -count=1 -v ./tests/corpus ./tests/differential

differential: ## two million random commands answered as by redis-server, a node and a follower
	LOCKSTEP_LONG=1 go test -count=1 -v -timeout 60m -run 'Answers' ./tests/differential

cluster: ## real processes, real clients, hostile input
	go test -count=1 -v ./tests/clients ./tests/software ./tests/clusterctl ./tests/badinput ./tests/evict ./tests/sight ./tests/page

disk: ## power cuts (needs strace), full and hung disks (need root)
	go test -count=1 -v ./tests/powercut ./tests/fulldisk

linear: ## kill -9 and SIGSTOP under load, the long version
	LOCKSTEP_LONG=1 go test -count=1 -v -timeout 30m ./tests/linear

tracking: ## what clients are told of changes, the long version
	LOCKSTEP_LONG=1 go test -count=1 -v -timeout 30m ./tests/tracking

grow: ## nodes come, go and are killed under load, the long version
	LOCKSTEP_LONG=1 go test -count=1 -v -timeout 30m ./tests/grow

powercut: ## power cuts, the long version
	LOCKSTEP_LONG=1 go test -count=1 -v -timeout 30m ./tests/powercut

podlife: ## a StatefulSet's whole life in network namespaces (needs root and iproute2)
	LOCKSTEP_LONG=1 go test -count=1 -v -timeout 30m ./tests/podlife

cross: ## both programs for macOS, for which they build and where nobody has tested them
	GOOS=darwin go build -o /dev/null ./cmd/lockstepd
	GOOS=darwin go build -o /dev/null ./cmd/clusterctl

chart: ## the Helm chart, rendered and judged without a cluster; fetches Helm and the Kubernetes types
	cd deploy/k8s/test && GOFLAGS= go vet ./... && GOFLAGS= go test -count=1 -v -timeout 10m ./...

kube: ## the chart on a real Kubernetes API server (needs root and iproute2); builds Kubernetes, the first time for ten minutes or more
	@[ "$$(id -u)" = 0 ] || { echo "make kube: ONLY ROOT may make network namespaces; nothing was tested"; exit 1; }
	cd tests/kube && GOFLAGS= go vet -mod=mod ./... && GOFLAGS= go test -mod=mod -count=1 -v -timeout 60m .

docs: ## what is generated, anew
	go test ./node/config -run TestDocumentationIsTheTable -update
	go test ./engine/commands -run TestDocumentationIsTheTable -update
	go test ./engine/script -run TestDocumentationIsWhatScriptsCanDo -update
	go test ./cmd/clusterctl -run TestDocumentationIsTheCommands -update
	go test ./node/report -run TestDocumentationIsTheMetrics -update
	go test ./tests/tools/licences -update

deb: ## a Debian package in bin/ (needs dpkg-deb)
	deploy/deb/build bin

release: ## archives, Debian packages, the image's sources and checksums of a committed tree, in dist/ (needs dpkg-deb)
	@[ -z "$$(git status --porcelain)" ] || { echo "make release: there are changes that are not committed"; git status --short; exit 1; }
	deploy/release dist

screenshots: ## the pictures of the web page in docs/, anew; needs chromium
	LOCKSTEP_SCREENSHOTS=$(CURDIR)/docs go test -count=1 -v -run TestPictures ./tests/page

# The suites wait for a third of the time. What needs nothing but the processors runs
# beside them, and gives way to them.
check: ## all that make test leaves out; CI runs both
	$(MAKE) -j 2 suites yielding
	$(MAKE) race
	@echo "LEFT OUT of make check: the long forms (make differential, linear, tracking, grow, powercut, podlife), the chart (make chart, kube), other systems (make cross)"

yielding:
	nice -n 19 $(MAKE) lint fuzz-short

clean:
	rm -rf bin dist tests/kube/bin
