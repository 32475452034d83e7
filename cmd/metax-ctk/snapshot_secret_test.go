// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/shlib"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

// secrets returns words of which none may be in a snapshot, and the files in which
// they are planted: every file that a snapshot takes, and some that it must not.
func secrets() (words []string, tree hosttree.Tree) {
	word := func(form string) string {
		w := fmt.Sprintf(form, len(words)+1)
		words = append(words, w)
		return w
	}
	s := func() string { return word("zq%dsecret") }
	id := func() string { return word("%08d" + strings.Repeat("cafe", 14)) }
	text := func(format string, a ...any) hosttree.Entry { return hosttree.File{Data: fmt.Sprintf(format, a...)} }
	mail := "joe@" + s() + ".example"
	cut := id()
	words = append(words, cut[:12])
	tree = hosttree.Tree{
		"etc/hostname":   text("%s.corp.example\n", word("zqhost%d")),
		"etc/os-release": text("ID=debian\nHOME_URL=\"https://%s/\"\nVERSION_ID=\"13\"\n", s()),
		"etc/docker/daemon.json": text(`{
	"runtimes": {"metax": {"path": "/home/%s/metax-runtime", "runtimeArgs": ["--token", "%s"]}},
	"proxies": {"http-proxy": "http://joe:%s@%s:3128", "no-proxy": "%s"},
	"registry-mirrors": ["https://%s"], "insecure-registries": ["%s:5000"],
	"labels": ["owner=%s"], "log-opts": {"splunk-token": "%s", "%s": "x"},
	"hosts": ["tcp://%s:2376"], "dns-search": ["%s"], "bip": "%s", "some-day": {"new": ["%s"]}
}`, s(), s(), s(), s(), s(), s(), s(), s(), s(), s(), s(), s(), word("10.77.%d.1/24"), s()),
		"etc/containerd/config.toml": text(`version = 3 # by %s
imports = ["/home/%s/*.toml"]
# password = "%s"
[plugins."io.containerd.grpc.v1.cri".registry.configs."%s".auth]
  username = "%s"
  password = '%s'
[plugins."io.containerd.grpc.v1.cri".registry.headers]
  Authorization = ["Basic %s"]
[proxy_plugins.x]
  address = "/run/x.sock"
  [proxy_plugins.x.exports]
    key = """
%s"""
`, s(), s(), s(), s(), s(), s(), s(), s()),
		"etc/containerd/conf.d/broken.toml": text("[[[\npassword = \"%s\"\n", s()),
		"etc/crio/crio.conf.d/10.conf":      text("[crio.runtime]\ndefault_env = [\"A=%s\"]\n[crio.image]\nglobal_auth_file = \"/%s\"\n", s(), s()),
		"etc/containers/containers.conf":    text("[containers]\nenv = [\"A=%s\"]\n[engine.service_destinations.%s]\nuri = \"ssh://joe:%s@%s/run/podman.sock\"\nidentity = \"/root/%s\"\n", s(), s(), s(), s(), s()),
		"etc/containers/oci/hooks.d/x.json": text(`{"version": "1.0.0", "hook": {"path": "/usr/bin/x", "args": ["x", "%s"], "env": ["T=%s"]}, "when": {"annotations": {"%s": "%s"}}, "stages": ["prestart"]}`, s(), s(), s(), s()),
		"etc/cdi/other.yaml":                text("cdiVersion: 0.5.0\nkind: other.org/x # %s\ndevices:\n- name: a\n  annotations: {%s: %s}\n  containerEdits: {env: [\"A=%s\"]}\n", s(), s(), s(), s()),
		"etc/cdi/broken.json":               text(`{"kind": "metax-tech.com/gpu", "env": ["A=%s`, s()),
		"etc/cdi/" + s() + ".bak":           text("%s", s()),
		"run/cdi/metax.json":                text(`{"cdiVersion": "0.6.0", "kind": "metax-tech.com/gpu", "devices": [{"name": "GPU-%s", "annotations": {"note": "%s"}, "containerEdits": {"env": ["MY_KEY=%s"]}}]}`, word("0badcafe-0000-4000-8000-%012d"), s(), s()),
		"var/run":                           hosttree.Link("/run"),
		"run/metax-container-toolkit/leases/leases.json": text(`{"apiVersion": "metax-ctk/v1", "kind": "Leases", "boot": "%s", "leases": [{"id": "000000000001", "rev": 1, "gpus": [], "verb": "run", "container": "%s", "client": {"pid": 1}, "user": {"uid": 1000, "name": "%s"}, "since": "2026-11-22T10:00:00Z", "endpoint": "tcp://%s:2375"}], "seen": {"docker//%s": {"name": "%s", "image": "%s/app:1"}}}`,
			word("0badcafe-0000-4000-8000-%012d"), cut, s(), s(), id(), s(), s()),
		"etc/metax-container-toolkit/config.toml": text("# %s\n[docker]\nclient = \"docker\" # %s\ntoken = \"%s\"\n[[maca.requirements]]\nwhy = \"%s\"\n[%s]\n", s(), s(), s(), s(), s()),
		"run/metax-container-toolkit/node.json":   text(`{"apiVersion": "metax-ctk/v1", "kind": "Node", "name": "%s", "owner": "%s", "gpus": [{"index": 0, "serial": "%s", "uuid": "%s", "note": "%s"}], "warnings": ["%s"]}`, s(), s(), s(), s(), s(), s()),
		"opt/maca-3.3.0.15/Version.txt":           text("Version:3.3.0.15\nbuilt by %s on %s\n", mail, s()),
		"opt/maca-3.3.0.15/bin/tool":              hosttree.File{Data: "#!/bin/sh\necho " + s() + "\n", Perm: 0o755},
		"opt/maca-3.3.0.15/lib/notes.txt":         text("%s\n", s()),
		"opt/maca-3.3.0.15/lib/libtext.so":        text("INPUT(%s)\n", s()),
		"etc/ld.so.conf":                          text("/opt/maca/lib # %s\n", s()),
		"etc/shadow":                              text("root:%s\n", s()),
		"root/.docker/config.json":                text(`{"auths": {"%s": {}}}`, s()),
		"etc/containerd/conf.d/link.toml":         hosttree.Link("/root/plain.toml"),
		"root/plain.toml":                         text("path = \"/%s\"\n", s()),
		"proc/self/environ":                       text("A=%s\x00", s()),
		"etc/environment":                         text("A=%s\n", s()),
		"dev/dri/" + s():                          text("x"),
		"opt/mxdriver/bin/mx-smi": hosttree.File{Perm: 0o755, Data: fmt.Sprintf(`#!/bin/sh
case $1 in
-L) echo 'GPU#0    MXC500      0000:0e:00.0   Available (UUID: GPU-%s)'; echo 'GPU#1    MXC500      0000:0f:00.0   Available (UUID: GPU-%s-x)' ;;
--show-sn) printf 'GPU#0  MXC500  0000:0e:00.0\n    Board Serial Number : %s\n    Chip Serial : %s\n' ;;
--show-memory) echo 'host %s.corp.example, /home/%s/x, %s, %s' ; echo 'GPU#0  MXC500  0000:0e:00.0' ;;
*) echo 'cannot open /home/%s/x' >&2; exit 3 ;;
esac
`, word("1badcafe-0000-4000-8000-%012d"), s(), s(), s(), words[2], s(), word("10.78.%d.1"), word("0c:42:a1:00:11:%02d"), s())},
	}
	// Of every other file that is kept the same: what people write into such files.
	for _, p := range scrub.Files() {
		p = strings.TrimPrefix(strings.Replace(p, "/var/run/", "/run/", 1), "/")
		ending := map[bool]string{true: "zz.json", false: "zz.conf"}[strings.HasSuffix(p, "/hooks.d/*") || strings.HasSuffix(p, "/cdi/*")]
		p = strings.Replace(p, "*", ending, 1)
		if tree[p] != nil {
			continue
		}
		planted := map[string]any{
			s(): s(), "registry": map[string]any{"auths": map[string]any{s(): map[string]any{"auth": s()}}},
			"proxies": map[string]any{"http-proxy": "http://" + s() + ":" + s() + "@" + s() + ":3128"}, "env": []string{"A=" + s()}, "hosts": []string{"tcp://" + s()},
			"crio":    map[string]any{"runtime": map[string]any{"default_env": []string{s()}, s(): s()}, "image": map[string]any{"pause_image": s() + "/pause"}},
			"engine":  map[string]any{"env": []string{s()}, "service_destinations": map[string]any{s(): map[string]any{"uri": "ssh://" + s() + "@x"}}},
			"plugins": map[string]any{"x": map[string]any{"sandbox_image": s(), "registry": map[string]any{"mirrors": map[string]any{s(): s()}}}},
			"hook":    map[string]any{"args": []string{s()}, "env": []string{s()}}, "when": map[string]any{"annotations": map[string]any{s(): s()}},
			"devices": []any{map[string]any{"annotations": map[string]any{s(): s()}, "containerEdits": map[string]any{"env": []string{s() + "=" + s()}, s(): s()}}},
		}
		data, err := json.MarshalIndent(planted, "", "  ")
		if ending == "zz.conf" && !strings.HasSuffix(p, ".json") {
			data, err = toml.Marshal(planted)
			data = append(data, "# "+s()+"\n"...)
		}
		if err != nil {
			panic(err)
		}
		tree[p] = hosttree.File{Data: string(data)}
	}
	return words, tree
}

// No secret of any file or program's answer comes into a snapshot or a bug report.
func TestSnapshotSecrets(t *testing.T) {
	words, planted := secrets()
	root, _ := simulated(t, "c500-8-sgpu", func(tr hosttree.Tree) {
		for p, e := range planted {
			tr[p] = e
		}
		for p := range tr {
			if strings.HasSuffix(p, "/alias") {
				words = append(words, "zqalias"+fmt.Sprint(len(words)))
				tr[p] = hosttree.File{Data: words[len(words)-1] + "\n"}
			}
		}
	})
	for _, w := range words {
		if len(w) < 6 {
			t.Fatalf("%q is no secret", w)
		}
	}
	code, out, said := ctk(t, deps{Run: child.Tool}, "--root", root, "bugreport", "--output", "-")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	for _, w := range words {
		if at := strings.Index(strings.ToLower(out), strings.ToLower(w)); at >= 0 {
			t.Errorf("%q is in it: …%s…", w, out[max(0, at-200):min(len(out), at+60)])
		}
	}
	if strings.Contains(out, "base64") {
		t.Error("a part of it cannot be read")
	}
	for p := range planted {
		if strings.Contains(p, "etc/crio/crio.conf") && !strings.Contains(out, "\n-- "+p) {
			t.Errorf("%s is not in it", p)
		}
	}
	for _, want := range []string{
		"\n-- etc/docker/daemon.json --\n", "\"path\": \"/home/user-", "\n-- etc/containerd/config.toml --\n", "\n-- etc/cdi/other.yaml --\n",
		"Version:3.3.0.15\n", "it leads to another place",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in it", want)
		}
	}
}

// What maca list and maca check say of a host they say of its snapshot.
func TestReplayMACA(t *testing.T) {
	amd64, arm64 := shlib.Kind{Class: 2, Data: 1, Machine: elf.EM_X86_64}, shlib.Kind{Class: 2, Data: 1, Machine: elf.EM_AARCH64}
	library := func(soname string, needed ...string) hosttree.Entry {
		return hosttree.Library{Kind: amd64, Soname: soname, Needed: needed, Versions: []shlib.Version{{Library: "libc.so.6", Name: "GLIBC_2.34"}}}
	}
	root, _ := simulated(t, "c500-8", func(tr hosttree.Tree) {
		tr["opt/maca-2.32.0.6/Version.txt"] = hosttree.File{Data: "Version:2.32.0.6\n"}
		tr["opt/maca-2.32.0.6/lib/libmcx.so.1.2"] = library("libmcx.so.1", "libc.so.6", "libnone.so", "libhost.so.1", "liborigin.so")
		tr["opt/maca-2.32.0.6/lib/libmcx.so"] = hosttree.Link("libmcx.so.1.2")
		tr["opt/maca-2.32.0.6/lib/libgone.so"] = hosttree.Link("libgone.so.1")
		tr["opt/maca-2.32.0.6/lib/libout.so"] = hosttree.Link("/usr/lib/x/libhost.so.1")
		tr["opt/maca-2.32.0.6/lib/libempty.so"] = hosttree.File{}
		tr["opt/maca-2.32.0.6/lib/libtext.so"] = hosttree.File{Data: "INPUT(-lx)\n"}
		tr["opt/maca-2.32.0.6/lib/libarm.so"] = hosttree.Library{Kind: arm64, Soname: "libarm.so"}
		tr["opt/maca-2.32.0.6/ucx/lib/libu.so"] = hosttree.Library{Kind: amd64, Soname: "libu.so", Needed: []string{"liborigin.so"}, Runpath: "$ORIGIN/../more"}
		tr["opt/maca-2.32.0.6/ucx/lib/liborigin.so"] = library("liborigin.so")
		tr["opt/mxn100/lib/libn.so"] = library("libn.so")
		for p, e := range tr {
			if strings.HasPrefix(p, "lib/") {
				delete(tr, p)
				tr["usr/"+p] = e
			}
		}
		tr["lib"] = hosttree.Link("usr/lib")
		tr["usr/lib/x86_64-linux-gnu/libc.so.6"] = library("libc.so.6")
		tr["usr/lib/x/libhost.so.1"] = library("libhost.so.1", "libc.so.6")
		tr["etc/ld.so.conf"] = hosttree.File{Data: "include ld.so.conf.d/*.conf\n"}
		tr["etc/ld.so.conf.d/x.conf"] = hosttree.File{Data: "/usr/lib/x # y\n"}
	})
	file, _ := taken(t, deps{Run: child.Tool}, root)
	at, done, err := node.Selector{Node: file}.Unpack()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"maca", "list", "-o", "json"}, {"maca", "check", "-o", "json"}, {"maca", "check", "2.32.0.6", "-o", "json"}} {
		codeHost, host, saidHost := ctk(t, deps{}, append([]string{"--root", root}, command...)...)
		code, got, said := ctk(t, deps{}, append([]string{"--root", at.Root}, command...)...)
		if !json.Valid([]byte(got)) || code != codeHost {
			t.Errorf("%v: exit codes %d and %d: %s", command, codeHost, code, said)
		}
		diff := cmp.Diff(strings.ReplaceAll(host, root, ""), strings.ReplaceAll(got, at.Root, "")) +
			cmp.Diff(strings.ReplaceAll(saidHost, root, ""), strings.ReplaceAll(said, at.Root, ""))
		if diff != "" {
			t.Errorf("%v (-host +snapshot):\n%s", command, diff)
		}
	}
	if err := done(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(at.Root); err == nil {
		t.Errorf("%s is still there", at.Root)
	}
}
