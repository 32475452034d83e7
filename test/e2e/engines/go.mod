// The engines that no Debian suite has, and the containerd with the newest form of
// configuration. test/e2e/build fetches exactly these, held against go.sum, and
// builds each with the requirements of its own go.mod and go.sum.
module github.com/metax-ctk/container-toolkit/test/e2e/engines

go 1.26.3

require (
	github.com/containerd/containerd v1.7.27
	github.com/containerd/containerd/v2 v2.4.2
	github.com/containerd/nerdctl/v2 v2.2.1
	github.com/cri-o/cri-o v1.34.0
	github.com/docker/cli v29.8.1+incompatible
	github.com/moby/moby/v2 v2.0.0-beta.24 // Docker 29.8.1
)

// That of clusters with Kubernetes 1.26; other engines require a newer one.
replace github.com/containerd/containerd => github.com/containerd/containerd v1.6.32
