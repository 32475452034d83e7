// SPDX-License-Identifier: Apache-2.0

package crio_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/metax-ctk/container-toolkit/internal/engine/crio"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// program is the CRI-O that test/e2e/run has built.
func program(t *testing.T) string {
	t.Helper()
	built := needs.Env(t, "METAX_E2E_BUILT", "with the CRI-O that test/e2e/run builds")
	found, _ := filepath.Glob(filepath.Join(built, "bin", "crio"))
	if len(found) == 0 {
		t.Fatalf("no CRI-O in %s", built)
	}
	return found[0]
}

// effective is what CRI-O makes of some files, by itself.
type effective struct {
	def      string
	dirs     []string
	runtimes map[string]string
}

// It prints what is as by default as a comment.
var (
	defLine   = regexp.MustCompile(`(?m)^(?:# )?default_runtime = "(.*)"$`)
	dirsLines = regexp.MustCompile(`(?m)^(?:# )?cdi_spec_dirs = \[\n((?:(?:# )?\t".*",\n)*)`)
	text      = regexp.MustCompile(`"(.*)"`)
)

func understand(t *testing.T, out string) effective {
	t.Helper()
	e := effective{dirs: []string{}, runtimes: map[string]string{}}
	def, dirs := defLine.FindStringSubmatch(out), dirsLines.FindStringSubmatch(out)
	if def == nil || dirs == nil {
		t.Fatalf("no default runtime or directories in what CRI-O prints:\n%s", out)
	}
	e.def = def[1]
	for _, m := range text.FindAllStringSubmatch(dirs[1], -1) {
		e.dirs = append(e.dirs, m[1])
	}
	var tree struct {
		Crio struct {
			Runtime struct {
				Runtimes map[string]struct {
					Path string `toml:"runtime_path"`
				} `toml:"runtimes"`
			} `toml:"runtime"`
		} `toml:"crio"`
	}
	// Words of its log stand before the configuration.
	_, conf, _ := strings.Cut("\n"+out, "\n# The CRI-O configuration file")
	if err := toml.Unmarshal([]byte("#"+conf), &tree); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, r := range tree.Crio.Runtime.Runtimes {
		e.runtimes[name] = r.Path
	}
	return e
}

func judge(t *testing.T, program string, in crio.Input) (effective, string) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range append(in.DropIns, in.Main, dropin.File{Path: crio.DropInDir + "/zz", Text: []byte("[crio]")}) {
		if f.Text == nil {
			f.Path = crio.Main // has to be there
		}
		path := filepath.Join(dir, f.Path)
		testfile.Write(t, path, f.Text, 0o644)
	}
	var out, errs bytes.Buffer
	c := exec.Command(program, "--config", filepath.Join(dir, crio.Main), "--config-dir", filepath.Join(dir, crio.DropInDir), "config")
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return effective{}, errs.String() + err.Error()
	}
	return understand(t, out.String()), ""
}

// TestReal checks that the real CRI-O reads and refuses the files of the corpus as we
// do, after they are set up.
func TestReal(t *testing.T) {
	crioProgram := program(t)
	paths, _ := filepath.Glob("testdata/*.txtar")
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			s, in := corpus.Load(t, path)
			if _, err := crio.Read(in); err != nil {
				if _, why := judge(t, crioProgram, in); why == "" {
					t.Errorf("we say %v, and CRI-O takes it", err)
				}
				return
			}
			changes, err := crio.Configure(in, s.Setup)
			if err != nil {
				changes = nil
			}
			agree(t, crioProgram, apply(in, changes))
		})
	}
}

func agree(t *testing.T, program string, in crio.Input) {
	t.Helper()
	want, err := crio.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	got, why := judge(t, program, in)
	if why != "" {
		t.Fatalf("CRI-O does not take it: %s", why)
	}
	if want.Default != "" && got.def != want.Default {
		t.Errorf("the default runtime is %q, we think %q", got.def, want.Default)
	}
	for name, path := range want.Runtimes {
		if have, ok := got.runtimes[name]; !ok || have != path {
			t.Errorf("the runtime %s is %q, we think %q", name, have, path)
		}
	}
	if want.SpecDirs != nil {
		if d := cmp.Diff(want.SpecDirs, got.dirs); d != "" {
			t.Errorf("directories of specs: %s", d)
		}
	}
}
