module github.com/metax-ctk/container-toolkit/test/bench

go 1.26.0

toolchain go1.26.11

require (
	github.com/NVIDIA/go-gpuallocator v0.5.0
	github.com/google/go-cmp v0.7.0
	github.com/metax-ctk/container-toolkit v0.0.0-00010101000000-000000000000
)

require (
	cyphar.com/go-pathrs v0.2.6 // indirect
	github.com/NVIDIA/go-nvlib v0.5.0 // indirect
	github.com/NVIDIA/go-nvml v0.12.0-6 // indirect
	github.com/cyphar/filepath-securejoin v0.7.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/moby/sys/userns v0.1.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
	tags.cncf.io/container-device-interface v1.1.1 // indirect
)

replace github.com/metax-ctk/container-toolkit => ../..
