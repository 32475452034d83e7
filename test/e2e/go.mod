module github.com/metax-ctk/container-toolkit/test/e2e

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/metax-ctk/container-toolkit v0.0.0
	golang.org/x/sys v0.49.0
	google.golang.org/grpc v1.80.0
	k8s.io/cri-api v0.34.13
)

require (
	golang.org/x/net v0.56.0 // indirect
	golang.org/x/text v0.39.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260120221211-b8f7ae30c516 // indirect
	google.golang.org/protobuf v1.36.12-0.20260120151049-f2248ac996af // indirect
)

replace github.com/metax-ctk/container-toolkit => ../..
