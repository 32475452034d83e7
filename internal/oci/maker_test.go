// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	rspec "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// maker generates random configs and edits.
type maker struct {
	*rand.Rand
	bases [][]byte
	hosts []string
}

func newMaker(t testing.TB) *maker {
	t.Helper()
	m := &maker{bases: [][]byte{[]byte("{}"), []byte(`{"process":null,"linux":null,"hooks":null,"mounts":null}`)}}
	for _, name := range engines {
		var small map[string]any // without the long list of system calls
		if err := json.Unmarshal(engineConfig(t, name), &small); err != nil {
			t.Fatal(err)
		}
		profile := small["linux"].(map[string]any)["seccomp"].(map[string]any)
		profile["syscalls"] = profile["syscalls"].([]any)[:2]
		data, err := json.Marshal(small)
		if err != nil {
			t.Fatal(err)
		}
		m.bases = append(m.bases, data)
	}
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o640); err != nil {
		t.Fatal(err)
	}
	testfile.Symlink(t, "/dev/null", filepath.Join(dir, "link"))
	m.hosts = []string{
		"/dev/null", "/dev/null", "/dev/null", "/dev/zero", "/dev/full", "/dev/tty", filepath.Join(dir, "fifo"),
		filepath.Join(dir, "link"), filepath.Join(dir, "none"), dir,
	}
	return m
}

func pick[T any](m *maker, from ...T) T { return from[m.IntN(len(from))] }

func some[T any](m *maker, max int, make func() T) []T {
	var all []T
	for range m.IntN(max + 1) {
		all = append(all, make())
	}
	return all
}

func (m *maker) env() string {
	return pick(m, "A", "B", "PATH", "É", "A B") + "=" + pick(m, "", "1", "x=y", "<&>\u2028\"\\", "\x01\x7f")
}

func (m *maker) path() string {
	return pick(m, "/dev/null", "/dev/mxcd", "/dev/dri/card0", "/dev/x\"y")
}

func (m *maker) number() *int64 { return pick(m, nil, new(int64(226)), new(int64(1)), new(int64(-1))) }
func (m *maker) id() *uint32    { return pick(m, nil, new(uint32(0)), new(uint32(44))) }

func (m *maker) hook() rspec.Hook {
	return rspec.Hook{
		Path: pick(m, "/bin/a", "/bin/b"), Args: pick(m, nil, []string{}, []string{"a"}, []string{"a", "b"}),
		Env: pick(m, nil, nil, []string{"X=1"}), Timeout: pick(m, nil, nil, new(0), new(5)),
	}
}

func (m *maker) destination() string {
	return pick(m, "/", "/a", "/a/b", "/a/b/", "//a", "/proc", "/opt/maca", "/a/../b", "rel", "")
}

func (m *maker) options() []string {
	return pick(m, nil, []string{"ro", "rbind"}, []string{"bind"}, []string{"idmap", "bind"}, []string{"rbind", "ridmap"}, []string{"nodev"})
}

func (m *maker) rdt() *cdispecs.IntelRdt {
	return pick(m, &cdispecs.IntelRdt{}, &cdispecs.IntelRdt{ClosID: "c", L3CacheSchema: "L3:0=f", MemBwSchema: "MB:0=20"},
		&cdispecs.IntelRdt{Schemata: []string{"L3:0=f", "MB:0=1"}, EnableMonitoring: true})
}

// config generates a config.json: that of an engine, with some parts replaced.
func (m *maker) config() []byte {
	var c map[string]any
	if err := json.Unmarshal(pick(m, m.bases...), &c); err != nil {
		panic(err)
	}
	in := func(path ...string) map[string]any {
		at := c
		for _, name := range path {
			next, ok := at[name].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[name] = next
			}
			at = next
		}
		return at
	}
	maybe := func(do func()) {
		if m.IntN(3) == 0 {
			do()
		}
	}
	maybe(func() { in("process")["env"] = some(m, 4, m.env) })
	maybe(func() {
		in("process", "user")["uid"], in("process", "user")["gid"] = pick(m, 0, 7), pick(m, 0, 8)
		in("process", "user")["additionalGids"] = some(m, 3, func() int { return pick(m, 0, 44, 45) })
	})
	maybe(func() {
		in()["mounts"] = some(m, 5, func() any {
			return map[string]any{
				"destination": m.destination(), "type": pick(m, "bind", "tmpfs"), "source": "/s", "options": m.options(),
				"x-vendor": json.Number("1.0e400"),
			}
		})
	})
	maybe(func() {
		in("linux")["devices"] = some(m, 4, func() any {
			return map[string]any{"path": m.path(), "type": "c", "major": 1, "minor": 3, "x-vendor": 1}
		})
	})
	maybe(func() {
		in("linux", "resources")["devices"] = some(m, 4, func() any {
			return rspec.LinuxDeviceCgroup{
				Allow: m.IntN(3) > 0, Type: pick(m, "", "c", "b", "a"), Major: m.number(), Minor: m.number(),
				Access: pick(m, "", "rwm", "rw"),
			}
		})
	})
	maybe(func() {
		in("linux")["namespaces"] = some(m, 3, func() any { return map[string]any{"type": pick(m, "mount", "user", "pid")} })
	})
	maybe(func() {
		in("hooks")[pick(m, "prestart", "createContainer", "poststop", "x-stage")] = some(m, 3, m.hook)
	})
	maybe(func() { in("linux", "netDevices")[pick(m, "eth0", "eth1")] = map[string]any{"name": "n0"} })
	maybe(func() { in("linux")["intelRdt"] = m.rdt() })
	maybe(func() { in("x-vendor")["deep"] = []any{nil, json.Number("12345678901234567890123"), "é"} })
	for _, name := range []string{"process", "linux", "hooks", "mounts"} {
		if m.IntN(20) == 0 {
			c[name] = nil
		}
	}
	indent := pick(m, "", " ", "\t")
	data, err := json.Marshal(c)
	if indent != "" {
		data, err = json.MarshalIndent(c, pick(m, "", "\r"), indent)
	}
	if err != nil {
		panic(err)
	}
	return data
}

func (m *maker) edits() *cdispecs.ContainerEdits {
	e := &cdispecs.ContainerEdits{Env: some(m, 3, m.env)}
	e.DeviceNodes = some(m, 4, func() *cdispecs.DeviceNode {
		host := pick(m, m.hosts[:7]...)
		if m.IntN(12) == 0 {
			host = pick(m, m.hosts...)
		}
		d := &cdispecs.DeviceNode{
			Path: m.path(), HostPath: host, Permissions: pick(m, "", "", "rw", "none"), UID: m.id(), GID: m.id(),
			FileMode: pick(m, nil, nil, new(os.FileMode(0o600))),
		}
		if m.IntN(4) == 0 {
			d.Type, d.Major, d.Minor = pick(m, "c", "b", "u", "p", ""), pick(m, int64(0), 226), pick(m, int64(0), 3)
		}
		if m.IntN(20) == 0 {
			d.HostPath = ""
		}
		return d
	})
	e.Mounts = some(m, 3, func() *cdispecs.Mount {
		return &cdispecs.Mount{HostPath: "/host", ContainerPath: m.destination(), Options: m.options(), Type: pick(m, "", "bind", "tmpfs")}
	})
	e.Hooks = some(m, 3, func() *cdispecs.Hook {
		h := m.hook()
		stage := pick(m, "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop")
		if m.IntN(40) == 0 {
			stage = "prestat"
		}
		return &cdispecs.Hook{HookName: stage, Path: h.Path, Args: h.Args, Env: h.Env, Timeout: h.Timeout}
	})
	e.AdditionalGIDs = some(m, 3, func() uint32 { return pick(m, uint32(0), 44, 110) })
	if m.IntN(4) == 0 {
		e.NetDevices = some(m, 2, func() *cdispecs.LinuxNetDevice {
			return &cdispecs.LinuxNetDevice{HostInterfaceName: pick(m, "eth0", "e\"1"), Name: pick(m, "n0", "n1")}
		})
	}
	if m.IntN(4) == 0 {
		e.IntelRdt = m.rdt()
	}
	return e
}
