// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// seen is the node that the kernel's files of a host show.
func seen(t *testing.T, host *hostfs.Root) gpu.Node {
	t.Helper()
	n, err := discover.Host{Root: host}.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDriverTrees takes the driver off simulated hosts and adds another: the GPUs lose their
// devices and get them back, the version is the new one, and nothing else changes.
func TestDriverTrees(t *testing.T) {
	for _, name := range []string{"c500-8", "c500-4-degraded", "sim:1x2x2"} {
		t.Run(name, func(t *testing.T) {
			_, tree := simtest.Host(t, name)
			host := simtest.Write(t, tree)
			before := seen(t, host)
			with, without, err := sim.DriverTrees(name, "4.0.0")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(with.Remove(host.Dir()), without.Add(host.Dir())); err != nil {
				t.Fatal(err)
			}
			if n := seen(t, host); discover.NotLoaded(n) == "" || n.HasDevices() || len(n.GPUs) != len(before.GPUs) {
				t.Errorf("without the driver: %+v", n)
			}
			if err := with.Add(host.Dir()); err != nil {
				t.Fatal(err)
			}
			if m := sysfs.ReadModule(host, nil); !m.Loaded || m.Version != "4.0.0" {
				t.Errorf("%+v", m)
			}
			after := seen(t, host)
			if before.Driver != nil && after.Driver != nil {
				after.Driver.Version = before.Driver.Version
			}
			if d := cmp.Diff(before, after); d != "" {
				t.Error(d)
			}
		})
	}
	if _, _, err := sim.DriverTrees("nothing", "1"); err == nil {
		t.Error("there is a driver for no node")
	}
}

// TestDriverImage has a module whose words can be read, and the user-space part.
func TestDriverImage(t *testing.T) {
	tree, err := sim.DriverImage("c500-8", "4.0.0", []byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	host := simtest.Write(t, tree)
	for _, name := range []string{"/opt/mxdriver/bin/mx-smi", "/opt/mxdriver/lib/libmxsml.so"} {
		if !host.Exists(name) {
			t.Errorf("there is no %s", name)
		}
	}
	text := testfile.Read(t, filepath.Join(host.Dir(), "lib/modules/6.8.0-31-generic/updates/metax.ko"))
	info, err := sysfs.Modinfo(text)
	if err != nil || info["name"] != "metax" || info["version"] != "4.0.0" || info["vermagic"][:17] != "6.8.0-31-generic " {
		t.Errorf("%v %v", info, err)
	}
	if _, err := sim.DriverImage("nothing", "1", nil); err == nil {
		t.Error("there is an image for no node")
	}
}
