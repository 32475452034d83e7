module github.com/metax-ctk/container-toolkit/test/e2e

go 1.26.0

toolchain go1.26.11

require (
	github.com/google/go-cmp v0.7.0
	github.com/metax-ctk/container-toolkit v0.0.0
	golang.org/x/sys v0.49.0
	google.golang.org/grpc v1.82.1
	k8s.io/cri-api v0.34.13
)

require (
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261110000943-09e21b237f2c // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/metax-ctk/container-toolkit => ../..
