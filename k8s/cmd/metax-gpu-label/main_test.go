// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestProgram labels a simulated host once, into a features file.
func TestProgram(t *testing.T) {
	_, tree := simtest.Host(t, "c550-8")
	root, file := t.TempDir(), filepath.Join(t.TempDir(), "labels")
	if err := tree.Write(root); err != nil {
		t.Fatal(err)
	}
	if err := newApp().Run([]string{"metax-gpu-label", "--root", root, "--output=nfd", "--nfd-file", file, "--product=mx-smi", "--once", "--log-dir="}); err != nil {
		t.Fatal(err)
	}
	text := testfile.Read(t, file)
	for _, line := range []string{"metax-tech.com/gpu.product=MXC550\n", "metax-tech.com/gpu.sriov=forbidden\n", "metax-tech.com/gpu.vfnum=0\n", "metax-tech.com/driver.ready=true\n"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	for _, test := range []struct{ args, want string }{
		{"--product=C500", `--product "C500": want manual or mx-smi`},
		{"--output=file", `--output "file": want labels or nfd`},
		{"--interval=0s", "--interval 0s: want a time above 0"},
		{"--interval=x", "invalid value"},
		{"", "set --node-name or NODE_NAME"},
		{"--node-name=a", "reach the API server"},
		{"--node-name=a --kubeconfig=/nonexistent", "reach the API server"},
		{"--log-level=loud", "loud"},
		{"--output=nfd --validate", "--validate reads the Node object, which --output=nfd does not"},
		{"extra", "extra"},
	} {
		err := newApp().Run(append([]string{"metax-gpu-label", "--log-dir="}, strings.Fields(test.args)...))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v", test.args, err)
		}
	}
}
