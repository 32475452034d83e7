// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestWrongOptions(t *testing.T) {
	t.Setenv("METAX_OPERATOR_LOG_DIR", t.TempDir())
	values := filepath.Join(t.TempDir(), "values.yaml")
	testfile.Write(t, values, "gpuDevise: {}\n", 0o600)
	for _, test := range []struct{ args, want string }{
		{"controller", `Required flag "namespace" not set`},
		{"controller --namespace=a --values=/nonexistent", "no such file"},
		{"controller --namespace=a --values=" + values, "additional properties 'gpuDevise' not allowed"},
		{"controller --namespace=a --kubeconfig=/nonexistent", "reach the API server"},
		{"controller --namespace=a --log-level=loud", "loud"},
		{"define --kubeconfig=/nonexistent", "reach the API server"},
		{"undefine --namespace=a --kubeconfig=/nonexistent", "reach the API server"},
		{"remove --grace=soon", "invalid value"},
		{"vf", `Required flag "node-name" not set`},
		{"vf --node-name=a --root=/nonexistent", "no such file"},
		{"vfio --node-name=a --interval=0s", "--interval: want a time above 0"},
	} {
		err := newApp().Run(append([]string{"metax-operator"}, strings.Fields(test.args)...))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v", test.args, err)
		}
	}
}
