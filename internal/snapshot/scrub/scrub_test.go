package scrub_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

const one = "3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b"

// learned is a Scrubber of a node with one of everything.
func learned() *scrub.Scrubber {
	s := scrub.New()
	s.Learn(scrub.Host, "gpu07", "gpu07.corp.example", "opt", "x")
	s.Learn(scrub.Serial, "SN4711A", "1234")
	s.Learn(scrub.UUID, "GPU-odd-one")
	s.Learn(scrub.Alias, "team-a")
	s.Learn(scrub.Version, "10.3.0.15")
	return s
}

func TestText(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"a UUID", "GPU-" + one, "GPU-00000000-0000-0000-0000-000000000001"},
		{"a slice's", "SGPU-" + one, "SGPU-00000000-0000-0000-0000-000000000001"},
		{"the same twice", one + " " + strings.ToUpper(one), "00000000-0000-0000-0000-000000000001 00000000-0000-0000-0000-000000000001"},
		{"two", one + " 4" + one[1:], "00000000-0000-0000-0000-000000000001 00000000-0000-0000-0000-000000000002"},
		{"an odd one", "(UUID: GPU-odd-one) gpu-ODD-one", "(UUID: GPU-00000000-0000-0000-0000-000000000001) GPU-00000000-0000-0000-0000-000000000001"},
		{"one of mx-smi", "(UUID: whatever)", "(UUID: 00000000-0000-0000-0000-000000000001)"},
		{"none of mx-smi", "(UUID: NA)", "(UUID: NA)"},
		{"GPUs that are none", "GPU-Util GPU-0 GPU0 GPU#0", "GPU-Util GPU-0 GPU0 GPU#0"},
		{"a serial number", "SN4711A xSN4711A SN4711Ab 1234", "SERIAL000001 xSN4711A SN4711Ab 1234"},
		{"one of mx-smi's", "    Board Serial Number     : AB12\n  SN : N/A\n", "    Board Serial Number     : SERIAL000001\n  SN : N/A\n"},
		{"not one of a sentence", "serial numbers are not known: run it", "serial numbers are not known: run it"},
		{"a host", "GPU07 gpu07.corp.example gpu07.other.example xgpu07 gpu070 gpu07-data. /opt", "host-1 host-1 host-1 xgpu07 gpu070 host-1-data. /opt"},
		{"an alias", "team-a", "alias-1"},
		{"a mail address", "by joe@corp.example.", "by mail-1."},
		{"a home", `/home/joe/x:/home/ann "/home/joe"`, `/home/user-1/x:/home/user-2 "/home/user-1"`},
		{"credentials", "http://joe:pw@proxy.corp:3128/x", "http://scrubbed@host-1:3128/x"},
		{"a host of a URL", "tcp://10.1.2.3:2375 https://localhost/ unix:///run/x.sock", "tcp://host-1:2375 https://localhost/ unix:///run/x.sock"},
		{"secrets by name", "api_key=abc PASSWORD: abc x.token='abc'", "api_key=scrubbed PASSWORD: scrubbed x.token='scrubbed'"},
		{"a header", "Authorization: Bearer abcdefgh123", "Authorization: Bearer scrubbed"},
		{"IPv4", "10.1.2.3 10.1.2.4 10.1.2.3:80 127.0.0.1 0.0.0.0", "192.0.2.1 192.0.2.2 192.0.2.1:80 127.0.0.1 0.0.0.0"},
		{"versions", "Version:3.3.0.15 maca-3.3.0.14 mx-smi version: 2.2.9.1 10.3.0.15 v1.2.3.4 1.2.3 1.2.3.4.5", "Version:3.3.0.15 maca-3.3.0.14 mx-smi version: 2.2.9.1 10.3.0.15 v1.2.3.4 1.2.3 1.2.3.4.5"},
		{"IPv6", "fe80::1:2 [2001:db9::7]:80 ::1 ::", "2001:db8::1 [2001:db8::2]:80 ::1 ::"},
		{"addresses on the bus", "0000:0e:00.0 pci0000:0a 226:128 16:37:10", "0000:0e:00.0 pci0000:0a 226:128 16:37:10"},
		{"MAC", "0c:42:a1:00:11:22", "02:00:00:00:00:01"},
		{"a container", strings.Repeat("ab", 32), strings.Repeat("0", 63) + "1"},
		{"a time", "Timestamp      : Wed Feb 11\nx", "Timestamp      : scrubbed\nx"},
		{"modalias", "pci:v00009999d00004001sv00009999sd00000001bc03sc80i00", "pci:v00009999d00004001sv00009999sd00000001bc03sc80i00"},
	} {
		if got := learned().Text(tt.text); got != tt.want {
			t.Errorf("%s: %q became\n\t%q, want\n\t%q", tt.name, tt.text, got, tt.want)
		}
	}
}

// Many addresses have a stand-in each.
func TestManyAddresses(t *testing.T) {
	s, seen := scrub.New(), map[string]bool{}
	for i := range 2000 {
		got := s.Text(fmt.Sprintf("10.%d.%d.9", i/250, i%250))
		if seen[got] {
			t.Fatalf("%s stands for two", got)
		}
		seen[got] = true
	}
}

func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		name       string
		format     scrub.Format
		text, want string
	}{
		{
			"docker", scrub.JSON,
			"{\n\t\"runtimes\": {\"metax\": {\"path\": \"/usr/bin/metax-runtime\", \"runtimeArgs\": [\"--key=abc\"]}},\r\n\t\"default-runtime\": \"metax\"," +
				" \"registry-mirrors\": [\"https://hub.corp\"], \"proxies\": {\"http-proxy\": \"http://joe:pw@p\"}, \"labels\": [\"team=a\"],\n  \"features\": {\"cdi\": true}, \"mtu\": 1400, \"unknown\": {\"deep\": \"value\"}}",
			"{\n\t\"runtimes\": {\"metax\": {\"path\": \"/usr/bin/metax-runtime\", \"runtimeArgs\": [\"scrubbed\"]}},\r\n\t\"default-runtime\": \"metax\"," +
				" \"registry-mirrors\": [\"scrubbed\"], \"proxies\": {\"key-1\": \"scrubbed\"}, \"labels\": [\"scrubbed\"],\n  \"features\": {\"cdi\": true}, \"mtu\": 1400, \"unknown\": {\"deep\": \"scrubbed\"}}",
		},
		{"a mark and no object", scrub.JSON, "\ufeff\"secret\"\n", "\ufeff\"scrubbed\"\n"},
		{
			"broken", scrub.JSON, `{"default-runtime": "metax", "pass-phrase": "Hunter2"` + "\n  \"é\" \x01 [", `{"default-runtime": "metax", "xxxx-xxxxxx": "xxxxxx0"` + "\n  \"xx\" \x01 [",
		},
		{"a key twice", scrub.JSON, `{"a-1": "b", "a-1": "c"}`, `{"x-0": "x", "x-0": "x"}`},
		{
			"containerd", scrub.TOML,
			"# Written by metax-ctk runtime configure\n# password = \"abc\"\nversion = 2 # joe\r\nimports = ['/etc/containerd/conf.d/*.toml', \"/home/joe/x.toml\"]\n" +
				"[plugins.\"io.containerd.grpc.v1.cri\".registry.configs.\"hub.corp\".auth]\n  username = \"joe\"\n  \"pass\" = '''a\nb'''\n" +
				"[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n  runtime_type = \"io.containerd.runc.v2\"\n  options = {BinaryName = \"/usr/bin/runc\", SystemdCgroup = true, X = \"y\"}\n" +
				"[[stream]]\nargs = [ \"a\", # b\n \"c\" ]\nother = \"\"\"x\\\"\"\"\"\nn = 0x1f\nt = 2026-11-22T10:00:00Z",
			"# Written by metax-ctk runtime configure\n#\nversion = 2 #\r\nimports = ['/etc/containerd/conf.d/*.toml', \"/home/user-1/x.toml\"]\n" +
				"[plugins.\"io.containerd.grpc.v1.cri\".registry.\"key-1\".\"key-2\".\"key-3\"]\n  \"key-4\" = \"scrubbed\"\n  \"key-5\" = \"scrubbed\"\n" +
				"[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n  runtime_type = \"io.containerd.runc.v2\"\n  options = {BinaryName = \"/usr/bin/runc\", SystemdCgroup = true, X = \"scrubbed\"}\n" +
				"[[stream]]\nargs = [ \"scrubbed\", #\n \"scrubbed\" ]\nother = \"scrubbed\"\nn = 0x1f\nt = 2026-11-22T10:00:00Z",
		},
		{"broken TOML", scrub.TOML, "version = 2\n[plugins\nkey = \"Hunter2\"\n", "version = 0\n[plugins\nxxx = \"xxxxxx0\"\n"},
		{
			"podman", scrub.TOML, "[engine]\nruntime = \"crun\"\nenv = [\"TOKEN=abc\"]\n[engine.runtimes]\nmetax = [\n  \"/usr/bin/metax-runtime\"\n]\n",
			"[engine]\nruntime = \"crun\"\nenv = [\"scrubbed\"]\n[engine.runtimes]\nmetax = [\n  \"/usr/bin/metax-runtime\"\n]\n",
		},
		{
			"another's spec", scrub.JSON, `{"cdiVersion": "0.5.0", "kind": "other.org/x", "devices": [{"name": "a", "containerEdits": {"env": ["A=abc"], "hooks": [{"hookName": "prestart", "path": "/x", "args": ["x", "abc"]}]}}]}`,
			`{"cdiVersion": "0.5.0", "kind": "other.org/x", "devices": [{"name": "a", "containerEdits": {"env": ["scrubbed"], "hooks": [{"hookName": "prestart", "path": "/x", "args": ["scrubbed", "scrubbed"]}]}}]}`,
		},
		{
			"our spec", scrub.JSON, `{"kind": "metax-tech.com/gpu", "annotations": {"metax-tech.com/model": "MXC500", "who": "joe"}, "devices": [{"name": "GPU-` + one + `", "containerEdits": {"env": ["PATH=/opt/maca/bin", "USER=joe"], "hooks": [{"args": ["metax-hook", "ldcache"]}]}}]}`,
			`{"kind": "metax-tech.com/gpu", "annotations": {"metax-tech.com/model": "MXC500", "key-1": "scrubbed"}, "devices": [{"name": "GPU-00000000-0000-0000-0000-000000000001", "containerEdits": {"env": ["PATH=/opt/maca/bin", "USER=scrubbed"], "hooks": [{"args": ["metax-hook", "ldcache"]}]}}]}`,
		},
		{
			"a spec in YAML", scrub.YAML, "# by joe\nkind: other.org/x\ncontainerEdits:\n  env: [A=abc]\n", "containerEdits:\n  env:\n  - scrubbed\nkind: other.org/x\n",
		},
		{"broken YAML", scrub.YAML, "kind: [a\nenv: Hunter2\n", "kind: [x\nenv: xxxxxx0\n"},
		{
			"leases", scrub.OwnJSON,
			`{"leases": [{"id": "0123456789ab", "user": {"uid": 1000, "name": "joe"}, "container": "` + strings.Repeat("ab", 32) + `", "endpoint": "unix:///run/docker.sock"}], "seen": {"docker//` + strings.Repeat("ab", 32) + `": {"name": "joes-job", "image": "hub.corp/x:1"}}}`,
			`{"leases": [{"id": "0123456789ab", "user": {"uid": 1000, "name": "user-1"}, "container": "` + strings.Repeat("0", 63) + `1", "endpoint": "unix:///run/docker.sock"}], "seen": {"docker//` + strings.Repeat("0", 63) + `1": {"name": "name-1", "image": "image-1"}}}`,
		},
		{
			"the library's answer", scrub.OwnJSON, `{"driver": "3.4.4", "maca": "3.3.0.15", "devices": [{"bdf": "0000:0e:00.0", "uuid": "GPU-` + one + `", "boardSerial": "B1", "chipSerial": "C1", "slices": [{"alias": "a"}]}]}`,
			`{"driver": "3.4.4", "maca": "3.3.0.15", "devices": [{"bdf": "0000:0e:00.0", "uuid": "GPU-00000000-0000-0000-0000-000000000001", "boardSerial": "SERIAL000001", "chipSerial": "SERIAL000002", "slices": [{"alias": "alias-1"}]}]}`,
		},
		{"a version in its settings", scrub.OwnTOML, "[maca]\nlabels = [\"a\"] # b\n", "[maca]\nlabels = [\"a\"] #\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, learned().Config(tt.format, tt.text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The root of a host is taken off paths that begin with it, and off no others.
func TestRoot(t *testing.T) {
	for _, tt := range []struct{ root, text, want string }{
		{"/host", "/host/dev/mxcd", "/dev/mxcd"},
		{"/host", `{"hostPath":"/host/dev/mxcd","a":"/host"}`, `{"hostPath":"/dev/mxcd","a":"/"}`},
		{"/host", "--root=/host: no. In /host. Or /host/. /host", "--root=/: no. In /. Or /. /"},
		{"/host", "/var/host/x x/host/y ../host/z /hosts/x /host-1/x /host.old /host_1 /host--x /hostÄ", "/var/host/x x/host/y ../host/z /hosts/x /host-1/x /host.old /host_1 /host--x /hostÄ"},
		{"/host", "/host/a:/host/b /host/host/c /host//host/d", "/a:/b /host/c //host/d"},
		{"/home/joe/n/", "/home/joe/n/opt /home/joe/m", "/opt /home/user-1/m"},
		{"/", "/host/dev", "/host/dev"},
		{"", "/host/dev", "/host/dev"},
	} {
		s := scrub.New()
		s.Root(tt.root)
		if got := s.Text(tt.text); got != tt.want {
			t.Errorf("%q without %q is %q; want %q", tt.text, tt.root, got, tt.want)
		}
	}
	s := scrub.New()
	s.Root("/opt/x")
	if got := s.Path("/opt/x/y"); got != "/opt/x/y" {
		t.Errorf("a path of the host became %q", got)
	}
	// What does not parse fails at the same column.
	if got := s.Config(scrub.JSON, `{"path": "/opt/x/y",,}`); len(got) != len(`{"path": "/opt/x/y",,}`) {
		t.Errorf("a broken file became %q", got)
	}
}
