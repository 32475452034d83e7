// SPDX-License-Identifier: Apache-2.0

package drmclients_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/holders/drmclients"
)

// The kernel's texts are those of Linux 5.10 and 7.2.
const (
	head    = "             command   pid dev master a   uid      magic\n"
	newHead = "             command  tgid dev master a   uid      magic                                                             name                   id\n"
	entry   = "              python    83   0   y    y     0          0\n"
	broken  = "         a\nb 7 9 y y    83 128   n    n  1000          0\n"
	unseen  = "           <unknown>     0 128   n    n     0          0\n"
)

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		inUse bool
		fails bool
	}{
		"empty":                             {text: head},
		"empty, newer":                      {text: newHead},
		"an entry":                          {text: head + entry, inUse: true},
		"a newer entry":                     {text: newHead + entry, inUse: true},
		"a name with a line feed":           {text: head + broken, inUse: true},
		"of a process of another namespace": {text: head + unseen, inUse: true},
		"nothing":                           {fails: true},
		"no line":                           {text: "             command   pid dev master a   uid      magic", fails: true},
		"another file":                      {text: "metax dev=0000:0e:00.0 unique=0000:0e:00.0\n", fails: true},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "128", "clients")
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(c.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		l, err := drmclients.New(dir, func(*os.File) error { return nil }).Read(128)
		if (err != nil) != c.fails || l.InUse != c.inUse || (l.ID == 0) != c.fails {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
		if _, err := drmclients.New(dir, drmclients.IsDebugfs).Read(128); err == nil {
			t.Errorf("%s: a file outside of debugfs is believed", name)
		}
		if _, err := drmclients.New(dir, drmclients.IsDebugfs).Read(129); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a device without a list: %v", name, err)
		}
	}
}
