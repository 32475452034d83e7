// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/oci"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// large is docker's config.json with enough variables to have 40 kB.
func large(b *testing.B, more string) []byte {
	b.Helper()
	text := engineConfig(b, "docker")
	var env bytes.Buffer
	for i := 0; len(text)+env.Len()+len(more) < 40_000; i++ {
		fmt.Fprintf(&env, `"SERVICE_%d_PORT_8080_TCP_ADDR=10.96.%d.17",`, i, i%256)
	}
	env.WriteString(more)
	return bytes.Replace(text, []byte(`"env":[`), append([]byte(`"env":[`), env.Bytes()...), 1)
}

const asks = `"METAX_VISIBLE_DEVICES=all",`

func BenchmarkNoRequest(b *testing.B) {
	text := large(b, "")
	for b.Loop() {
		if !oci.NoRequest(text) {
			b.Fatal("a request")
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text := large(b, asks)
	for b.Loop() {
		if _, err := oci.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBundle is the complete work of this package for a start with eight GPUs.
func BenchmarkBundle(b *testing.B) {
	dir := b.TempDir()
	text := large(b, asks)
	edits := gpus(8)
	path := filepath.Join(dir, "config.json")
	for b.Loop() {
		// Included, because stopping the timer costs more than that.
		testfile.Write(b, path, text, 0o600)
		bundle, err := oci.Open(filepath.Join(dir, "config.json"))
		if err != nil {
			b.Fatal(err)
		}
		config, err := bundle.Config()
		if err != nil {
			b.Fatal(err)
		}
		names, err := config.Request(oci.Policy{Environment: true, Unprivileged: true})
		if err != nil || len(names) != 1 {
			b.Fatal(names, err)
		}
		if err := config.Apply(edits, look(b)); err != nil {
			b.Fatal(err)
		}
		if err := bundle.Flush(); err != nil {
			b.Fatal(err)
		}
	}
}
