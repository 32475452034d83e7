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
	case some != "":
		fmt.Println("only some tests ran: whether the chart's roles have rights that nothing uses is not judged")
	case code == 0 && len(unused) > 0:
		fmt.Fprintf(os.Stderr, "FAIL: no test uses these rights of the chart's roles: %q\n", unused)
		code = 1
	}
	os.Exit(code)
}
