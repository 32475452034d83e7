// SPDX-License-Identifier: Apache-2.0

package scrub_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

const one = "3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b"

// learned is a Scrubber that has learned a word of each class.
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
		{"one of the driver's", "pcba serial number: 41 42 31 32 00\n", "pcba serial number: 53 45 52 49 41 4c 30 30 30 30 30 31\n"},
		{"in bytes", "is 53 4E 34 37 31 31 41, or 53 4e 34", "is 53 45 52 49 41 4c 30 30 30 30 30 31, or 53 4e 34"},
		{"not one of a sentence", "serial numbers are not known: run it", "serial numbers are not known: run it"},
		{"a host", "GPU07 gpu07.corp.example gpu07.other.example xgpu07 gpu070 gpu07-data. /opt", "host-1 host-1 host-1 xgpu07 gpu070 host-1-data. /opt"},
		{"an alias", "team-a", "alias-1"},
		{"a mail address", "by joe@corp.example.", "by mail-1."},
		{"a home", `/home/joe/x:/home/ann "/home/joe"`, `/home/user-1/x:/home/user-2 "/home/user-1"`},
		{"credentials", "http://joe:pw@proxy.corp:3128/x", "http://scrubbed@host-1:3128/x"},
		{"a host of a URL", "tcp://10.1.2.3:2375 https://localhost/ unix:///run/x.sock", "tcp://host-1:2375 https://localhost/ unix:///run/x.sock"},
		{"secrets by name", "api_key=abc PASSWORD: abc x.token='abc'", "api_key=scrubbed PASSWORD: scrubbed x.token='scrubbed'"},
		{"a header", "Authorization: Bearer abcdefgh123", "Authorization: Bearer scrubbed"},
		{"IPv4", "10.1.2.3 10.1.2.4 10.1.2.3:80 127.0.0.1 0.0.0.0", "address-1 address-2 address-1:80 127.0.0.1 0.0.0.0"},
		{"versions of firmware", "    BIOS Version                              : 1.30.0.0", "    BIOS Version                              : 1.30.0.0"},
		{"versions", "Version:3.3.0.15 maca-3.3.0.14 mx-smi version: 2.2.9.1 10.3.0.15 v1.2.3.4 1.2.3 1.2.3.4.5", "Version:3.3.0.15 maca-3.3.0.14 mx-smi version: 2.2.9.1 10.3.0.15 v1.2.3.4 1.2.3 1.2.3.4.5"},
		{"IPv6", "fe80::1:2 [2001:db9::7]:80 ::1 ::", "address-1 [address-2]:80 ::1 ::"},
		{"addresses on the bus", "0000:0e:00.0 pci0000:0a 226:128 16:37:10", "0000:0e:00.0 pci0000:0a 226:128 16:37:10"},
		{"MAC", "0c:42:a1:00:11:22", "address-1"},
		{"a container", strings.Repeat("ab", 32), strings.Repeat("0", 63) + "1"},
		{"a time", "Timestamp      : Wed Feb 11\nx", "Timestamp      : scrubbed\nx"},
		{"modalias", "pci:v00009999d00004001sv00009999sd00000001bc03sc80i00", "pci:v00009999d00004001sv00009999sd00000001bc03sc80i00"},
	} {
		if got := learned().Text(tt.text); got != tt.want {
			t.Errorf("%s: %q became\n\t%q, want\n\t%q", tt.name, tt.text, got, tt.want)
		}
	}
}

// Each of many addresses has its own stand-in.
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

func TestKeep(t *testing.T) {
	const (
		docker, containerd, crio, podman = "/etc/docker/daemon.json", "/etc/containerd/config.toml", "/etc/crio/crio.conf.d/10.conf", "/etc/containers/containers.conf"
		spec, node                       = "/etc/cdi/x.json", "/run/metax-container-toolkit/node.json"
	)
	for _, tt := range []struct{ name, file, text, want string }{
		{
			"docker", docker,
			`{"runtimes": {"metax": {"path": "/usr/bin/metax-runtime", "runtimeArgs": ["--key=abc"]}}, "default-runtime": "metax", "registry-mirrors": ["https://hub.corp"],
				"exec-opts": ["native.cgroupdriver=systemd", "x=y"], "mtu": 1400, "features": {"cdi": true, "x": true}, "userns-remap": "joe", "unknown": {"deep": "value"}}`,
			`{"default-runtime": "metax", "exec-opts": ["native.cgroupdriver=systemd", "scrubbed"], "features": {"cdi": true}, "runtimes": {"metax": {"path": "/usr/bin/metax-runtime"}}, "userns-remap": "scrubbed"}`,
		},
		{"kinds that are wrong", docker, `{"runtimes": ["a"], "default-runtime": {"a": "b"}, "features": {"cdi": "no way"}}`, `{"default-runtime": {}, "features": {"cdi": "scrubbed"}, "runtimes": ["scrubbed"]}`},
		{"names that are no words", docker, `{"runtimes": {"a b": {"PATH": "/home/joe/x"}, "gpu07": {"path": "http://u:p@x/y"}}}`, `{"runtimes": {"host-1": {"path": "scrubbed"}, "key-1": {"PATH": "/home/user-1/x"}}}`},
		{"a mark and no object", docker, "\ufeff\"secret\"\n", "\ufeff\"scrubbed\"\n"},
		{"nothing that is kept", docker, `{"mtu": 1400}`, "{}"},
		{
			"broken", docker, `{"default-runtime": "metax", "pass-phrase": "Hunter2", "n": 42, "on": true` + "\n  \"é\\n\" \x01 [", `{"aaaaaaa-aaaaaab": "aaaac", "aaad-aaaaae": "aaaaaaf", "g": 11, "ah": true` + "\n  \"ai\\n\" \x01 [",
		},
		{"a key twice", docker, `{"a-1": "b", "a-1": "c"}`, `{"a-1": "b", "a-1": "c"}`},
		{
			"containerd", containerd,
			"# Written by metax-ctk runtime configure, for joe\n# password = \"x\"\nversion = 2 # by joe\nimports = ['/etc/containerd/conf.d/*.toml', \"/home/joe/x.toml\"]\n" +
				"[plugins.\"io.containerd.grpc.v1.cri\".registry.configs.\"hub.corp\".auth]\n  \"user\" = \"joe\"\n  pass = '''a\nb'''\n" +
				"[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc] # x\n  runtime_type = \"io.containerd.runc.v2\"\n  container_annotations = [\"metax-tech.com/*\", \"corp\"]\n  options = {BinaryName = \"/usr/bin/runc\", X = \"y\", SystemdCgroup = true}\n" +
				"[[stream]]\nargs = [ \"a\" ]\n",
			"# Written by metax-ctk runtime configure\nimports = [\"/etc/containerd/conf.d/*.toml\", \"/home/user-1/x.toml\"]\nversion = 2\n\n" +
				"[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\ncontainer_annotations = [\"metax-tech.com/*\", \"scrubbed\"]\nruntime_type = \"io.containerd.runc.v2\"\n\n" +
				"[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\nBinaryName = \"/usr/bin/runc\"\nSystemdCgroup = true\n",
		},
		{"broken TOML", containerd, "version = 2\n[plugins\nkey = \"Hunter2\"\n", "aaaaaaa = 1\n[aaaaaab\naac = \"aaaaaad\"\n"},
		{"crio", crio, "[crio.runtime.runtimes.x]\nmonitor_env = [\"A=b\"]\n[crio.image]\nglobal_auth_file = \"/x\"\n", "[crio.runtime.runtimes.x]\n"},
		{
			"podman", podman, "[engine]\nruntime = \"crun\"\nenv = [\"TOKEN=abc\"]\nhooks_dir = [ \"/a\", # joe\n{append=true}]\n[engine.runtimes]\nmetax = [\n  \"/usr/bin/metax-runtime\"\n]\n",
			"[engine]\nhooks_dir = [\"/a\", { append = true }]\nruntime = \"crun\"\n\n[engine.runtimes]\nmetax = [\"/usr/bin/metax-runtime\"]\n",
		},
		{
			"another's spec", spec, `{"cdiVersion": "0.5.0", "kind": "other.org/x", "devices": [{"name": "a", "containerEdits": {"env": ["A=abc"], "hooks": [{"hookName": "prestart", "path": "/x", "args": ["x", "abc"]}]}}]}`,
			`{"cdiVersion": "0.5.0", "kind": "other.org/x", "devices": [{"name": "a", "containerEdits": {"env": ["scrubbed=scrubbed"], "hooks": [{"hookName": "prestart", "path": "/x"}]}}]}`,
		},
		{
			"our spec", spec, `{"kind": "metax-tech.com/gpu", "annotations": {"metax-tech.com/model": "MXC500", "who": "joe"}, "devices": [{"name": "GPU-` + one + `", "containerEdits": {"env": ["PATH=/opt/maca/bin", "USER=joe"], "hooks": [{"args": ["metax-hook", "--link", "/a::/b", "--token=x"]}]}}]}`,
			`{"kind": "metax-tech.com/gpu", "annotations": {"metax-tech.com/model": "MXC500"}, "devices": [{"name": "GPU-00000000-0000-0000-0000-000000000001", "containerEdits": {"env": ["PATH=/opt/maca/bin", "USER=scrubbed"], "hooks": [{"args": ["metax-hook", "--link", "/a::/b", "scrubbed"]}]}}]}`,
		},
		{"no version", spec, `{"cdiVersion": "as joe has it", "kind": "of joe's"}`, `{"cdiVersion": "scrubbed", "kind": "scrubbed"}`},
		{"a spec in YAML", "/etc/cdi/x.yaml", "# by joe\nkind: other.org/x\ncontainerEdits:\n  env: [A=abc]\n", `{"containerEdits":{"env":["scrubbed=scrubbed"]},"kind":"other.org/x"}` + "\n"},
		{"broken YAML", "/etc/cdi/x.yml", "kind: [a\nenv: Hunter2\n", "aaaa: [b\naac: aaaaaad\n"},
		{
			"the record", node, `{"apiVersion": "metax-ctk/v1", "kind": "Node", "name": "gpu07", "maca": {"version": "10.9.8.7"}, "warnings": ["joe"], "gpus": [{"uuid": "odd", "serial": "S1", "bdf": "0000:0e:00.0", "owner": "joe"}]}`,
			`{"apiVersion": "metax-ctk/v1", "kind": "Node", "name": "host-1", "maca": {"version": "10.9.8.7"}, "gpus": [{"uuid": "00000000-0000-0000-0000-000000000001", "serial": "SERIAL000001", "bdf": "0000:0e:00.0"}]}`,
		},
		{
			"the settings", "/etc/metax-container-toolkit/config.toml", "[maca]\ndefault = \"auto\"\ncheck = \"warn\"\nlabels = [\"org.corp.maca\"]\n[gpus]\nscope = \"link\"\n",
			"[gpus]\nscope = \"link\"\n\n[maca]\ncheck = \"warn\"\ndefault = \"auto\"\nlabels = [\"org.corp.maca\"]\n",
		},
		{
			"the library's answer", "metax-mxsml node", `{"driver": "3.4.4", "maca": "3.3.0.15", "devices": [{"bdf": "0000:0e:00.0", "uuid": "GPU-` + one + `", "boardSerial": "B1", "chipSerial": "C1", "slices": [{"alias": "a"}]}]}`,
			`{"driver": "3.4.4", "maca": "3.3.0.15", "devices": [{"bdf": "0000:0e:00.0", "uuid": "GPU-00000000-0000-0000-0000-000000000001", "boardSerial": "SERIAL000001", "chipSerial": "SERIAL000002", "slices": [{"alias": "alias-1"}]}]}`,
		},
		{"a file that is not on the list", "crio --version", "crio version 1.2 of GPU-" + one, "crio version 1.2 of GPU-00000000-0000-0000-0000-000000000001"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(indented(tt.want), indented(learned().Keep(tt.file, tt.text))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// indented returns a JSON text in the format of Keep, and any other text unchanged.
func indented(text string) string {
	body, bom := strings.CutPrefix(text, "\ufeff")
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return text
	}
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err.Error()
	}
	return map[bool]string{true: "\ufeff"}[bom] + string(data)
}

// The root of a host is removed from paths that begin with it, and from no others.
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
	// A text that does not parse fails at the same column.
	if got := s.Keep("/etc/docker/daemon.json", `{"path": "/opt/x/y",,}`); got != `{"aaaa": "/aab/c/d",,}` {
		t.Errorf("a broken file became %q", got)
	}
}
