# "make help" lists the targets: each with the first line of the comment above it.

SHELL    := /bin/bash
VERSION  ?= $(shell tools/version)
VERSION  := $(VERSION)
PREFIX   ?= /usr/local
DESTDIR  ?=
GO       ?= go
# make GO=/path/to/go is the Go of everything that make starts.
export PATH := $(if $(findstring /,$(GO)),$(dir $(GO)):)$(PATH)
# The programs' flags for checks and tests too: a package is compiled once, wherever the checkout is.
# "go test" need not vet, because "make check" does.
export GOFLAGS := $(strip $(shell cd / && GOTOOLCHAIN=local $(GO) env GOFLAGS 2>/dev/null) -trimpath -vet=off)
export CGO_ENABLED ?= 0
FUZZTIME ?= 10s
PROGRAMS := metax-ctk metax-docker metax-runtime metax-hook metax-mxsml
LIBEXEC  := metax-sim-smi
TOOL     := $(GO) tool -modfile=tools/go.mod
TAGS     := $(shell cat packaging/tags)
LDFLAGS  := -s -w -X main.buildVersion=$(VERSION)

.PHONY: help build programs go version check test e2e nightly nightly-node nightly-k8s demo bench install deb packages packages-check release release-check repository kubectl-metax k8s-test k8s-e2e k8s-demo k8s-images k8s-images-check k8s-archive fuzz docs clean

# The programs, in bin.
build: go
	umask 022; CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o bin/ $(PROGRAMS:%=./cmd/%) $(LIBEXEC:%=./cmd/%)
	@tools/stamp '$(VERSION)' >bin/.stamp

# The programs in bin, as they are if they were built from this checkout, otherwise built.
programs:
	@tools/programs '$(VERSION)' '$(GO)'

help:
	@awk '/^# / { if (said == "") said = substr($$0, 3); next } /^[a-z][a-z0-9-]*:/ && said != "" { split($$0, name, ":"); printf "%-17s %s\n", name[1], said } { said = "" }' Makefile

go:
	@tools/need-go '$(GO)'

# What carries a version outside has the right one.
version:
	@[ '$(VERSION)' != unknown ] || { echo 'the version of this checkout is not known without git and its history: sudo apt install git, or name it: make $(MAKECMDGOALS) VERSION=0.1.0' >&2; exit 1; }

# What can be said of the code without running it.
check: go
	@files=$$($(TOOL) gofumpt -l cmd internal packaging test tools/plain/*.go k8s); [ -z "$$files" ] || { echo "not formatted (gofumpt):"; echo "$$files"; exit 1; }
	$(GO) vet ./...
	$(TOOL) golangci-lint run ./...
	$(GO) build -C tools -o ../bin/plain ./plain && $(GO) vet -vettool=$(CURDIR)/bin/plain ./cmd/... ./internal/...
	cd tools && $(GO) vet ./plain ./names && $(GO) test ./plain
	$(GO) build -C tools -o ../bin/names ./names && bin/names -most 25 ./cmd/... ./internal/... && cd k8s && ../bin/names -most 25 ./...
	test/licence
	test/signed
	test/subjects
	$(GO) mod tidy -diff
	$(GO) test -count=1 ./docs -run TestRetiredWords
	test/advisories/check
	cd test/e2e && $(GO) vet ./... && $(GO) mod tidy -diff
	cd test/bench && CGO_ENABLED=1 $(GO) vet ./... && $(GO) mod tidy -diff
	cd k8s && $(GO) vet ./... && $(GO) tool -modfile=../tools/go.mod golangci-lint run -c ../.golangci.yml ./... && $(GO) vet -vettool=$(CURDIR)/bin/plain ./... && $(GO) mod tidy -diff
	cd k8s/test && $(GO) vet ./... && $(GO) tool -modfile=../../tools/go.mod golangci-lint run -c ../../.golangci.yml ./... && $(GO) mod tidy -diff

# Every package once, with the race detector where memory is shared; TESTS=root: those that need root.
test: go
	test/unit $(TESTS)

# Every fuzz target for a while. "make test" runs their seeds.
fuzz:
	test/fuzz $(FUZZTIME)

# Real engines; needs root on a Debian machine, fetches what is missing.
e2e:
	test/e2e/run
	test/packages/run

# All that there is, for a night.
# The race detector everywhere, longer random tests, fuzzing, every row of e2e, packages and images
# built twice, the demos. A change of one side can run its own part.
nightly: check fuzz nightly-node nightly-k8s

# The part of nightly for the node.
nightly-node:
	test/unit race
	$(GO) test -count=1 ./internal/alloc -run TestVectorsOfOtherNumbers -all-numberings
	$(GO) test -count=1 ./internal/lease -run TestModel -model.runs 20000
	$(GO) test -count=1 ./cmd/metax-ctk -run TestRuntimeSequences -sequences 100
	EXPLOITS_KERNEL='before 5.2' $(GO) test -count=1 -timeout 1h ./test/exploits
	METAX_E2E_NIGHT=3 test/e2e/run
	test/packages/run
	test/drm/run
	test/minimal
	$(MAKE) packages-check demo

# The part of nightly for the cluster.
nightly-k8s:
	METAX_K8S_NIGHT=1 k8s/test/e2e/run
	k8s/test/e2e/versions
	k8s/test/embedded
	k8s/test/unit race
	$(MAKE) k8s-images-check
	k8s/images/try
	$(MAKE) k8s-demo
	$(MAKE) release-check VERSION=v0.1.0

# Topology, CDI spec and metax-docker run on a simulated node.
demo: programs
	test/demo/run

# Measurements.
bench: build
	test/bench/run

# Writes the pages and pictures in docs that are made from the commands.
docs:
	$(GO) test ./cmd/metax-ctk -run 'TestReference|TestManPages' -update
	$(GO) test ./docs -run TestExamples -update

# Programs, man pages and completions below PREFIX.
install: programs
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 0755 $(PROGRAMS:%=bin/%) $(DESTDIR)$(PREFIX)/bin
	install -d $(DESTDIR)$(PREFIX)/libexec/docker/cli-plugins $(DESTDIR)$(PREFIX)/libexec/metax-container-toolkit
	install -m 0755 $(LIBEXEC:%=bin/%) $(DESTDIR)$(PREFIX)/libexec/metax-container-toolkit
	ln -sf ../../../bin/metax-docker $(DESTDIR)$(PREFIX)/libexec/docker/cli-plugins/docker-metax
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man8
	install -m 0644 packaging/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 0644 packaging/man/*.8 $(DESTDIR)$(PREFIX)/share/man/man8
	install -d $(DESTDIR)$(PREFIX)/share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
	for program in metax-ctk metax-docker; do \
	  bin/$$program completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$program && \
	  bin/$$program completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_$$program && \
	  bin/$$program completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/$$program.fish || exit 1; \
	done

# The deb for this machine's architecture, in dist.
deb: go version
	VERSION='$(VERSION)' ARCHES=$$($(GO) env GOARCH) KINDS=deb packaging/build dist

# deb and rpm in dist, for amd64 and arm64.
packages: go version
	VERSION='$(VERSION)' packaging/build dist

# Builds them twice, and compares.
packages-check: packages
	VERSION='$(VERSION)' packaging/build dist/again
	@for p in dist/*.deb dist/*.rpm; do cmp "$$p" "dist/again/$${p##*/}" || exit 1; done
	rm -rf dist/again

# Everything that a release offers, in dist/release: make release VERSION=v0.1.0
release: go version
	VERSION='$(VERSION)' packaging/release dist/release

# Builds it twice, and compares.
release-check: release
	VERSION='$(VERSION)' packaging/release dist/release-again
	diff -r dist/release dist/release-again
	rm -rf dist/release-again

# Signs dist/release, and adds its packages to the apt and yum repository in dist/repository.
# The key is the releaser's own; BASE is where the repository will be served:
# make repository KEY=FINGERPRINT BASE=https://...
repository:
	KEY='$(KEY)' BASE='$(BASE)' packaging/repository dist/release dist/repository

# The plugin of kubectl, in bin.
kubectl-metax: go
	cd k8s && CGO_ENABLED=0 $(GO) build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o ../bin/ ./cmd/kubectl-metax

# Every package of the cluster side once, with the race detector where memory is shared.
k8s-test: go
	k8s/test/unit

# A real Kubernetes cluster with a simulated node.
# Needs root on a Debian machine, fetches and builds what is missing.
k8s-e2e:
	k8s/test/e2e/run

# Starts such a cluster and runs a pod with GPUs.
k8s-demo:
	k8s/test/demo/run

# The container images of k8s/, in dist/images, for amd64 and arm64.
k8s-images: go version
	VERSION='$(VERSION)' k8s/images/build dist/images

# Builds them twice, and compares.
k8s-images-check: k8s-images
	VERSION='$(VERSION)' k8s/images/build dist/images-again
	diff -r dist/images dist/images-again
	rm -rf dist/images-again

# The images and charts in one file for a cluster without internet, in dist.
k8s-archive: go version
	VERSION='$(VERSION)' k8s/images/build dist/images dist

# Removes bin and dist.
clean:
	rm -rf bin dist
