# What there is to do: build, run, check, test, race, fuzz, pressure,
# bench, bench-compare, micro, clean.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
BINARY  := $(CURDIR)/bin/sluice
RACE    := $(CURDIR)/bin/sluice-race
# Packages whose tests load a router in a process of its own. Their own clients
# run without the race detector, and one package after the other, so that they
# measure the router and not each other.
LOADED  := ./tests/interop ./tests/pressure ./tests/mesh ./tests/manage
BINS     = SLUICE_BIN=$(BINARY) SLUICE_RACE_BIN=$(RACE)

.PHONY: build run check clients binaries test race fuzz pressure bench bench-compare micro clean

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(BINARY) ./cmd/sluice

run: build
	@echo 'The first message, in two other terminals:'
	@echo '    bin/sluice receive greetings'
	@echo '    bin/sluice send greetings "hello, world"'
	@$(BINARY) run

check:
	@files=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$files" || { echo "gofmt: $$files"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags poison ./buffers ./links
	@if ls tests/arch/*_test.go >/dev/null 2>&1; then $(GO) test ./tests/arch; fi

# clients installs the foreign clients that tests/interop talks to.
clients:
	tests/interop/install

binaries: build
	CGO_ENABLED=1 $(GO) build -race -tags poison -o $(RACE) ./cmd/sluice

test: check clients binaries
	$(BINS) $(GO) test -race -shuffle=on -timeout 10m $$($(GO) list ./... | grep -v -e /tests/interop -e /tests/pressure -e /tests/mesh -e /tests/manage)
	$(BINS) $(GO) test -shuffle=on -p 1 -timeout 20m $(LOADED)

race: binaries
	$(BINS) $(GO) test -race -tags poison -shuffle=on -timeout 20m ./...

# fuzz gives every target a minute.
fuzz:
	@grep -rlE '^func Fuzz' --include='*_test.go' . | while read f; do \
		for t in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' $$f); do \
			echo "$$t in $$(dirname $$f)"; \
			$(GO) test -run '^$$' -fuzz "^$$t\$$" -fuzztime 1m -parallel 2 ./$$(dirname $$f) </dev/null || exit 1; \
		done; \
	done

# pressure loads the three stages at full size.
pressure: binaries
	$(BINS) SLUICE_FULL=1 $(GO) test -v -count=1 -timeout 60m ./tests/pressure

# bench measures the router from outside and prints tables; BENCH holds flags
# (BENCH=-help lists them). bench-compare measures another router beside it.
bench: build
	$(GO) run ./tests/bench -binary $(BINARY) $(BENCH)

bench-compare: build
	@test -n "$(OTHER)" || { echo 'usage: make bench-compare OTHER=host:port [OTHER_PID=…] [OTHER_MULTICAST=address]'; exit 2; }
	$(GO) run ./tests/bench -binary $(BINARY) -other $(OTHER) -other-pid $(or $(OTHER_PID),0) \
		-multicast $(or $(OTHER_MULTICAST),multicast/bench) $(BENCH)

# micro measures single steps inside of the packages.
micro:
	$(GO) test -run '^$$' -bench . -benchmem ./...

clean:
	rm -rf bin tests/interop/rhea/node_modules
