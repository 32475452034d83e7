package containerd

import (
	"io/fs"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// sockets are where containerd listens, by who installed it.
func sockets() []string {
	return []string{
		"/run/containerd/containerd.sock",
		"/run/k3s/containerd/containerd.sock", // k3s and rke2
		"/var/snap/microk8s/common/run/containerd.sock",
		"/run/docker/containerd/containerd.sock", // the one that dockerd starts itself
	}
}

// Addresses returns the sockets of the machine below root, as this process sees
// them, where this user can see that they exist.
func Addresses(root string) []string {
	host, err := hostfs.New(root)
	if err != nil {
		return nil
	}
	var found []string
	for _, path := range sockets() {
		if file, err := host.Stat(path); err == nil && file.Mode.Type() == fs.ModeSocket {
			found = append(found, host.Join(path))
		}
	}
	return found
}
