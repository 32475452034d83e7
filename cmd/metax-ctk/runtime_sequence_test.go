// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

var (
	sequences      = flag.Int("sequences", 5, "how many random `SEQUENCES` of changes each engine goes through")
	sequenceSeed   = flag.Uint64("sequence-seed", 0, "the first of their seeds")
	sequenceLength = flag.Int("sequence-length", 40, "how many `CHANGES` a sequence has at most, less one")
)

// ground is what an engine's files may be before the toolkit comes; nil is none.
type ground struct {
	engine string
	file   string // that somebody edits by hand
	texts  []string
	// edits are what somebody adds by hand: a key at the top of the file that nobody
	// else sets.
	edit     func(text string, n int) string
	parse    func([]byte) (map[string]any, error)
	versions []string
}

var grounds = []ground{
	{
		engine: "docker", file: "/etc/docker/daemon.json", versions: []string{"20.10", "26.1", "28.5"},
		texts: []string{
			"-", "", "{}", "{}\n", "{ }", "null", "\n", "{\n}\n", `{"debug":true}`, "{\r\n\t\"debug\": true\r\n}",
			"{\n    \"default-runtime\": \"nvidia\",\n    \"runtimes\": {\n        \"nvidia\": {\n            \"args\": [],\n            \"path\": \"nvidia-container-runtime\"\n        }\n    }\n}\n",
			"{\n  \"features\": {},\n  \"runtimes\": {}\n}\n", "{\n  \"features\": {\"cdi\": false, \"buildkit\": true},\n  \"exec-opts\": [\"native.cgroupdriver=systemd\"]\n}",
			"{\"features\": null, \"runtimes\": null, \"cdi-spec-dirs\": null}", "{\"cdi-spec-dirs\": [\"/etc/cdi\"]}\n",
			"{\"cdi-spec-dirs\": [\n\t\"/x\"\n]}\n", "{\"default-runtime\": \"\", \"features\": {\"cdi\": true}}\n",
		},
		edit: func(text string, n int) string {
			key := fmt.Sprintf(`"hand-%d": [%d, {"a" : null}]`, n, n)
			switch at := strings.Index(text, "{"); {
			case at < 0:
				return "{" + key + "}\n"
			case strings.TrimSpace(text[at+1:strings.LastIndex(text, "}")]) == "":
				return text[:at+1] + "\n " + key + text[at+1:]
			default:
				return text[:at+1] + "\n " + key + " ," + text[at+1:]
			}
		},
		parse: func(text []byte) (tree map[string]any, err error) {
			if len(bytes.TrimSpace(text)) == 0 {
				return nil, nil
			}
			err = json.Unmarshal(text, &tree)
			return tree, err
		},
	},
	{
		engine: "containerd", file: "/etc/containerd/config.toml", versions: []string{"1.6.20", "1.7.24", "2.1.4", "2.4.0"}, edit: commented, parse: parsedTOML,
		texts: []string{
			"-", "", "version = 2\n", "version = 2", "# by hand\nversion = 2\r\nimports = []\r\n", "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n",
			"version = 2\nimports = [\n  \"/etc/containerd/other/*.toml\", # theirs\n]\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n  runtime_type = \"io.containerd.runc.v2\"\n  [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\n    SystemdCgroup = true\n",
			"version = 2\n[plugins]\n\t[plugins.\"io.containerd.grpc.v1.cri\"]\n\t\tenable_cdi = false\n",
		},
	},
	{engine: "k0s", file: "/etc/k0s/containerd.toml", versions: []string{"1.7.24", "2.1.4"}, edit: commented, parse: parsedTOML, texts: []string{"version = 2\n", "# k0s_managed=true\nversion = 2\nimports = [\"/run/k0s/containerd-cri.toml\"]\n"}},
	{engine: "crio", file: "/etc/crio/crio.conf", versions: []string{"1.28.0", "1.34.0"}, edit: commented, parse: parsedTOML, texts: []string{"-", "", "[crio.runtime]\ndefault_runtime = \"crun\"\n[crio.runtime.runtimes.crun]\nruntime_path = \"/usr/bin/crun\"\n"}},
	{engine: "crio", file: "/etc/crio/crio.conf.d/99-metax.conf", versions: []string{"1.34.0"}, edit: commented, parse: parsedTOML, texts: []string{"-"}},
	{engine: "podman", file: "/etc/containers/containers.conf", versions: []string{"4.3.1", "5.5.0", "5.8.0"}, edit: commented, parse: parsedTOML, texts: []string{"-", "", "[engine]\nruntime = \"crun\"\n"}},
	{engine: "podman", file: "/etc/containers/containers.conf.d/99-metax.conf", versions: []string{"5.8.0"}, edit: commented, parse: parsedTOML, texts: []string{"-"}},
}

// Several who set up and take out at the same time do it one after the other, and what the
// files were is not lost.
func TestRuntimeTogether(t *testing.T) {
	file := "/etc/docker/daemon.json"
	w := &walk{T: t, ground: ground{engine: "docker", file: file}, dir: programHost(t), version: "26.1"}
	w.write(`{"debug":true}`)
	before := w.files()
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for range 4 {
				for _, how := range []string{"--default", "--remove"} {
					if said, err := exec.Command("metax-ctk", w.line(how)[1:]...).CombinedOutput(); err != nil {
						t.Errorf("%v: %s", err, said)
					}
				}
			}
		})
	}
	all.Wait()
	w.run("--remove")
	if d := cmp.Diff(before, w.files()); d != "" {
		t.Error(d)
	}
}

// A name or directory that some engine could not read is not written to any file.
func TestRuntimeUsage(t *testing.T) {
	for _, option := range []string{"--name=", "--name=a\"b", "--name=a\nb", "--name=-x", "--spec-dir=", "--spec-dir=rel", "--spec-dir=/a/../b", "--config=/a\nb"} {
		for _, name := range []string{"docker", "containerd", "crio", "podman"} {
			w := &walk{T: t, ground: ground{engine: name}, dir: programHost(t), version: "28.5"}
			if code, said := w.do(option, "--dry-run"); code != exitUsage {
				t.Errorf("%s %q: exit code %d, %s", name, option, code, said)
			}
		}
	}
}

// commented adds a comment and a setting to a TOML file, before its first table.
func commented(text string, n int) string {
	line := fmt.Sprintf("hand-%d = [ %d ] # by hand\n", n, n)
	if at := strings.Index("\n"+text, "\n["); at >= 0 {
		return text[:at] + line + text[at:]
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		line = "\n" + line
	}
	return text + line
}

func parsedTOML(text []byte) (tree map[string]any, err error) {
	err = toml.Unmarshal(text, &tree)
	return tree, err
}

// walk is one sequence of changes of one engine.
type walk struct {
	*testing.T
	ground
	rand    *rand.Rand
	dir     string
	version string
	log     []string
}

// Whatever is done in whatever order, what somebody wrote by hand is there, and in the
// end, when all our settings are taken out, nothing else is: not a byte, if nobody has
// edited the file in between.
func TestRuntimeSequences(t *testing.T) {
	for _, g := range grounds {
		t.Run(g.engine+strings.ReplaceAll(g.file, "/", "_"), func(t *testing.T) {
			for i := range *sequences {
				seed := *sequenceSeed + uint64(i)
				w := walk{T: t, ground: g, rand: rand.New(rand.NewPCG(seed, 0)), dir: programHost(t)}
				w.through()
				if t.Failed() {
					t.Fatalf("seed %d, %s %s:\n%s", seed, g.engine, w.version, strings.Join(w.log, "\n"))
				}
				os.RemoveAll(w.dir)
			}
		})
	}
}

// programHost is a host with nothing but our programs.
func programHost(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "metax-sequence-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{"metax-runtime", "metax-hook"} {
		testfile.Mkdir(t, dir+"/usr/bin", 0o755)
		testfile.Write(t, dir+"/usr/bin/"+name, "", 0o755)
	}
	return dir
}

func pick[T any](w *walk, of ...T) T { return of[w.rand.IntN(len(of))] }

// through goes through one sequence.
func (w *walk) through() {
	w.version = pick(w, w.versions...)
	start := pick(w, w.texts...)
	file := w.dir + w.file
	if start != "-" {
		w.write(start)
	}
	w.note("begins with %q", start)
	original := w.files()
	hand := 0
	for range 2 + w.rand.IntN(*sequenceLength) {
		switch pick(w, "configure", "configure", "remove", "edit") {
		case "configure":
			name := pick(w, "metax", "metax", "other")
			args := []string{"--name", name}
			for _, more := range []string{"--default", "--cdi=false", "--spec-dir=/srv/cdi"} {
				if w.rand.IntN(3) == 0 && (more != "--spec-dir=/srv/cdi" || w.knowsDirs()) {
					args = append(args, more)
				}
			}
			if !w.run(args...) {
				break
			}
			if again := w.files(); w.run(args...) && !cmp.Equal(again, w.files()) {
				w.Errorf("a second run changes something: %s", cmp.Diff(again, w.files()))
			}
		case "remove":
			w.run("--remove", "--name", pick(w, "metax", "metax", "other"), "--spec-dir=/srv/cdi")
		case "edit":
			text, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			hand++
			w.write(w.edit(string(text), hand))
			w.note("edit %d", hand)
		}
	}
	for _, name := range []string{"metax", "other"} {
		w.run("--remove", "--name", name, "--spec-dir=/srv/cdi")
	}
	if w.Failed() {
		return
	}
	now := w.files()
	if hand == 0 {
		if d := cmp.Diff(original, now); d != "" {
			w.Errorf("in the end it is not as it was: %s", d)
		}
		return
	}
	left, err := w.parse([]byte(now[w.file]))
	if err != nil {
		w.Fatal(err)
	}
	for n := range hand {
		key := fmt.Sprintf("hand-%d", n+1)
		if _, ok := left[key]; !ok {
			w.Errorf("%s is lost", key)
		}
		delete(left, key)
	}
	was, err := w.parse([]byte(original[w.file]))
	if err != nil {
		w.Fatal(err)
	}
	was, left = pruned(was), pruned(left)
	if original[w.file] == "" {
		delete(left, "version") // of the file that we made, and somebody uses now
	}
	if d := cmp.Diff(was, left); d != "" {
		w.Errorf("in the end it does not say what it said: %s\n%s", d, now[w.file])
	}
}

// pruned is a tree without empty tables, in which nobody says anything.
func pruned(tree map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range tree {
		if sub, ok := v.(map[string]any); ok {
			if sub = pruned(sub); len(sub) == 0 {
				continue
			}
			v = sub
		}
		out[key] = v
	}
	return out
}

func (w *walk) knowsDirs() bool {
	return w.engine != "docker" && w.engine != "podman" || w.version == "26.1" || w.version == "28.5" || w.version >= "5.5"
}

func (w *walk) note(format string, a ...any) { w.log = append(w.log, fmt.Sprintf(format, a...)) }

func (w *walk) write(text string) {
	if err := os.MkdirAll(filepath.Dir(w.dir+w.file), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(w.dir+w.file, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// files are the contents of all files below etc.
func (w *walk) files() map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "backups":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, w.dir)] = string(text)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// run runs the command, and reports whether it did what it was to.
func (w *walk) run(args ...string) bool {
	code, said := w.do(args...)
	w.note("%s: %d %s", strings.Join(args, " "), code, said)
	return code == 0
}

// do returns its exit code and what it prints.
func (w *walk) do(args ...string) (code int, said string) {
	var out, bad bytes.Buffer
	code = runCommandLine(w.Context(), w.line(args...), deps{In: strings.NewReader(""), Out: &out, Err: &bad})
	return code, out.String() + bad.String()
}

// line is the command line.
func (w *walk) line(args ...string) []string {
	return append([]string{"metax-ctk", "--root", w.dir, "runtime", "configure", "--engine", w.engine, "--engine-version", w.version}, args...)
}
