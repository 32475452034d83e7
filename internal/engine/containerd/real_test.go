// SPDX-License-Identifier: Apache-2.0

package containerd_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
	"github.com/metax-ctk/container-toolkit/test/enginetest"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// realContainerd is a containerd that test/e2e/run has unpacked.
type realContainerd struct {
	command []string
	version engine.Version
}

// judges are the containerds that test/e2e/run has unpacked, each run by the libraries of its
// own root.
func judges(t *testing.T) []realContainerd {
	t.Helper()
	roots := needs.Env(t, "METAX_E2E_ROOTS", "with the engines that test/e2e/run unpacks")
	paths, _ := filepath.Glob(filepath.Join(roots, "*", "usr", "bin", "containerd"))
	var found []realContainerd
	for _, path := range paths {
		root := strings.TrimSuffix(path, "/usr/bin/containerd")
		loader, _ := filepath.Glob(root + "/lib*/ld-linux-*.so.*")
		libraries, _ := filepath.Glob(root + "/usr/lib/*-linux-gnu*")
		if len(loader) == 0 || len(libraries) == 0 {
			continue
		}
		j := realContainerd{command: []string{loader[0], "--library-path", strings.Join(libraries, ":"), path}}
		out, err := j.run("--version")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		j.version = engine.ParseVersion(string(out))
		found = append(found, j)
	}
	if len(found) == 0 {
		t.Fatalf("no containerd among the engines unpacked in %s", roots)
	}
	return found
}

func (j realContainerd) run(args ...string) ([]byte, error) {
	cmd := exec.Command(j.command[0], append(j.command[1:len(j.command):len(j.command)], args...)...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		out = append(out, complaints.Bytes()...)
	}
	return out, err
}

// judges reports whether an input is for a containerd of this kind. Layouts that the
// distribution fills in are for none, and a dump would be of other files.
func (j realContainerd) judges(in containerd.Input) bool {
	v := in.Version
	return in.Layout == containerd.DropIns && in.Dump == nil && (v == engine.Version{} || (v.Major == j.version.Major && (v.Major > 1 || v.Minor == j.version.Minor)))
}

// dump writes an input to disk and returns how containerd reads it.
func (j realContainerd) dump(t *testing.T, in containerd.Input) ([]byte, error) {
	t.Helper()
	files := append(slices.Clone(in.Imported), containerd.File{Path: in.Path, Text: in.Main}, containerd.File{Path: in.DropInPath, Text: in.DropIn})
	for _, f := range files {
		if err := os.Remove(f.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if f.Text == nil {
			continue
		}
		testfile.Write(t, f.Path, f.Text, 0o600)
	}
	return j.run("--config", in.Path, "config", "dump")
}

// moved is an input in another directory than containerd's.
func moved(in containerd.Input, dir string, v engine.Version) containerd.Input {
	move := func(text []byte) []byte {
		if text == nil {
			return nil
		}
		return append([]byte{}, bytes.ReplaceAll(text, []byte("/etc/"), []byte(dir+"/"))...)
	}
	in.Version, in.Dump = v, nil
	in.Path = dir + strings.TrimPrefix(in.Path, "/etc")
	in.DropInPath = dir + strings.TrimPrefix(in.DropInPath, "/etc")
	in.Main, in.DropIn = move(in.Main), move(in.DropIn)
	files := in.Imported
	in.Imported = nil
	for _, f := range files {
		in.Imported = append(in.Imported, containerd.File{Path: dir + strings.TrimPrefix(f.Path, "/etc"), Text: move(f.Text)})
	}
	return in
}

// TestRealEngines has real containerds read what Configure writes, and checks that they
// still have the settings that were there before.
func TestRealEngines(t *testing.T) {
	for _, j := range judges(t) {
		for _, path := range enginetest.Paths(t) {
			s, in := corpus.Load(t, path)
			if !j.judges(in) {
				continue
			}
			t.Run(j.version.String()+"/"+strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
				t.Parallel()
				in := moved(in, t.TempDir(), j.version)
				before, refusal := j.dump(t, in)
				if in.Main == nil {
					before, refusal = j.run("config", "default")
				}
				changes, err := containerd.Configure(in, s.Setup)
				var syntax *engine.SyntaxError
				if errors.As(err, &syntax) {
					if refusal == nil {
						t.Errorf("we refuse (%v), containerd does not", err)
					}
					return
				}
				if err != nil {
					t.Skip("the toolkit refuses this file, so there is nothing to compare: ", err)
				}
				after := carry(in, changes)
				if refusal != nil {
					t.Fatalf("it does not take what we do: %s", before)
				}
				now, err := j.dump(t, after)
				if err != nil {
					t.Fatalf("%v\n%s\n%s", err, now, after.DropIn)
				}
				if off, err := containerd.Disabled(after); err != nil {
					t.Fatal(err)
				} else if off && j.version.Before(2, 0) {
					if bytes.Contains(now, []byte("max_container_log_line_size")) {
						t.Errorf("the plugin is not off:\n%s", now)
					}
					return
				}
				want, err := containerd.Read(after)
				if err != nil {
					t.Fatal(err)
				}
				got := says(t, now)
				compare(t, s.Setup, j.version, want, got)
				if in.DropIn != nil {
					return // there was one from us, which meant other things
				}
				old, err := containerd.Read(in)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(withoutOurs(t, before, old, s.Setup), withoutOurs(t, now, old, s.Setup)); d != "" {
					t.Errorf("other settings -before +after:\n%s", d)
				}
				for name, path := range old.Runtimes {
					if got, ok := says(t, before).Runtimes[name]; !ok || got != path {
						t.Errorf("before, Read has runtime %s by %q, containerd by %q", name, path, got)
					}
				}
			})
		}
	}
}

// says reads a dump, which is a configuration file without imports.
func says(t *testing.T, dump []byte) engine.State {
	t.Helper()
	s, err := containerd.Read(containerd.Input{Main: dump})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func compare(t *testing.T, s engine.Setup, v engine.Version, want, got engine.State) {
	t.Helper()
	for name, path := range want.Runtimes {
		if p, ok := got.Runtimes[name]; !ok || p != path {
			t.Errorf("runtime %s: got %q, want %q", name, p, path)
		}
	}
	if s.Runtime != "" && got.Runtimes[s.Name] != s.Runtime {
		t.Errorf("our runtime is %q", got.Runtimes[s.Name])
	}
	if _, ok := got.Runtimes["runc"]; !ok {
		t.Error("runc is gone")
	}
	if want.Default != "" && got.Default != want.Default {
		t.Errorf("default: got %q, want %q", got.Default, want.Default)
	}
	if want.Systemd != engine.Unset && got.Systemd != want.Systemd {
		t.Errorf("SystemdCgroup: got %v, want %v", got.Systemd, want.Systemd)
	}
	if s.CDI && v.AtLeast(1, 7) && got.CDI == engine.Off {
		t.Error("CDI is off")
	}
	if s.SpecDirs != nil && v.AtLeast(1, 7) && !slices.Equal(got.SpecDirs, s.SpecDirs) {
		t.Errorf("directories: %q", got.SpecDirs)
	}
}

// withoutOurs is a dump without what Configure may change: our settings, and the
// built-in runc, which 1.x drops as soon as a file names a runtime.
func withoutOurs(t *testing.T, dump []byte, old engine.State, s engine.Setup) map[string]any {
	t.Helper()
	tree := decode(t, dump)
	if _, named := old.Runtimes["runc"]; !named {
		withoutSettable(tree, engine.Setup{Name: "runc"})
	}
	withoutSettable(tree, s)
	delete(tree, "imports")
	return tree
}
