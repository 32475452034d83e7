// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// hangs is an mx-smi that writes its process ID to a file and never answers.
const hangs = `#!/bin/sh
echo $$ >"$0.new"
mv "$0.new" "$0.pid"
exec sleep 1000
`

// newHost writes a simulated host, where a lease has GPU 2.
func newHost(t testing.TB) (root string, n gpu.Node) {
	t.Helper()
	n, tree := simtest.Host(t, "c500-8")
	root = simtest.Write(t, tree).Dir()
	lend(t, root, usage.Lease{ID: "0123456789ab", GPUs: []gpu.BDF{n.GPUs[2].BDF}, Engine: "docker", Endpoint: filepath.Join(root, "docker.sock"), Container: strings.Repeat("c0ffee00", 8)})
	return root, n
}

// serveHost starts the command on a host, and returns the address of its metrics.
func serveHost(t testing.TB, root string) (address string) {
	t.Helper()
	free := httptest.NewServer(http.NotFoundHandler())
	listen := strings.TrimPrefix(free.URL, "http://")
	free.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		app := newApp()
		app.ErrWriter = t.Output()
		ended <- app.RunContext(ctx, []string{"metax-exporter", "host", "--address", listen, "--root", root, "--kernel-log="})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listen + "/metrics"
}

// lend writes a lease that this process has.
func lend(t testing.TB, root string, l usage.Lease) {
	t.Helper()
	proc := assign.Proc()
	boot, err := proc.BootID()
	if err != nil {
		t.Fatal(err)
	}
	if l.Client, err = proc.Self(); err != nil {
		t.Fatal(err)
	}
	l.Verb, l.Since, l.Bound, l.User = usage.VerbRun, time.Now(), true, &usage.User{UID: 1000, Name: "ann"}
	book := ledger.New(filepath.Join(root, assign.Dir), boot)
	if err := book.Init(-1); err != nil {
		t.Fatal(err)
	}
	err = book.Update(t.Context(), func(s *lease.State) error {
		s.Leases = append(s.Leases, l)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// scrapeUntil asks for metrics until they have all lines, and returns the last answer.
func scrapeUntil(address string, lines ...string) (text string, missing []string) {
	for range 300 {
		text, missing = get(address), nil
		for _, line := range lines {
			if !strings.Contains(text, line) {
				missing = append(missing, line)
			}
		}
		if missing == nil {
			return text, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return text, missing
}

// TestHost: a host without Kubernetes shows its GPUs, and the container that has one by its
// lease.
func TestHost(t *testing.T) {
	root, _ := newHost(t)
	address := serveHost(t, root)
	text, missing := scrapeUntil(
		address, "metax_gpus 8", `metax_exporter_source_up{source="leases"} 1`, `metax_exporter_source_up{source="reader"} 1`,
		`container="c0ffee00c0ff",container_id="`+strings.Repeat("c0ffee00", 8)+`",engine="docker",gpu="2",image="",lease="0123456789ab",user="ann"`,
	)
	if missing != nil {
		t.Fatalf("no %s in\n%s", missing, text)
	}
	for gpu, users := range map[int]int{1: 0, 2: 1} {
		container := strings.Repeat("c0ffee00c0ff", users)
		for _, want := range []string{`metax_gpu_healthy{bdf="`, `mx_gpu_state{Hostname="`} {
			found := false
			for line := range strings.Lines(text) {
				ours := strings.Contains(line, fmt.Sprintf(`gpu="%d"`, gpu)) || strings.Contains(line, fmt.Sprintf(`deviceId="%d"`, gpu))
				found = found || (strings.HasPrefix(line, want) && ours && strings.Contains(line, `container="`+container+`"`))
			}
			if !found {
				t.Errorf("GPU %d has no %s with the container %q in\n%s", gpu, want, container, text)
			}
		}
	}
	if strings.Contains(text, `source="podresources"`) || strings.Contains(text, `source="docker"`) {
		t.Errorf("there is no kubelet and no docker to ask:\n%s", text)
	}
}

// TestHang: the vendor's software never answers. A scrape gives the rest while the process
// that was asked still runs, which ends by its own bound.
func TestHang(t *testing.T) {
	root, _ := newHost(t)
	address := serveHost(t, root)
	if text, missing := scrapeUntil(address, "metax_gpus 8", `{source="readings"} 1`); missing != nil {
		t.Fatal(text)
	}
	tool := filepath.Join(root, "opt/mxdriver/bin/mx-smi")
	err := errors.Join(os.MkdirAll(filepath.Dir(tool), 0o755), os.WriteFile(tool+".new", []byte(hangs), 0o755), os.Rename(tool+".new", tool))
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for range 100 {
		text = get(address)
		late := strings.Contains(text, `metax_exporter_source_up{source="readings"} 0`)
		if late && strings.Contains(text, `lease="0123456789ab"`) && isRunning(t, tool+".pid") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("no scrape ended while mx-smi was running:\n%s", text)
}

// isRunning reports whether the process runs whose ID is in the file.
func isRunning(t *testing.T, file string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return syscall.Kill(pid, 0) == nil
}

// TestHostRefuses: what cannot be served is said, with the next step.
func TestHostRefuses(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"host", "c500-8"}, `"c500-8" is an argument; metax-exporter has only options (--help)`},
		{[]string{"c500-8"}, `"c500-8" is an argument; metax-exporter has only options (--help)`},
		{[]string{"host", "--kernel-log=", "--root", "/nonexistent"}, "/nonexistent"},
		{[]string{"host", "--kernel-log=", "--root", t.TempDir(), "--good-looks=0"}, "--good-looks and --bad-looks are at least 1"},
	} {
		app := newApp()
		app.ErrWriter = t.Output()
		err := app.RunContext(t.Context(), append([]string{"metax-exporter"}, test.args...))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v", test.args, err)
		}
	}
}

// TestHelp: the help of the command has an example.
func TestHelp(t *testing.T) {
	var out bytes.Buffer
	app := newApp()
	app.Writer = &out
	if err := app.RunContext(t.Context(), []string{"metax-exporter", "host", "--help"}); err != nil || !strings.Contains(out.String(), "metax-exporter host --address 127.0.0.1:8000\n") {
		t.Errorf("%v: %s", err, out.String())
	}
}
