// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/image"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

const (
	versionLabel = "com.example.maca.version"
	dockerSocket = "/run/docker.sock"
)

// imageFacts are the facts that the program inspect prints about an image.
type imageFacts struct {
	ID   string
	MACA *struct {
		Path, Dir, Version, VersionFrom string
	}
	Empty        bool
	Unusable     string
	Warnings     []string
	Labels       map[string]string
	Milliseconds float64
}

// brief is what a row wants of them.
func (f imageFacts) brief() string {
	said := "none"
	switch {
	case f.MACA != nil:
		said = fmt.Sprintf("%s at %s (%s) by %s", f.MACA.Version, f.MACA.Dir, f.MACA.VersionFrom, f.MACA.Path)
	case f.Unusable != "":
		said = "unusable"
	case f.Empty:
		said = "empty"
	}
	return said
}

// inspected are the images, and what must be found in each. Their secret has the same
// path as a file of the host: no link may lead to the latter.
var inspected = []struct {
	name  string
	image image.Image
	want  string
	warns []string // a word of each warning, in order
}{
	{"none", image.Image{Dirs: []string{"/opt"}}, "none", nil},
	{"no opt", image.Image{}, "none", nil},
	{"directory", image.Image{Files: versioned("/opt/maca")}, "2.0 at /opt/maca (Version.txt) by /opt/maca", nil},
	{"empty", image.Image{Dirs: []string{"/opt/maca"}}, "empty", nil},
	{"link", image.Image{Files: versioned("/opt/maca-2.0"), Links: map[string]string{"/opt/maca": "maca-2.0"}}, "2.0 at /opt/maca-2.0 (Version.txt) by /opt/maca", nil},
	{"absolute", image.Image{Files: versioned("/opt/maca-2.0"), Links: map[string]string{"/opt/maca": "/opt/two", "/opt/two": "maca-2.0/"}}, "2.0 at /opt/maca-2.0 (Version.txt) by /opt/maca", nil},
	{"broken", image.Image{Dirs: []string{"/opt"}, Links: map[string]string{"/opt/maca": "maca-2.0"}}, "none", []string{`"/opt/maca-2.0", which is not there`}},
	{"root", image.Image{Files: versioned(""), Links: map[string]string{"/opt/maca": "/"}}, "unusable", []string{`"/"`}},
	{"system", image.Image{Files: versioned("/etc"), Links: map[string]string{"/opt/maca": "../../../etc"}}, "unusable", []string{`"/etc"`}},
	{"loop", image.Image{Dirs: []string{"/opt"}, Links: map[string]string{"/opt/maca": "other", "/opt/other": "maca"}}, "unusable", []string{"circle"}},
	{"file", image.Image{Files: map[string][]byte{"/opt/maca": []byte("no")}}, "unusable", []string{"not a directory"}},
	{"over a file", image.Image{Files: map[string][]byte{"/opt": []byte("no")}}, "unusable", []string{`"/opt"`}},
	{"opt", image.Image{Files: versioned("/data/maca"), Links: map[string]string{"/opt": "data"}}, "2.0 at /data/maca (Version.txt) by /opt/maca", []string{"/opt of the image is a link"}},
	{"out", image.Image{Files: versioned("/data/maca"), Dirs: []string{"/opt"}, Links: map[string]string{"/opt/maca": "../data/maca"}}, "2.0 at /data/maca (Version.txt) by /opt/maca", []string{"out of /opt"}},
	{"volume", image.Image{Files: versioned("/opt/maca"), Volumes: []string{"/opt/maca", "/data"}}, "2.0 at /opt/maca (Version.txt) by /opt/maca", nil},
	{
		"secret",
		image.Image{Dirs: []string{"/opt/maca/lib"}, Files: map[string][]byte{"/etc/shadow": []byte("Version:9\n")}, Links: map[string]string{"/opt/maca/Version.txt": "/etc/shadow"}},
		" at /opt/maca () by /opt/maca",
		[]string{`"/etc/shadow"`, "not known"},
	},
	{
		"secret of the host",
		image.Image{Dirs: []string{"/opt/maca/lib"}, Links: map[string]string{"/opt/maca/Version.txt": "../../../../../../../../etc/secret-of-the-host"}},
		" at /opt/maca () by /opt/maca",
		[]string{`"/etc/secret-of-the-host"`, "not known"},
	},
	{"pipe", image.Image{Dirs: []string{"/opt/maca/lib"}, FIFOs: []string{"/opt/maca/Version.txt"}}, " at /opt/maca () by /opt/maca", []string{"a pipe", "not known"}},
	{"huge", image.Image{Files: map[string][]byte{"/opt/maca/Version.txt": make([]byte, 1<<20)}}, " at /opt/maca () by /opt/maca", []string{"1048576", "not known"}},
	{"binary", image.Image{Files: map[string][]byte{"/opt/maca/Version.txt": {0, 1, 2}}}, " at /opt/maca () by /opt/maca", []string{"no version", "not known"}},
	{
		"label",
		image.Image{Dirs: []string{"/opt/maca/lib"}, Labels: map[string]string{versionLabel: "3.3"}, Env: []string{"MACA_AI_VERSION=3.2"}},
		"3.3 at /opt/maca (label " + versionLabel + ") by /opt/maca",
		[]string{`no "/opt/maca/Version.txt"`, "3.2"},
	},
	{
		"environment",
		image.Image{Files: versioned("/srv/maca"), Env: []string{"MACA_PATH=/srv/maca", "MACA_AI_VERSION=2.0.1"}},
		"2.0 at /srv/maca (Version.txt) by /srv/maca", nil,
	},
	{"many", image.Image{Files: many(versioned("/opt/maca"), 10000)}, "2.0 at /opt/maca (Version.txt) by /opt/maca", nil},
}

func versioned(dir string) map[string][]byte {
	return map[string][]byte{dir + "/Version.txt": []byte("Version:2.0\n"), dir + "/lib/libmcruntime.so": nil}
}

func many(files map[string][]byte, n int) map[string][]byte {
	for i := range n {
		files[fmt.Sprintf("/opt/maca/lib/lib%d.so", i)] = []byte("ELF")
	}
	return files
}

// imageNamed is the index of an image by its name.
func imageNamed(name string) int {
	for i := range inspected {
		if inspected[i].name == name {
			return i
		}
	}
	panic("no image " + name)
}

func inspectedRef(i int) string { return fmt.Sprintf("localhost/metax-e2e/maca:%d", i) }

// writeInspected writes the program and the images where sandboxes see them.
var writeInspected = sync.OnceValue(func() error {
	if err := goBuild(filepath.Join("..", ".."), fixed.bin, "./internal/image/testdata/inspect"); err != nil {
		return err
	}
	for i, row := range inspected {
		row.image.Ref = inspectedRef(i)
		var text bytes.Buffer
		if _, err := row.image.WriteTo(&text); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(fixed.bin, fmt.Sprintf("maca-%d.tar", i)), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
})

func TestImageDocker(t *testing.T) {
	containerdStore := map[string]any{"features": map[string]bool{"containerd-snapshotter": true}, "storage-driver": "overlayfs"}
	for _, row := range []struct {
		suite, version, store string
		config                map[string]any
	}{
		{"sid", "28.", "graph", nil},
		{"sid", "28.", "containerd", containerdStore},
		{docker29, "29.8.", "containerd", nil},
		{"trixie", "26.1.", "graph", nil},
		{"bookworm", "20.10.", "graph", nil},
	} {
		t.Run(row.suite+"/"+row.store, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, sandbox.V2)
			h.docker(t, row.version, row.config)
			e := inspectEngine{host: h, engine: dockerSocket, client: "docker", left: func(t *testing.T) string {
				return h.must(t, nil, "docker", "ps", "--all", "--format", "{{.Names}}") + h.must(t, nil, "docker", "volume", "ls", "--quiet")
			}}
			e.journey(t)
			e.imitated(t)
		})
	}
}

func TestImagePodman(t *testing.T) {
	for _, row := range []struct {
		suite, version string
	}{{"sid", "5."}, {"trixie", "5.4."}, {"bookworm", "4.3."}} {
		t.Run(row.suite, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, sandbox.V2)
			h.podman(t, row.version, "runc")
			e := inspectEngine{host: h, engine: "podman", client: "podman", left: func(t *testing.T) string {
				return h.must(t, nil, "podman", "image", "mount") + h.must(t, nil, "podman", "ps", "--all", "--quiet")
			}}
			e.journey(t)
			// A mount of the user is not removed.
			ref := inspectedRef(imageNamed("directory"))
			h.must(t, nil, "podman", "image", "mount", ref)
			e.facts(t, "", imageNamed("directory"))
			if !strings.Contains(e.left(t), ref) {
				t.Errorf("the mount of somebody else is gone: %q", e.left(t))
			}
			h.must(t, nil, "podman", "image", "unmount", ref)
			r := h.run(t, nil, "probe", "as", "1000:1000", sandbox.BinDir+"/inspect", "podman", ref)
			if r.code != 4 || !strings.Contains(r.stderr, "root alone") {
				t.Errorf("without root: %v", r)
			}
		})
	}
}

// inspectEngine is a machine with an engine whose images are looked into.
type inspectEngine struct {
	*host
	engine string // as inspect takes it
	client string
	left   func(*testing.T) string // what of looking is left over
}

func (e inspectEngine) journey(t *testing.T) {
	t.Helper()
	if err := writeInspected(); err != nil {
		t.Fatal(err)
	}
	e.write(t, "/etc/secret-of-the-host", "Version:6.6.6\n")
	for i := range inspected {
		e.must(t, nil, e.client, "load", "--quiet", "--input", fmt.Sprintf("%s/maca-%d.tar", sandbox.BinDir, i))
	}
	before := e.left(t)
	e.every(t)
	e.together(t)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		e.killed(t, signal, before)
	}
	if diff := cmp.Diff(before, e.left(t)); diff != "" {
		t.Errorf("left over: %s", diff)
	}
	if r := e.run(t, nil, "inspect", e.engine, "localhost/metax-e2e/maca:none"); r.code != 3 {
		t.Errorf("no such image: %v", r)
	}
}

// facts inspects an image, with the cache below a directory if one is named.
func (e inspectEngine) facts(t *testing.T, cache string, i int) imageFacts {
	t.Helper()
	var f imageFacts
	e.decode(t, &f, "inspect", "-cache", cache, "-label", versionLabel, e.engine, inspectedRef(i))
	return f
}

// every inspects each image twice.
func (e inspectEngine) every(t *testing.T) {
	t.Helper()
	const cache = "/run/facts"
	var cold, kept []float64
	for i, row := range inspected {
		first := e.facts(t, cache, i)
		if diff := cmp.Diff(row.want, first.brief()); diff != "" {
			t.Errorf("%s: %s%q", row.name, diff, first.Warnings)
		}
		if len(first.Warnings) != len(row.warns) {
			t.Errorf("%s: warnings %q, want %q", row.name, first.Warnings, row.warns)
		}
		for at, word := range row.warns {
			if at < len(first.Warnings) && !strings.Contains(first.Warnings[at], word) {
				t.Errorf("%s: warning %q, want %q", row.name, first.Warnings[at], word)
			}
		}
		cold = append(cold, first.Milliseconds)
		again := e.facts(t, cache, i)
		kept = append(kept, again.Milliseconds)
		if row.name == "many" {
			t.Logf("%d files: %.1f ms, then %.1f ms", len(row.image.Files), first.Milliseconds, again.Milliseconds)
		}
		first.Milliseconds, again.Milliseconds = 0, 0
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("%s by the cache: %s", row.name, diff)
		}
	}
	t.Logf("first look: median %.1f ms, most %.1f; out of the cache: median %.1f ms, most %.1f", median(cold), slices.Max(cold), median(kept), slices.Max(kept))
}

func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

// together inspects one image from several processes at once.
func (e inspectEngine) together(t *testing.T) {
	t.Helper()
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			r, err := e.try(t.Context(), nil, "inspect", "-label", versionLabel, "-cache", "/run/together", e.engine, inspectedRef(imageNamed("link")))
			if err != nil || r.code != 0 || !strings.Contains(r.stdout, `"version":"2.0"`) {
				t.Errorf("at once with others: %v, %v", r, err)
			}
		})
	}
	all.Wait()
}

// killed ends an inspection in the middle. A process that gets SIGTERM cleans up; what
// a killed one has created stays until the next inspection, of any image.
func (e inspectEngine) killed(t *testing.T, signal syscall.Signal, before string) {
	t.Helper()
	const cache = "/run/killed"
	cmd := e.Command(context.Background(), nil, "inspect", "-stall", "-cache", cache, e.engine, inspectedRef(imageNamed("volume")))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }() // it fails, as it should
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "open\n" {
		t.Fatalf("it says %q, %v", line, err)
	}
	if e.left(t) == before {
		t.Error("it is open, and nothing shows it")
	}
	// A volume would be a copy of what the image has there.
	if volumes := e.must(t, nil, e.client, "volume", "ls", "--quiet"); volumes != "" {
		t.Errorf("volumes: %s", volumes)
	}
	pid, err := sandbox.Inner(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	switch after := e.left(t); {
	case signal == syscall.SIGTERM && after != before:
		t.Errorf("left over: %s", cmp.Diff(before, after))
	case signal == syscall.SIGKILL && after == before:
		t.Error("somebody has cleared up after a killed process already")
	}
	// Not out of the cache: another directory would know nothing of what podman has mounted.
	e.must(t, nil, "inspect", "-cache", cache, "-label", signal.String(), e.engine, inspectedRef(imageNamed("none")))
	if diff := cmp.Diff(before, e.left(t)); diff != "" {
		t.Errorf("left over after the next: %s", diff)
	}
}

// imitated shows that a user's container that looks like the toolkit's is not removed.
func (e inspectEngine) imitated(t *testing.T) {
	t.Helper()
	const label = "metax-tech.com/inspection=pid 1073741824 of pid:[1] until 1"
	running := []string{"docker", "run", "--detach", "--network=none", "--label", label, "--name", "metax-inspect-run", imageRef, "/probe", "pause"}
	e.must(t, nil, running...)
	e.must(t, nil, "docker", "create", "--network=none", "--label", label, "--name", "mine", imageRef)
	e.must(t, nil, "docker", "create", "--network=none", "--label", "metax-tech.com/inspection=x", "--name", "metax-inspect-x", imageRef)
	e.must(t, nil, "docker", "create", "--network=none", "--label", label, "--name", "metax-inspect-left", imageRef)
	e.facts(t, "", imageNamed("none"))
	names := strings.Fields(e.must(t, nil, "docker", "ps", "--all", "--format", "{{.Names}}"))
	slices.Sort(names)
	if diff := cmp.Diff([]string{"metax-inspect-run", "metax-inspect-x", "mine"}, names); diff != "" {
		t.Errorf("containers: %s", diff)
	}
	e.must(t, nil, "docker", "rm", "--force", "metax-inspect-run")
}
