// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

var fixtures cluster.Fixtures

// night reports whether the rows that take long run (METAX_K8S_NIGHT).
var night = os.Getenv("METAX_K8S_NIGHT") != ""

func TestMain(m *testing.M) {
	if sandbox.IsInit() {
		sandbox.Main()
	}
	var err error
	if fixtures, err = cluster.Environment(); err != nil {
		fmt.Fprintln(os.Stderr, "k8s/test/e2e:", err)
		os.Exit(1)
	}
	code := m.Run()
	some := flag.Lookup("test.run").Value.String() + flag.Lookup("test.skip").Value.String()
	unused := unusedRights()
	switch {
	case some != "" || code != 0:
		fmt.Printf("not every test ran to its end; of the chart's roles, they did not use these rights: %q\n", unused)
	case len(unused) > 0:
		fmt.Fprintf(os.Stderr, "FAIL: no test uses these rights of the chart's roles: %q\n", unused)
		code = 1
	}
	os.Exit(code)
}
