module github.com/metax-ctk/container-toolkit/test/bench

go 1.26.0

require (
	github.com/NVIDIA/go-gpuallocator v0.5.0
	github.com/metax-ctk/container-toolkit v0.0.0-00010101000000-000000000000
)

require (
	github.com/NVIDIA/go-nvlib v0.5.0 // indirect
	github.com/NVIDIA/go-nvml v0.12.0-6 // indirect
	github.com/google/uuid v1.6.0 // indirect
)

replace github.com/metax-ctk/container-toolkit => ../..
