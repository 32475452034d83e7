// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// serve answers on a socket with net/http, as the daemon does.
func serve(t *testing.T, h http.HandlerFunc) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "d.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return socket
}

func TestDaemonInfo(t *testing.T) {
	socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "GET" || r.URL.Path != "/info" {
			t.Errorf("asked for %s %s", r.Method, r.URL)
		}
		w.Write([]byte(`{"ID":"x","CDISpecDirs":["/etc/cdi"],"DiscoveredDevices":[{"Source":"cdi","ID":"a/b=0"}]}`))
		w.(http.Flusher).Flush() // a long answer has no length either
	})
	got := daemonInfo(socket)
	if got.err != nil {
		t.Fatal(got.err)
	}
	want := info{CDISpecDirs: []string{"/etc/cdi"}, DiscoveredDevices: []discovered{{Source: "cdi", ID: "a/b=0"}}}
	if d := cmp.Diff(want, got.info); d != "" {
		t.Error(d)
	}
}

func TestDaemonInfoErrors(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"refused":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"no JSON":   func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) },
		"half JSON": func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"ID":`)) },
		"hung up":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			socket := serve(t, h)
			if a := daemonInfo(socket); a.err == nil || !strings.Contains(a.err.Error(), socket) {
				t.Errorf("got %v", a)
			}
		})
	}
}

// TestAsk tells which questions a daemon is asked, and what is made of the answers, for a GPU
// that the spec on disk defines. What one look has asked, the next one knows.
func TestAsk(t *testing.T) {
	const name = "metax-tech.com/gpu=0"
	for _, tc := range []struct {
		name    string
		version string // of the daemon's API
		config  string // daemon.json
		command string // of the daemon
		listed  bool   // whether its info lists the device
		asked   string
		want    bool
	}{
		{"new, files say so", "1.50", "{}", "dockerd", false, "/_ping", true},
		{"new, another GPU", "1.51", "{}", "/usr/bin/dockerd", true, "/_ping /info", true},
		{"new, found nothing", "1.51", `{"cdi-spec-dirs":[]}`, "dockerd", false, "/info", false},
		{"CDI is optional", "1.45", "{}", "dockerd", false, "/_ping /info", false},
		{"no CDI yet", "1.41", "{}", "dockerd", false, "/_ping", false},
		{"CDI in daemon.json", "1.50", `{"features":{"cdi":false}}`, "dockerd", false, "/info", false},
		{"CDI on the command line", "1.50", "{}", "dockerd\x00--feature\x00cdi=false", false, "/info", false},
		{"configured elsewhere", "1.50", "{}", "dockerd\x00--config-file=/x", false, "/info", false},
		{"somebody else's pid", "1.50", "{}", "sleep\x001", true, "/info", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var asked []string
			dir := t.TempDir()
			dirs := dir
			if tc.name == "CDI is optional" {
				dirs = "/nowhere" // on, but not in these directories
			}
			socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Path)
				w.Header().Set("Api-Version", tc.version)
				if r.URL.Path == "/info" && tc.listed {
					w.Write([]byte(`{"DiscoveredDevices":[{"ID":"` + name + `"}]}`))
				} else {
					w.Write([]byte(`{"CDISpecDirs":["` + dirs + `"]}`))
				}
			})
			device := "0"
			if tc.name == "new, another GPU" {
				device = "1"
			}
			for file, text := range map[string]string{
				"daemon.json": tc.config, "pid": "42\n", "42/cmdline": tc.command,
				"metax-tech.com-gpu.json": `{"kind":"metax-tech.com/gpu","cdiVersion":"0.7.0","devices":[{"name":"` + device + `","containerEdits":{"env":["A=1"]}}]}`,
			} {
				path := filepath.Join(dir, file)
				testfile.Write(t, path, text, 0o644)
			}
			a := <-setup{
				sockets: []string{socket}, config: filepath.Join(dir, "daemon.json"),
				pidFile: filepath.Join(dir, "pid"), proc: dir, specDirs: []string{dir},
			}.ask(socket)
			for range 2 { // software, and GPUs
				got, err := a.lists([]string{name})
				if a.err != nil || err != nil || got != tc.want || strings.Join(asked, " ") != tc.asked {
					t.Errorf("asked %q, answer %t, errors %v, %v; want %q, %t", asked, got, a.err, err, tc.asked, tc.want)
				}
			}
		})
	}
	if a := <-Ask("/nowhere/docker.sock"); a.err == nil {
		t.Error("a daemon that is not there has answered")
	}
}

func TestLists(t *testing.T) {
	dir, yaml, broken, open := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	const spec = `{cdiVersion: 0.7.0, kind: metax-tech.com/gpu, containerEdits: {env: [A=1]}, devices: [{name: "0", containerEdits: {env: [A=1]}}, {name: GPU-1, containerEdits: {env: [A=1]}}]}`
	for path, text := range map[string]string{dir + "/metax-tech.com-gpu.json": spec, yaml + "/node.yaml": spec, broken + "/gpu.json": spec[:90], open + "/gpu.json": spec} {
		testfile.Write(t, path, text, 0o644)
	}
	if err := os.Chmod(open+"/gpu.json", 0o666); err != nil {
		t.Fatal(err)
	}
	discovered := []discovered{{Source: "cdi", ID: "metax-tech.com/gpu=0"}}
	for name, tc := range map[string]struct {
		info  info
		names []string
		want  bool
		says  string // of the error
	}{
		"CDI off":              {info{}, []string{"metax-tech.com/gpu=0"}, false, ""},
		"discovered":           {info{DiscoveredDevices: discovered}, []string{"metax-tech.com/gpu=0"}, true, ""},
		"one of two":           {info{DiscoveredDevices: discovered}, []string{"metax-tech.com/gpu=0", "metax-tech.com/gpu=1"}, false, ""},
		"its word counts":      {info{DiscoveredDevices: discovered, CDISpecDirs: []string{dir}}, []string{"metax-tech.com/gpu=GPU-1"}, false, ""},
		"old daemon":           {info{CDISpecDirs: []string{"/nowhere", dir}}, []string{"metax-tech.com/gpu=GPU-1"}, true, ""},
		"old daemon, unlisted": {info{CDISpecDirs: []string{dir}}, []string{"metax-tech.com/gpu=7"}, false, ""},
		"YAML":                 {info{CDISpecDirs: []string{yaml}}, []string{"metax-tech.com/gpu=0", "metax-tech.com/gpu=GPU-1"}, true, ""},
		"broken":               {info{CDISpecDirs: []string{broken}}, []string{"metax-tech.com/gpu=0"}, false, "/gpu.json cannot be read: invalid CDI spec"},
		"for everybody":        {info{CDISpecDirs: []string{open}}, []string{"metax-tech.com/gpu=0"}, false, "cannot be trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.info.lists(tc.names, resolve)
			if got != tc.want || (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, %v; want %v, %q", got, err, tc.want, tc.says)
			}
		})
	}
}

func TestByName(t *testing.T) {
	names := []string{"metax-tech.com/gpu=GPU-1"}
	listed := Daemon{info: info{DiscoveredDevices: []discovered{{Source: "cdi", ID: "metax-tech.com/gpu=GPU-1"}}}}
	for name, tc := range map[string]struct {
		requested string
		daemon    Daemon
		want      bool
		fails     bool
	}{
		"auto, listed":        {dockerargs.InjectAuto, listed, true, false},
		"auto, not listed":    {dockerargs.InjectAuto, Daemon{}, false, false},
		"auto, no answer":     {dockerargs.InjectAuto, Daemon{err: errNoDaemon}, false, false},
		"CDI, listed":         {dockerargs.InjectCDI, listed, true, false},
		"CDI, no answer":      {dockerargs.InjectCDI, Daemon{err: errNoDaemon}, true, false},
		"CDI, not listed":     {dockerargs.InjectCDI, Daemon{}, false, true},
		"flags, nobody asked": {dockerargs.InjectFlags, Daemon{err: errNoDaemon}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, doubt, err := tc.daemon.ByName(names, "", tc.requested)
			var unlisted *UnlistedError
			if got != tc.want || doubt != nil || errors.As(err, &unlisted) != tc.fails {
				t.Errorf("got %t, doubt %v, error %v", got, doubt, err)
			}
		})
	}
}

// TestCompareUnreachable: what this user cannot reach is not said to be missing. The daemon
// is root, and reaches it.
func TestCompareUnreachable(t *testing.T) {
	dir := t.TempDir()
	driver := filepath.Join(dir, "closed", "mxdriver")
	testfile.Mkdir(t, driver, 0o755)
	const name = "metax-tech.com/gpu=GPU-1"
	d := Daemon{info: info{CDISpecDirs: []string{dir}}, resolved: map[string]resolution{}}
	e := &specs.ContainerEdits{Mounts: []*specs.Mount{{HostPath: driver}}}
	d.resolved[dir+"\x00"+name] = resolution{edits: e}
	if err := os.Chmod(filepath.Dir(driver), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Dir(driver), 0o755) })
	// Root reaches everything, so that one thread has to be somebody else.
	const nobody = 65534
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends
		if os.Geteuid() == 0 {
			if err := unix.Setfsuid(nobody); err != nil {
				done <- err
				return
			}
		}
		done <- d.Compare(edits.Edits{Names: []string{name}})
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
	e.Mounts[0].HostPath = filepath.Join(dir, "gone")
	if err := d.Compare(edits.Edits{Names: []string{name}}); err == nil {
		t.Error("what does not exist is not missed")
	}
}

// TestCompareUnknown: where it is not known which directories the engine reads, as without a
// daemon, there is nothing to compare.
func TestCompareUnknown(t *testing.T) {
	usual := docker.specDirs
	t.Cleanup(func() { docker.specDirs = usual })
	docker.specDirs = []string{t.TempDir()}
	text := `{"cdiVersion": "0.7.0", "kind": "metax-tech.com/gpu", "devices": [{"name": "0", "containerEdits": {"env": ["A=1"]}}]}`
	testfile.Write(t, filepath.Join(docker.specDirs[0], "a.json"), text, 0o644)
	outgrown := edits.Edits{Names: []string{"metax-tech.com/gpu=0"}, Devices: []edits.Device{{HostPath: "/dev/dri/card1"}}}
	for name, d := range map[string]Daemon{"no daemon": <-Ask(""), "no directories": {}} {
		if err := d.Compare(outgrown); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCompare compares specs with what a node gives.
func TestCompare(t *testing.T) {
	dev := t.TempDir()
	for _, name := range []string{"dri/card1", "dri/card2", "mxcd", "mxdriver"} {
		path := filepath.Join(dev, "dev", name)
		testfile.Write(t, path, "", 0o644)
	}
	at := func(names ...string) (out []edits.Device) {
		for _, name := range names {
			out = append(out, edits.Device{HostPath: filepath.Join(dev, "dev", name), Path: "/dev/" + name})
		}
		return out
	}
	const names = "metax-tech.com/gpu=GPU-1"
	for name, tc := range map[string]struct {
		spec, mount string // device nodes, a mount
		devices     []edits.Device
		want        string
	}{
		"the same":         {"dri/card1 mxcd", "mxdriver", at("dri/card1", "mxcd"), ""},
		"more than ours":   {"dri/card1 mxcd mxdriver", "mxdriver", at("dri/card1", "mxcd"), ""},
		"another card":     {"dri/card2 mxcd", "mxdriver", at("dri/card1", "mxcd"), "it lacks /dev/dri/card1"},
		"one more card":    {"dri/card1 dri/card2", "mxdriver", at("dri/card1"), "/dev/dri/card2 is not of these GPUs any more"},
		"a new node":       {"dri/card1", "mxdriver", at("dri/card1", "mxcd"), "it lacks /dev/mxcd"},
		"a node is gone":   {"dri/card1 mxnd", "mxdriver", at("dri/card1"), "/dev/mxnd does not exist"},
		"a mount is gone":  {"dri/card1", "gone", at("dri/card1"), "/dev/gone does not exist"},
		"no spec":          {"", "", at("dri/card1"), ""},
		"one for software": {"mxcd", "mxdriver", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var nodes []string
			for word := range strings.FieldsSeq(tc.spec) {
				nodes = append(nodes, `{"path": "/dev/`+word+`", "hostPath": "`+filepath.Join(dev, "dev", word)+`"}`)
			}
			text := `{"cdiVersion": "0.7.0", "kind": "metax-tech.com/gpu", "devices": [{"name": "GPU-1", "containerEdits": {"deviceNodes": [` + strings.Join(nodes, ",") +
				`], "mounts": [{"hostPath": "` + filepath.Join(dev, "dev", tc.mount) + `", "containerPath": "/opt"}]}}]}`
			if tc.spec != "" {
				testfile.Write(t, filepath.Join(dir, "a.json"), text, 0o644)
			}
			err := Daemon{info: info{CDISpecDirs: []string{dir}}}.Compare(edits.Edits{Names: []string{names}, Devices: tc.devices})
			got := ""
			var outdated *OutdatedError
			if errors.As(err, &outdated) {
				got = strings.ReplaceAll(outdated.Difference, dev, "")
			}
			if got != tc.want || (err == nil) != (tc.want == "") {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
