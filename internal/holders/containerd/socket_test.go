// SPDX-License-Identifier: Apache-2.0

package containerd_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/holders/containerd"
)

func TestAddresses(t *testing.T) {
	root := t.TempDir()
	if got := containerd.Addresses(root); got != nil {
		t.Errorf("an empty machine has %q", got)
	}
	if got := containerd.Addresses(filepath.Join(root, "absent")); got != nil {
		t.Errorf("no machine has %q", got)
	}
	want := []string{filepath.Join(root, "run/containerd/containerd.sock"), filepath.Join(root, "run/docker/containerd/containerd.sock")}
	file := filepath.Join(root, "run/k3s/containerd/containerd.sock")
	for _, path := range append(want, file) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range want {
		listener, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
	}
	if diff := cmp.Diff(want, containerd.Addresses(root)); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}
