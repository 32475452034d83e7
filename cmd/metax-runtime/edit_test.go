// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// numbers returns the device nodes in a configuration as path to "major:minor".
func numbers(t *testing.T, path string) map[string]string {
	t.Helper()
	var c struct {
		Linux struct {
			Devices []struct {
				Path         string
				Major, Minor int64
			}
		}
	}
	if err := json.Unmarshal([]byte(read(t, path)), &c); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, d := range c.Linux.Devices {
		all[d.Path] = fmt.Sprintf("%d:%d", d.Major, d.Minor)
	}
	return all
}

// TestEdit has the ways to request GPUs, and what each injects.
func TestEdit(t *testing.T) {
	const (
		gpu0 = " /dev/dri/renderD128 /dev/mxcd"
		both = " /dev/dri/renderD128 /dev/dri/renderD129 /dev/mxcd"
	)
	annotation := func(pairs string) string { return `{"linux": {}, "annotations": {` + pairs + `}}` }
	volume := func(id string) string {
		return `{"linux": {}, "mounts": [{"destination": "/var/run/metax-container-devices/` + id + `", "type": "bind", "source": "/dev/null"}]}`
	}
	for name, tc := range map[string]struct {
		config string
		want   string // devices, or part of the error
		mounts string
	}{
		"one GPU":               {annotation(`"metax-tech.com/gpu": "0"`), gpu0, ""},
		"two":                   {annotation(`"metax-tech.com/gpu": "0,1"`), both, ""},
		"all":                   {annotation(`"metax-tech.com/gpu": "all"`), both, ""},
		"by UUID":               {annotation(`"metax-tech.com/gpu": "GPU-3fd4ee8f"`), gpu0, ""},
		"by address":            {annotation(`"metax-tech.com/gpu": "0000:0e:00.0"`), gpu0, ""},
		"none":                  {annotation(`"metax-tech.com/gpu": "none"`), "", ""},
		"MACA alone":            {annotation(`"metax-tech.com/maca": "host"`), "", "/opt/maca"},
		"GPU and MACA":          {annotation(`"metax-tech.com/maca": "host", "metax-tech.com/gpu": "0"`), gpu0, "/opt/maca"},
		"CDI":                   {annotation(`"cdi.k8s.io/pod": "metax-tech.com/gpu=0,metax-tech.com/maca=host"`), gpu0, "/opt/maca"},
		"CDI twice":             {annotation(`"cdi.k8s.io/a": "metax-tech.com/gpu=0", "cdi.k8s.io/b": "metax-tech.com/gpu=1"`), both, ""},
		"twice the same":        {annotation(`"cdi.k8s.io/a": "metax-tech.com/gpu=0", "metax-tech.com/gpu": "0"`), gpu0, ""},
		"volume":                {volume("0"), gpu0, ""},
		"another's kind":        {annotation(`"cdi.k8s.io/a": "vendor.com/nic=0"`), "error: vendor.com/nic=0", ""},
		"unknown GPU":           {annotation(`"metax-tech.com/gpu": "2"`), "error: metax-tech.com/gpu=2", ""},
		"unknown version":       {annotation(`"metax-tech.com/maca": "1.2"`), "error: metax-tech.com/maca=1.2", ""},
		"unknown in a volume":   {volume("9"), "error: metax-tech.com/gpu=9", ""},
		"no CDI name":           {annotation(`"cdi.k8s.io/a": "gpu0"`), `error: "gpu0"`, ""},
		"a slash":               {annotation(`"metax-tech.com/gpu": "/dev/sda"`), `error: "/dev/sda"`, ""},
		"an empty word":         {annotation(`"metax-tech.com/gpu": "0,,1"`), `error: ""`, ""},
		"a newline":             {annotation(`"metax-tech.com/gpu": "0\n1"`), `error: "0\n1"`, ""},
		"hidden by an escape":   {annotation(`"metax-tech.com\u002fgpu": "0"`), gpu0, ""},
		"missing node":          {annotation(`"metax-tech.com/gpu": "lost"`), "error: /dev/metax-is-not-here", ""},
		"not even an object":    {`["metax-tech.com/gpu"]`, "error: config.json", ""},
		"another's annotations": {annotation(`"nvidia.com/gpu": "0", "io.kubernetes.cri.sandbox-id": "x"`), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := scene(t, tc.config)
			path := dir + "/bundle/config.json"
			err := editBundle(path, config.Runtime{SpecDirs: []string{dir + "/cdi"}}, nil)
			if want, fails := strings.CutPrefix(tc.want, "error: "); fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
				if d := cmp.Diff(tc.config, read(t, path)); d != "" {
					t.Errorf("changed: %s", d)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := devicesOf([]byte(read(t, path)))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Fields(tc.want), got); d != "" && len(got)+len(strings.Fields(tc.want)) > 0 {
				t.Error(d)
			}
			if mounted := strings.Contains(read(t, path), tc.mounts); !mounted || strings.Contains(read(t, path), "container-devices") {
				t.Errorf("want the mount %q, and none of a device list: %s", tc.mounts, read(t, path))
			}
			if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
		})
	}
}

// TestAcceptEnvironment checks for which containers METAX_VISIBLE_DEVICES counts.
func TestAcceptEnvironment(t *testing.T) {
	for _, tc := range []struct{ accept, unprivileged, privileged, want bool }{
		{false, false, false, false},
		{false, false, true, false},
		{true, false, false, false},
		{true, false, true, true},
		{true, true, false, true},
		{true, true, true, true},
		{false, true, false, true},
		{false, true, true, true},
	} {
		t.Run(fmt.Sprintf("%+v", tc), func(t *testing.T) {
			text := `{"process": {"env": ["METAX_VISIBLE_DEVICES=0"]}, "linux": {}}`
			if tc.privileged {
				text = `{"process": {"env": ["METAX_VISIBLE_DEVICES=0"], "capabilities": {"bounding": ["CAP_SYS_ADMIN"]}}, ` +
					`"linux": {"resources": {"devices": [{"allow": true, "access": "rwm"}]}}}`
			}
			dir := scene(t, text)
			path := dir + "/bundle/config.json"
			err := editBundle(path, config.Runtime{
				SpecDirs:          []string{dir + "/cdi"},
				AcceptEnvironment: tc.accept, AcceptEnvironmentUnprivileged: tc.unprivileged,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(numbers(t, path)) > 0; got != tc.want {
				t.Errorf("it counts: %v, want %v\n%s", got, tc.want, read(t, path))
			}
		})
	}
}

// TestDefaultMACA: maca.default gives the host's MXMACA with a GPU, unless the container has
// something in its place.
func TestDefaultMACA(t *testing.T) {
	const asks = `"annotations": {"metax-tech.com/gpu": "0"}`
	for name, tc := range map[string]struct {
		config string
		link   string // where the link /opt/maca of the image leads; empty for an image without it
		off    bool   // the setting
		none   bool   // the host has no MXMACA
		want   bool
	}{
		"an image without":           {config: asks, want: true},
		"not configured":             {config: asks, off: true},
		"no GPU":                     {config: `"annotations": {"metax-tech.com/gpu": "none"}`},
		"refused":                    {config: `"annotations": {"metax-tech.com/gpu": "0", "metax-tech.com/maca": "none"}`},
		"a host without":             {config: asks, none: true},
		"its own":                    {config: asks, link: "/usr"},
		"a link that leads out":      {config: asks, link: "../../../../../../usr"},
		"a link that leads nowhere":  {config: asks, link: "/etc", want: true},
		"a link in a circle":         {config: asks, link: "maca"},
		"its own elsewhere":          {config: asks + `, "process": {"env": ["MACA_PATH=/usr/"]}`},
		"a variable without a place": {config: asks + `, "process": {"env": ["MACA_PATH=/none", "MACA_PATH=x"]}`, want: true},
		"a volume there":             {config: asks + `, "mounts": [{"destination": "/opt/maca/", "source": "/x"}]`},
		"a volume inside":            {config: asks + `, "mounts": [{"destination": "/opt/maca/lib", "source": "/x"}]`},
		"no root":                    {config: strings.Replace(asks, `"annotations"`, `"root": {"path": "none"}, "annotations"`, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(tc.config, `"root"`) {
				tc.config += `, "root": {"path": "rootfs"}`
			}
			dir := scene(t, `{"linux": {}, `+tc.config+`}`)
			for _, path := range []string{"/bundle/rootfs/opt", "/bundle/rootfs/usr"} {
				testfile.Mkdir(t, dir+path, 0o755)
			}
			if tc.link != "" {
				testfile.Symlink(t, tc.link, dir+"/bundle/rootfs/opt/maca")
			}
			if tc.none {
				if err := os.Remove(dir + "/cdi/maca.json"); err != nil {
					t.Fatal(err)
				}
			}
			path := dir + "/bundle/config.json"
			if err := editBundle(path, config.Runtime{SpecDirs: []string{dir + "/cdi"}, MACA: !tc.off}, nil); err != nil {
				t.Fatal(err)
			}
			text := read(t, path)
			if got := strings.Contains(text, `"destination":"/opt/maca"`); got != tc.want {
				t.Errorf("MXMACA: %t, want %t: %s", got, tc.want, text)
			}
			if gpu := !strings.Contains(tc.config, "none\"}") || strings.Contains(tc.config, `gpu": "0"`); gpu != strings.Contains(text, "/dev/mxcd") {
				t.Errorf("GPU: want %t: %s", gpu, text)
			}
		})
	}
}

// TestEditTrust: a spec that others may write is not used.
func TestEditTrust(t *testing.T) {
	for spoilt, mode := range map[string]os.FileMode{"/cdi/gpu.json": 0o666, "/cdi": 0o777, "/cdi/": 0o775} {
		t.Run(spoilt, func(t *testing.T) {
			const text = `{"linux": {}, "annotations": {"metax-tech.com/gpu": "0"}}`
			dir := scene(t, text)
			if err := os.Chmod(dir+spoilt, mode); err != nil {
				t.Fatal(err)
			}
			path := dir + "/bundle/config.json"
			err := editBundle(path, config.Runtime{SpecDirs: []string{dir + "/cdi"}}, nil)
			want := fmt.Sprintf("group or others may write to %q (mode %04o)", strings.TrimSuffix(dir+spoilt, "/"), mode)
			if !errors.Is(err, hostfs.ErrUntrusted) || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
			if d := cmp.Diff(text, read(t, path)); d != "" {
				t.Errorf("changed: %s", d)
			}
		})
	}
}
