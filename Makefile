# Lockstep. `make run` shows a live cluster, `make test` tests everything.

# go-metrics is the library behind Raft's metrics; without the tag it would be
# its predecessor, and ours would see nothing.
export GOFLAGS := -tags=hashicorpmetrics

# ST1005 wants error texts in lower case; many here are replies, in Redis's words.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2 -checks inherit,-ST1005
FUZZTIME    ?= 10s
TESTFLAGS   ?=

# Packages whose goroutines share state.
CONCURRENT := ./engine/... ./fsm/... ./cluster/... ./proto/... ./node/...

.PHONY: run build test race fuzz-short lint bench corpus cluster linear docs check clean

run: ## three real nodes on this machine, with a live view
	go run ./cmd/clusterctl demo

build: ## both programs, into bin/
	go build -o bin/ ./cmd/...

test: ## everything that needs no root and no network beyond loopback
	go test -timeout 15m $(TESTFLAGS) ./...

race: ## the concurrent packages under the race detector
	go test -race -short -timeout 15m $(TESTFLAGS) $(CONCURRENT)

fuzz-short: ## each fuzz target for FUZZTIME
	@set -e; for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u); do \
		for target in $$(go test -list '^Fuzz' $$dir | grep '^Fuzz'); do \
			echo "$$dir $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$dir; \
		done; \
	done

lint: ## gofmt, vet, staticcheck and the style of this repository
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not gofmt'ed: $$unformatted"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...
	go test ./tests/lint

bench: ## speed beside redis-server, as a table of ratios
	go run ./tests/bench

corpus: ## the same answers as redis-server
	go test -count=1 -v ./tests/corpus ./tests/differential

cluster: ## real processes, real clients, hostile input
	go test -count=1 -v ./tests/clients ./tests/clusterctl ./tests/badinput

linear: ## kill -9 and SIGSTOP under load, the long version
	LOCKSTEP_LONG=1 go test -count=1 -v -timeout 30m ./tests/linear

docs: ## what is generated, anew
	go test ./node/config -run TestDocumentationIsTheTable -update

check: lint test race fuzz-short ## all that CI runs

clean:
	rm -rf bin
