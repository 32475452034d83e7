// The engines that no Debian suite has, and the containerd with the newest form of
// configuration. test/e2e/build fetches exactly these, held against go.sum, and
// builds each with the requirements of its own go.mod and go.sum.
module github.com/metax-ctk/container-toolkit/test/e2e/engines

go 1.26.0

require (
	github.com/containerd/containerd/v2 v2.4.2
	github.com/containerd/nerdctl/v2 v2.2.1
	github.com/cri-o/cri-o v1.34.0
)
