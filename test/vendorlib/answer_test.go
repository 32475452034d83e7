// SPDX-License-Identifier: Apache-2.0

package vendorlib_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
	"github.com/metax-ctk/container-toolkit/test/testfile"
	"github.com/metax-ctk/container-toolkit/test/vendorlib"
)

// recorded is what the library answered over a host.
type recorded struct {
	// Library is the SHA-256 of the library, Version its version.
	Library string `json:"library"`
	Version string `json:"version"`
	// Tree is the SHA-256 of the files that it was given.
	Tree     string          `json:"tree"`
	Node     json.RawMessage `json:"node"`
	Readings json.RawMessage `json:"readings"`
}

// hash is that of the part of a tree that the library may read.
func hash(tree sim.Tree) string {
	sum := sha256.New()
	for _, p := range slices.Sorted(maps.Keys(tree)) {
		if strings.HasPrefix(p, "sys/") || p == "proc/modules" {
			fmt.Fprintf(sum, "%s %#v\n", p, tree[p])
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// overTree returns a Run of metax-mxsml over a tree in a directory.
func overTree(t *testing.T, dir string) mxsml.Run {
	t.Helper()
	program := standin.Program(t, t.TempDir())
	return func(ctx context.Context, args ...string) ([]byte, error) {
		cmd := vendorlib.Over(ctx, dir, t.TempDir(), append([]string{program}, args...)...)
		var stderr bytes.Buffer
		cmd.Stderr, cmd.WaitDelay = &stderr, time.Second
		out, err := cmd.Output()
		if err != nil && len(out) == 0 {
			t.Logf("%v: %s", err, stderr.String())
		}
		return out, err
	}
}

// answer is the library's answer to a host: a fresh one if there is a library, and else the
// recorded one, which must be of the same host.
func answer(t *testing.T, h vendorlib.Host) (node, readings mxsml.Answer) {
	t.Helper()
	file := filepath.Join("testdata", h.Name+".json")
	var known recorded
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	if library := os.Getenv(libraryVar); library != "" {
		fresh := ask(t, h, library)
		if *update {
			write(t, file, fresh)
			known = fresh
		}
		if diff := cmp.Diff(compact(t, known.Node)+compact(t, known.Readings), compact(t, fresh.Node)+compact(t, fresh.Readings)); diff != "" && known.Library == fresh.Library {
			t.Errorf("the library answers otherwise than in %s (-recorded +now):\n%s", file, diff)
		}
		known.Tree, known.Node, known.Readings = fresh.Tree, fresh.Node, fresh.Readings
	}
	if got := hash(h.Tree); got != known.Tree {
		t.Errorf("%s is the answer to another host: run the test with %s and -update, as root", file, libraryVar)
	}
	return decode(t, known.Node), decode(t, known.Readings)
}

func ask(t *testing.T, h vendorlib.Host, library string) recorded {
	t.Helper()
	code, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	run := overTree(t, simtest.Write(t, h.Tree).Dir())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := recorded{Library: fmt.Sprintf("%x", sha256.Sum256(code)), Version: version, Tree: hash(h.Tree)}
	if r.Node, err = run(ctx, library, "node", "--details"); err != nil && len(r.Node) == 0 {
		t.Fatal(err)
	}
	if r.Readings, err = run(ctx, library, "readings"); err != nil && len(r.Readings) == 0 {
		t.Fatal(err)
	}
	return r
}

func decode(t *testing.T, data []byte) mxsml.Answer {
	t.Helper()
	a, err := mxsml.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func compact(t *testing.T, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func write(t *testing.T, file string, r recorded) {
	t.Helper()
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(r); err != nil {
		t.Fatal(err)
	}
	testfile.Write(t, file, b.Bytes(), 0o644)
}
