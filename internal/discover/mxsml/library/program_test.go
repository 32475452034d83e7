// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// program is metax-mxsml as metax-ctk runs it. It fails the test if a process of it
// remains.
func program(t *testing.T) mxsml.Run {
	t.Helper()
	path := standin.Program(t, t.TempDir())
	return func(ctx context.Context, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Env = []string{"LC_ALL=C"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if cmd.Process == nil {
			t.Fatal(err)
		}
		if left := syscall.Kill(-cmd.Process.Pid, 0); !errors.Is(left, syscall.ESRCH) {
			t.Errorf("metax-mxsml %q left a process: %v", args, left)
		}
		if err != nil {
			first, _, _ := strings.Cut(stderr.String(), "\n")
			err = fmt.Errorf("%w: %s", err, first)
		}
		return stdout.Bytes(), err
	}
}

// TestFaults: every failure of a library gives the documented error, within the
// deadline.
func TestFaults(t *testing.T) {
	run := program(t)
	n := simtest.Node(t, "sim:1x1x2")
	code := func(function string, code uint32) error { return &mxsml.CodeError{Function: function, Code: code} }
	for _, test := range []struct {
		fault string
		want  error
		text  string // in the error
	}{
		{"code mxSmlInit 2", code("mxSmlInit", 2), "mxSmlInit failed: NoDevice (2)"},
		{"code mxSmlInit 99", code("mxSmlInit", 99), `mxSmlInit failed: "the stand-in's code 99" (99)`},
		{"code mxSmlGetDeviceInfo 4", code("mxSmlGetDeviceInfo", 4), "SysfsError (4)"},
		{"hang mxSmlInit 0", context.DeadlineExceeded, "no answer in time"},
		{"hang mxSmlGetDeviceTopology 0", context.DeadlineExceeded, "no answer in time"},
		{"crash mxSmlInit 0", mxsml.ErrCrashed, "it crashed: "},
		{"crash mxSmlGetMemoryInfo 0", mxsml.ErrCrashed, "it crashed: "},
		{"thread mxSmlInit 0", mxsml.ErrCrashed, "it crashed: "},
		{"abort mxSmlGetDeviceCount 0", mxsml.ErrCrashed, "it crashed: "},
		{"exit mxSmlInit 0", mxsml.ErrCrashed, "it ended the program"},
		{"exit mxSmlInit 3", mxsml.ErrCrashed, "exit status 3"},
		{"count mxSmlGetDeviceCount -1", nil, "mxSmlGetDeviceCount returned 4294967295; at most 64"},
		{"count mxSmlGetDeviceCount 65", nil, "at most 64"},
		{"count mxSmlGetPfDeviceCount 17", nil, "at most 16"},
		{"overrun mxSmlGetDeviceInfo 8", nil, "mxSmlGetDeviceInfo wrote more bytes than its structure has"},
		{"overrun mxSmlGetBoardSerial 1", nil, "mxSmlGetBoardSerial wrote more bytes than its structure has"},
		{"overrun mxSmlGetMetaXLinkState 1", nil, "mxSmlGetMetaXLinkState wrote more bytes"},
		{"overrun mxSmlGetSgpuToggle 4", nil, "mxSmlGetSgpuToggle wrote more bytes"},
	} {
		t.Run(test.fault, func(t *testing.T) {
			lib := standin.Build(t, t.TempDir(), n, test.fault)
			timeout := time.Minute
			if strings.HasPrefix(test.fault, "hang") {
				timeout = 300 * time.Millisecond
			}
			_, err := mxsml.Reader{Run: run, Path: lib, Timeout: timeout}.Read(t.Context())
			var is, want *mxsml.CodeError
			switch {
			case err == nil || !strings.Contains(err.Error(), test.text) || !strings.Contains(err.Error(), lib):
				t.Errorf("error is %v, want one with %q and the path", err, test.text)
			case errors.As(test.want, &want):
				if !errors.As(err, &is) || is.Function != want.Function || is.Code != want.Code {
					t.Errorf("error is %#v, want %#v", is, want)
				}
			case test.want != nil && !errors.Is(err, test.want):
				t.Errorf("error is %v, want %v", err, test.want)
			}
		})
	}
}

// TestUnusable: a file that is not libmxsml gives another error than a libmxsml that
// does not work.
func TestUnusable(t *testing.T) {
	run := program(t)
	other := filepath.Join(t.TempDir(), "libmxsml.so")
	_, tree := simtest.Host(t, "c500-1")
	for name, prepare := range map[string]func() string{
		"a text": func() string { return other },
		"the simulated tree's": func() string {
			testfile.Write(t, other, tree["opt/mxdriver/lib/libmxsml.so"].(sim.File).Data, 0o644)
			return other
		},
		"without mxSmlInit": func() string {
			lib := standin.Build(t, t.TempDir(), simtest.Node(t, "c500-1"))
			standin.Without(t, lib, "mxSmlInit")
			return lib
		},
	} {
		t.Run(name, func(t *testing.T) {
			testfile.Write(t, other, "#!/bin/sh\n", 0o755)
			_, err := mxsml.Reader{Run: run, Path: prepare()}.Read(t.Context())
			if !errors.Is(err, mxsml.ErrUnusable) {
				t.Errorf("error is %v", err)
			}
		})
	}
	for _, function := range []string{"mxSmlGetDeviceCount", "mxSmlGetDeviceInfo"} {
		lib := standin.Build(t, t.TempDir(), simtest.Node(t, "c500-1"))
		standin.Without(t, lib, function)
		_, err := mxsml.Reader{Run: run, Path: lib}.Read(t.Context())
		if err == nil || errors.Is(err, mxsml.ErrUnusable) || !strings.Contains(err.Error(), "this libmxsml has no "+function) {
			t.Errorf("without %s the error is %v", function, err)
		}
	}
	t.Run("a library that it needs is missing", func(t *testing.T) {
		lib := standin.Build(t, t.TempDir(), simtest.Node(t, "c500-1"))
		data, err := os.ReadFile(lib)
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.ReplaceAll(data, []byte("\x00libc.so.6\x00"), []byte("\x00libc.so.x\x00"))
		testfile.Write(t, lib, data, 0o755)
		_, err = mxsml.Reader{Run: run, Path: lib}.Read(t.Context())
		if err == nil || errors.Is(err, mxsml.ErrUnusable) || !strings.Contains(err.Error(), "libc.so.x") {
			t.Errorf("error is %v, want one that names libc.so.x", err)
		}
	})
}

// TestPartly: each function without which only one fact is missing is absent, fails, or
// writes an invalid text.
func TestPartly(t *testing.T) {
	run := program(t)
	n := simtest.Node(t, "sim:1x1x2")
	n.GPUs[0].SRIOV = gpu.SRIOVForbidden
	n.GPUs[1].Mode = gpu.ModeSGPU
	n.GPUs[1].Slices = []gpu.Slice{{Kind: gpu.SliceSGPU, Index: 2, UUID: "GPU-s", Alias: "a", ComputePercent: 25, MemoryMiB: 1024, QoS: gpu.QoSFixedShare}}
	whole := read(t, run, standin.Build(t, t.TempDir(), n)).Node()
	if len(whole.Warnings) > 0 || len(whole.GPUs) != 2 {
		t.Fatalf("the whole library gives %+v", whole)
	}
	for function, change := range map[string]struct {
		change  func(*gpu.GPU)
		links   bool   // that links are missing
		missing string // the warning if it is not there; empty for none
		fails   string // the warning if it fails
	}{
		"mxSmlGetErrorString":                {},
		"mxSmlGetPfDeviceCount":              {},
		"mxSmlGetAllLimitedDevices":          {fails: "devices that the driver does not serve: mxSmlGetAllLimitedDevices failed"},
		"mxSmlGetLimitedDeviceInfo":          {},
		"mxSmlGetVirtualDevicesByPhysicalId": {},
		"mxSmlGetMacaVersion":                {},
		"mxSmlGetDeviceVersion":              {change: func(g *gpu.GPU) { g.VBIOS = "" }, fails: "VBIOS version: mxSmlGetDeviceVersion failed"},
		"mxSmlGetBoardSerial":                {func(g *gpu.GPU) { g.Serial = fmt.Sprint("CHIP", 1-g.Index) }, false, "serial numbers of boards are not known", "serial number: mxSmlGetBoardSerial failed"},
		"mxSmlGetChipSerial":                 {},
		"mxSmlGetMemoryInfo":                 {func(g *gpu.GPU) { g.MemoryMiB = 0 }, false, "memory sizes are not known", "memory size: mxSmlGetMemoryInfo failed"},
		"mxSmlGetDeviceState":                {nil, false, "health is not known", "health: mxSmlGetDeviceState failed"},
		"mxSmlGetDeviceTopology":             {nil, true, "MetaXLink topology unknown", "link: mxSmlGetDeviceTopology failed"},
		"mxSmlGetMetaXLinkState":             {},
		"mxSmlGetSriovState":                 {change: func(g *gpu.GPU) { g.SRIOV = "" }},
		"mxSmlGetSgpuToggle":                 {},
		"mxSmlGetSgpuCount":                  {change: func(g *gpu.GPU) { g.Mode, g.Slices = "", nil }},
		"mxSmlGetSgpuInfo":                   {change: func(g *gpu.GPU) { g.Slices = nil }, fails: "slices: mxSmlGetSgpuInfo failed"},
		"mxSmlGetSgpuAlias": {change: func(g *gpu.GPU) {
			for i := range g.Slices {
				g.Slices[i].Alias = ""
			}
		}},
		"mxSmlGetSgpuMemory": {},
		"mxSmlGetDeviceSchedClass": {change: func(g *gpu.GPU) {
			for i := range g.Slices {
				g.Slices[i].QoS = ""
			}
		}, fails: "QoS of slices: mxSmlGetDeviceSchedClass failed"},
		"mxSmlSetDeviceSchedClass": {}, "mxSmlCreateSgpu": {}, "mxSmlRemoveSgpu": {}, "mxSmlSetSgpuAlias": {}, "mxSmlSetSgpuToggle": {},
		"mxSmlGetDeviceDieCount": {}, "mxSmlGetTotalEccErrors": {}, "mxSmlGetMetaXLinkInfo": {}, "mxSmlGetMetaXLinkRemoteInfo": {}, "mxSmlGetDeviceUnavailableReason": {},
	} {
		want := func() gpu.Node {
			w := whole
			w.GPUs = slices.Clone(w.GPUs)
			for i := range w.GPUs {
				w.GPUs[i].Slices = slices.Clone(w.GPUs[i].Slices)
				if change.change != nil {
					change.change(&w.GPUs[i])
				}
			}
			if change.links {
				w.Links = nil
			}
			return w
		}
		check := func(t *testing.T, got mxsml.Answer, warning string) {
			t.Helper()
			n := got.Node()
			text := strings.Join(n.Warnings, "\n")
			if warning == "" && text != "" || !strings.Contains(text, warning) {
				t.Errorf("warnings are %q, want one with %q", n.Warnings, warning)
			}
			n.Warnings = nil
			if diff := cmp.Diff(want(), n); diff != "" {
				t.Error(diff)
			}
		}
		t.Run("without "+function, func(t *testing.T) {
			lib := standin.Build(t, t.TempDir(), n)
			standin.Without(t, lib, function)
			got := read(t, run, lib)
			if !slices.Equal(got.Missing, []string{function}) {
				t.Errorf("missing are %q", got.Missing)
			}
			check(t, got, change.missing)
		})
		if !strings.HasSuffix(function, "Count") && function != "mxSmlGetErrorString" { // those return no code
			t.Run("failing "+function, func(t *testing.T) {
				check(t, read(t, run, standin.Build(t, t.TempDir(), n, "code "+function+" 4")), change.fails)
			})
		}
	}
	t.Run("no sGPUs on this driver", func(t *testing.T) {
		got := read(t, run, standin.Build(t, t.TempDir(), n, "code mxSmlGetSgpuToggle 3")).Node()
		if got.GPUs[1].Mode != "" || got.GPUs[1].Slices != nil || got.Warnings != nil {
			t.Errorf("got %+v", got)
		}
	})
}

func read(t *testing.T, run mxsml.Run, lib string) mxsml.Answer {
	t.Helper()
	a, err := mxsml.Reader{Run: run, Path: lib, Timeout: time.Minute}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a
}
