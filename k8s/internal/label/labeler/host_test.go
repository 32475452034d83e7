// SPDX-License-Identifier: Apache-2.0

package labeler

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/k8s/internal/label"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// tree writes the host of a simulated node, which nobody has recorded.
func tree(t testing.TB, n gpu.Node) (dir string) {
	t.Helper()
	files, err := sim.HostTree(n)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := files.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func simulated(t testing.TB, name string) gpu.Node {
	t.Helper()
	n := simtest.Node(t, name)
	return n
}

func labelsBelow(t testing.TB, dir string) map[string]string {
	t.Helper()
	n, err := Host(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	labels, _ := label.Of(n, label.ProductManual)
	return labels
}

// TestHostRecorded: a host whose node was recorded has the labels of its Node.
func TestHostRecorded(t *testing.T) {
	for _, name := range []string{"c500-8", "c500-8-sgpu", "c500-1", "c550-8"} {
		n := simulated(t, name)
		dir := tree(t, n)
		host := simtest.Root(t, dir)
		if err := node.Record(host, n); err != nil {
			t.Fatal(err)
		}
		want, _ := label.Of(n, label.ProductManual)
		if diff := cmp.Diff(want, labelsBelow(t, dir)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestHostNotRecorded: memory and MetaXLink alone are missing where no node is recorded.
func TestHostNotRecorded(t *testing.T) {
	for _, mode := range []string{gpu.DriverNative, gpu.DriverCloud} {
		n := simulated(t, "c500-8")
		n.Driver.Mode = mode
		want, _ := label.Of(n, label.ProductManual)
		delete(want, protocol.LabelMemory)
		if diff := cmp.Diff(want, labelsBelow(t, tree(t, n))); diff != "" {
			t.Errorf("%s: %s", mode, diff)
		}
	}
}

func TestHostWithoutGPU(t *testing.T) {
	const device = "sys/bus/pci/devices/0000:00:1f.0/vendor"
	for name, test := range map[string]struct {
		files map[string]string // path → content; a path that ends in / is a directory
		clean bool
	}{
		"an empty bus":              {map[string]string{"sys/bus/pci/devices/": ""}, true},
		"another vendor":            {map[string]string{device: "0x8086\n"}, true},
		"sysfs is not mounted":      {map[string]string{"sys/": ""}, false},
		"a device cannot be read":   {map[string]string{device + "/": ""}, false},
		"a device without a vendor": {map[string]string{"sys/bus/pci/devices/0000:00:1f.0/class": "0x030000\n"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for path, content := range test.files {
				full := filepath.Join(dir, path)
				if strings.HasSuffix(path, "/") {
					full = filepath.Join(full, "x")
				}
				testfile.Mkdir(t, filepath.Dir(full), 0o755)
				if strings.HasSuffix(path, "/") {
					continue
				}
				testfile.Write(t, full, content, 0o644)
			}
			_, err := Host(context.Background(), dir)
			if err == nil || errors.Is(err, label.ErrNoGPU) != test.clean {
				t.Errorf("error is %v", err)
			}
		})
	}
}
