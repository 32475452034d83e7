// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rspec "github.com/opencontainers/runtime-spec/specs-go"
	libcdi "tags.cncf.io/container-device-interface/pkg/cdi"
	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/oci"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

var engines = []string{"docker", "containerd", "podman", "crio"}

func engineConfig(t testing.TB, name string) []byte {
	t.Helper()
	return testfile.Read(t, filepath.Join("testdata", name+".json"))
}

func look(t testing.TB) oci.Looker {
	t.Helper()
	host := simtest.Root(t, "/")
	return host.Node
}

func parse(t testing.TB, text []byte) *oci.Config {
	t.Helper()
	c, err := oci.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%.400s", err, text)
	}
	return c
}

func clone(t testing.TB, e *cdispecs.ContainerEdits) *cdispecs.ContainerEdits {
	t.Helper()
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var c cdispecs.ContainerEdits
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

func decode(t testing.TB, text []byte) *rspec.Spec {
	t.Helper()
	var s rspec.Spec
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return &s
}

// settled removes differences without effect from a spec, including what the library
// adds each time it applies the same edits: a rule that is already in force, the same
// hook again, a mount that is hidden by another one at the same path.
func settled(s *rspec.Spec, e *cdispecs.ContainerEdits) *rspec.Spec {
	if s.Linux != nil && s.Linux.Resources != nil {
		var rules []rspec.LinuxDeviceCgroup
		inForce := 0 // where the rules after the last denial begin
		for _, r := range s.Linux.Resources.Devices {
			same := func(o rspec.LinuxDeviceCgroup) bool { return cmp.Equal(o, r) }
			if r.Allow && slices.ContainsFunc(rules[inForce:], same) {
				continue
			}
			rules = append(rules, r)
			if !r.Allow {
				inForce = len(rules)
			}
		}
		s.Linux.Resources.Devices = rules
	}
	if h := s.Hooks; h != nil {
		prestart := &h.Prestart //nolint:staticcheck // SA1019: prestart hooks are still in use
		for _, list := range []*[]rspec.Hook{
			prestart, &h.CreateRuntime, &h.CreateContainer, &h.StartContainer, &h.Poststart, &h.Poststop,
		} {
			var once []rspec.Hook
			for _, hook := range *list {
				if !slices.ContainsFunc(once, func(o rspec.Hook) bool { return cmp.Equal(o, hook, cmpopts.EquateEmpty()) }) {
					once = append(once, hook)
				}
			}
			*list = once
		}
	}
	for _, d := range e.DeviceNodes {
		first := true
		s.Linux.Devices = slices.DeleteFunc(s.Linux.Devices, func(o rspec.LinuxDevice) bool {
			stale := o.Path == d.Path && !first
			first = first && o.Path != d.Path
			return stale
		})
	}
	for _, m := range e.Mounts {
		last := -1
		for i := range s.Mounts {
			if s.Mounts[i].Destination == m.ContainerPath {
				last = i
			}
		}
		for i := len(s.Mounts) - 1; i >= 0; i-- {
			if i != last && s.Mounts[i].Destination == m.ContainerPath {
				s.Mounts = slices.Delete(s.Mounts, i, i+1)
				if i < last {
					last--
				}
			}
		}
	}
	return s
}

// doubled reports whether a device path occurs twice; the library replaces it in place
// instead of at the end.
func doubled(s *rspec.Spec) bool {
	seen := map[string]bool{}
	if s.Linux != nil {
		for _, d := range s.Linux.Devices {
			if seen[d.Path] {
				return true
			}
			seen[d.Path] = true
		}
	}
	return false
}

// unmap removes the mapping that the library, unlike this package, adds to mounts in a
// user namespace.
func unmap(s *rspec.Spec, e *cdispecs.ContainerEdits) {
	for at, m := range e.Mounts {
		if slices.ContainsFunc(e.Mounts[at+1:], func(later *cdispecs.Mount) bool { return later.ContainerPath == m.ContainerPath }) {
			continue // it is not there
		}
		for i, made := range s.Mounts {
			n := len(m.Options)
			if made.Destination == m.ContainerPath && len(made.Options) == n+1 &&
				slices.Equal(made.Options[:n], m.Options) && strings.HasSuffix(made.Options[n], "idmap") {
				s.Mounts[i].Options = made.Options[:n]
			}
		}
	}
}

// compare applies the edits with the library and with Apply, and checks that the
// results are equal, that a second Apply changes nothing, and that nothing else has
// changed. It reports whether the edits could be applied.
func compare(t *testing.T, text []byte, e *cdispecs.ContainerEdits) bool {
	t.Helper()
	want := decode(t, text)
	twice := doubled(want)
	libErr := (&libcdi.ContainerEdits{ContainerEdits: clone(t, e)}).Apply(want)
	c := parse(t, text)
	before := clone(t, e)
	err := c.Apply(e, look(t))
	if (err == nil) != (libErr == nil) {
		t.Fatalf("ours: %v\nlibrary: %v\n%s", err, libErr, text)
	}
	if diff := difference(before, e); diff != "" {
		t.Fatalf("Apply changed the edits: %s", diff)
	}
	if err != nil {
		if string(c.Bytes()) != string(text) {
			t.Fatalf("an error, and the config has changed")
		}
		return false
	}
	got := decode(t, c.Bytes())
	unmap(want, e)
	want, got = settled(want, e), settled(got, e)
	if twice {
		for _, s := range []*rspec.Spec{want, got} {
			slices.SortFunc(s.Linux.Devices, func(a, b rspec.LinuxDevice) int { return strings.Compare(a.Path, b.Path) })
		}
	}
	if diff := difference(want, got); diff != "" {
		js, _ := json.Marshal(e)
		t.Fatalf("(-library +ours):\n%s\nconfig: %s\nedits: %s\nours: %s", diff, text, js, c.Bytes())
	}
	once := string(c.Bytes())
	if err := c.Apply(e, look(t)); err != nil || string(c.Bytes()) != once {
		t.Fatalf("applied again it is another one, %v:\n%s\n%s", err, once, c.Bytes())
	}
	untouched(t, text, c.Bytes())
	return true
}

// difference is cmp.Diff after a cheaper comparison: equal JSON is equal for runtimes.
func difference(want, got any) string {
	a, errA := json.Marshal(want)
	b, errB := json.Marshal(got)
	if errA == nil && errB == nil && string(a) == string(b) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

// untouched checks that everything except the edited lists is unchanged, including the
// order of keys, unknown fields, and the notation of numbers.
func untouched(t *testing.T, before, after []byte) {
	t.Helper()
	if was, is := outline(t, before), outline(t, after); !slices.Equal(was, is) {
		diff := cmp.Diff(was, is)
		t.Fatalf("touched (-before +after):\n%s", diff)
	}
}

// outline returns every token of a text except for the edited lists, with its path.
func outline(t *testing.T, text []byte) []string {
	t.Helper()
	var lines []string
	var walk func(path string, raw json.RawMessage)
	walk = func(path string, raw json.RawMessage) {
		switch path {
		case ".process.env", ".process.user.additionalGids", ".mounts", ".hooks", ".linux.devices",
			".linux.resources.devices", ".linux.netDevices", ".linux.intelRdt":
			return
		}
		raw = json.RawMessage(strings.TrimSpace(string(raw)))
		made := path == "" || path == ".process" || path == ".linux" || path == ".process.user" || path == ".linux.resources"
		if made && string(raw) == "null" {
			return
		}
		if raw[0] != '{' {
			lines = append(lines, path+"="+string(raw))
			return
		}
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
		if !dec.More() && !made {
			lines = append(lines, path+"={}")
		}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				t.Fatal(err)
			}
			var value json.RawMessage
			if err := dec.Decode(&value); err != nil {
				t.Fatal(err)
			}
			walk(path+"."+name.(string), value)
		}
	}
	walk("", text)
	return lines
}

func TestApplyEngines(t *testing.T) {
	for _, name := range engines {
		t.Run(name, func(t *testing.T) {
			text := engineConfig(t, name)
			if !compare(t, text, gpus(8)) {
				t.Error("not applied")
			}
			c := parse(t, text)
			if err := c.Apply(&cdispecs.ContainerEdits{}, look(t)); err != nil || string(c.Bytes()) != string(text) {
				t.Errorf("no edits, %v, and the text has changed", err)
			}
		})
	}
}

// gpus are edits like those of n GPUs, with device nodes that every machine has.
func gpus(n int) *cdispecs.ContainerEdits {
	e := &cdispecs.ContainerEdits{
		Env:            []string{"MACA_PATH=/opt/maca", "LD_LIBRARY_PATH=/opt/mxdriver/lib"},
		AdditionalGIDs: []uint32{44, 110},
		Mounts: []*cdispecs.Mount{
			{HostPath: "/opt/mxdriver", ContainerPath: "/opt/mxdriver", Options: []string{"ro", "nosuid", "nodev", "rbind", "rprivate"}},
			{HostPath: "/opt/maca-3.3.0", ContainerPath: "/opt/maca", Type: "bind", Options: []string{"ro", "nosuid", "nodev", "rprivate"}},
		},
		Hooks: []*cdispecs.Hook{{
			HookName: "createContainer", Path: "/usr/libexec/metax-hook",
			Args: []string{"metax-hook", "update-ldcache", "--folder", "/opt/mxdriver/lib"}, Env: []string{"A=1"},
		}},
	}
	node := func(path string) {
		e.DeviceNodes = append(e.DeviceNodes, &cdispecs.DeviceNode{Path: path, HostPath: "/dev/null"})
	}
	for i := range n {
		node("/dev/mxcd")
		node("/dev/dri/card" + string(rune('1'+i)))
		node("/dev/dri/renderD" + string(rune('1'+i)))
	}
	return e
}

// TestApplyLibrary compares with the library for random configs and edits, from pools
// so small that they often overlap.
func TestApplyLibrary(t *testing.T) {
	m := newMaker(t)
	applied := 0
	const rounds = 2500
	for i := range rounds {
		m.Rand = rand.New(rand.NewPCG(20, uint64(i)))
		if compare(t, m.config(), m.edits()) {
			applied++
		}
	}
	if applied < rounds/2 {
		t.Errorf("only %d of %d edits could be applied", applied, rounds)
	}
}
