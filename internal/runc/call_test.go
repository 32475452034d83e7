// SPDX-License-Identifier: Apache-2.0

package runc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const id = "0f3e1a9c5b7d"

func TestScan(t *testing.T) {
	const moby = "--root /var/run/docker/runtime-runc/moby --log /run/containerd/io.containerd.runtime.v2.task/moby/" + id + "/log.json --log-format json "
	const task = "/run/containerd/io.containerd.runtime.v2.task/moby/" + id
	mobyCall := func(verb, bundle string) Call {
		return Call{Verb: verb, ID: id, Bundle: bundle, Log: task + "/log.json", LogFormat: "json"}
	}
	mobyOther := func(verb string) Call {
		return Call{Verb: verb, Bundle: ".", Log: task + "/log.json", LogFormat: "json"}
	}
	plain := func(verb, id, bundle string) Call {
		return Call{Verb: verb, ID: id, Bundle: bundle}
	}
	for line, want := range map[string]Call{
		// dockerd and containerd's shim.
		moby + "--systemd-cgroup create --bundle " + task + " --pid-file " + task + "/init.pid " + id:                                 mobyCall("create", task),
		moby + "create --bundle " + task + " --pid-file " + task + "/init.pid --console-socket /tmp/pty123/pty.sock --no-pivot " + id: mobyCall("create", task),
		moby + "start " + id:                                        mobyOther("start"),
		moby + "delete --force " + id:                               mobyOther("delete"),
		moby + "kill --all " + id + " 9":                            mobyOther("kill"),
		moby + "exec --process /tmp/p --pid-file /x --detach " + id: mobyOther("exec"),
		"--version": plain("", "", "."),
		"-v":        plain("", "", "."),
		"features":  plain("features", "", "."),
		// BuildKit.
		"--log /var/lib/docker/buildkit/executor/runc-log.json --log-format json run --bundle /b --keep x1": {
			Verb: "run", ID: "x1", Bundle: "/b", Log: "/var/lib/docker/buildkit/executor/runc-log.json", LogFormat: "json",
		},
		// conmon, for Podman and CRI-O.
		"--systemd-cgroup --log-format=json --log=/c/oci-log create --bundle /c/userdata --pid-file /c/userdata/pidfile --no-pivot --console-socket /s " + id: {
			Verb: "create", ID: id, Bundle: "/c/userdata", Log: "/c/oci-log", LogFormat: "json",
		},
		"--cgroup-manager cgroupfs create --bundle /c " + id:                                             plain("create", id, "/c"),
		"--cgroup-manager=disabled --rootless=true create --bundle=/c " + id:                             plain("create", id, "/c"),
		"--root=/run/runc --systemd-cgroup --criu /usr/sbin/criu create --bundle /c --pid-file /p " + id: plain("create", id, "/c"),
		"--root /run/crio state " + id:                                                                   plain("state", "", "."),
		// By hand, and by other runtimes' rules.
		"create " + id:       plain("create", id, "."),
		"create -b /b " + id: plain("create", id, "/b"),
		"restore --image-path /i --work-path /w --detach --bundle /b --empty-ns network " + id: plain("restore", id, "/b"),
		"create -b=/b " + id:                                      plain("create", id, "/b"),
		"create -b/b " + id:                                       plain("create", id, "/b"),
		"run -db /b " + id:                                        plain("run", id, "/b"),
		"run -d -b /b " + id:                                      plain("run", id, "/b"),
		"create -bundle /b " + id:                                 plain("create", id, "/b"),
		"create -bundle=/b " + id:                                 plain("create", id, "/b"),
		"create " + id + " --bundle /b":                           plain("create", id, "/b"),
		"create --bundle /a --bundle /b " + id:                    plain("create", id, "/b"),
		"create --bundle= " + id:                                  plain("create", id, "."),
		"create --config /x/c.json " + id:                         {Verb: "create", ID: id, Bundle: ".", Config: "/x/c.json"},
		"create -f c.json -b /b " + id:                            {Verb: "create", ID: id, Bundle: "/b", Config: "c.json"},
		"-l /log -r /root -s create -c /sock -p /pid -b /b " + id: {Verb: "create", ID: id, Bundle: "/b", Log: "/log"},
		"-root /x -log=/y create " + id:                           {Verb: "create", ID: id, Bundle: ".", Log: "/y"},
		"--rootless create " + id:                                 plain("create", id, "."),
		"--rootless auto create " + id:                            plain("create", id, "."),
		"--debug=true --log-level debug create " + id:             plain("create", id, "."),
		"-- create --bundle /b " + id:                             plain("create", id, "/b"),
		"create --preserve-fds 3 --bundle /b " + id:               plain("create", id, "/b"),
		"--log /a --log /b create " + id:                          {Verb: "create", ID: id, Bundle: ".", Log: "/b"},
		// Unknown global flags.
		"--tomorrow create --bundle /b " + id:             plain("create", id, "/b"),
		"--tomorrow value create --bundle /b " + id:       plain("create", id, "/b"),
		"--tomorrow debug create --bundle /b " + id:       plain("create", id, "/b"),
		"--tomorrow=1 other create":                       plain("other", "", "."),
		"--tomorrow=create state " + id:                   plain("state", "", "."),
		"-x value --root create create --bundle /b " + id: plain("create", id, "/b"),
		"-tomorrow value create --bundle /b " + id:        plain("create", id, "/b"),
		"--tomorrow -- other create":                      plain("other", "", "."),
		"--tomorrow value":                                plain("", "", "."),
		// Hostile and odd ids and values.
		"create create":                                plain("create", "create", "."),
		"state create --bundle /b":                     plain("state", "", "."),
		"kill run":                                     plain("kill", "", "."),
		"--root create state " + id:                    plain("state", "", "."),
		"--log create --root run kill " + id:           {Verb: "kill", Bundle: ".", Log: "create"},
		"create --bundle create create":                plain("create", "create", "create"),
		"create --bundle --help " + id:                 plain("create", id, "--help"),
		"create --pid-file --bundle --bundle /b " + id: plain("create", id, "/b"),
		"create --bundle /b -- --bundle":               plain("create", "--bundle", "/b"),
		"create --bundle /b -- --help":                 plain("create", "--help", "/b"),
		"create --bundle /b -- -- x":                   plain("create", "--", "/b"),
		"create - --bundle /b":                         plain("create", "-", "/b"),
		"create " + id + " state --bundle /b":          plain("create", id, "/b"),
		"exec " + id + " create --bundle /b":           plain("exec", "", "."),
		"create --bundle":                              plain("create", "", "."),
		"create":                                       plain("create", "", "."),
		"foo create " + id:                             plain("foo", "", "."),
		"- create " + id:                               plain("-", "", "."),
		"":                                             plain("", "", "."),
		"--":                                           plain("", "", "."),
		// Help and nothing but help.
		"--help create " + id:              plain("", "", "."),
		"-h":                               plain("", "", "."),
		"create --help":                    plain("", "", "."),
		"create -h --bundle /b " + id:      {ID: "", Bundle: "."},
		"create --bundle /b " + id + " -?": {ID: id, Bundle: "/b"},
		"--version create " + id:           plain("", "", "."),
	} {
		t.Run(line, func(t *testing.T) {
			if d := cmp.Diff(want, Scan(strings.Fields(line))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestScanWords(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want Call
	}{
		"empty words":       {[]string{"", "create"}, Call{Bundle: "."}},
		"empty bundle":      {[]string{"create", "--bundle", "", "x"}, Call{Verb: "create", ID: "x", Bundle: "."}},
		"empty config":      {[]string{"create", "--config", "", "x"}, Call{Verb: "create", ID: "x", Bundle: "."}},
		"blanks in a value": {[]string{"--log", "create run", "create", "-b", "a b", "x y"}, Call{Verb: "create", ID: "x y", Bundle: "a b", Log: "create run"}},
		"a verb of two":     {[]string{"--tomorrow", "create delete", "run", "x"}, Call{Verb: "run", ID: "x", Bundle: "."}},
		"a flag of two":     {[]string{"--bundle config", "create", "x"}, Call{Verb: "create", ID: "x", Bundle: "."}},
		"a newline":         {[]string{"create", "--bundle", "a\nb", "x\n"}, Call{Verb: "create", ID: "x\n", Bundle: "a\nb"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, Scan(tc.args)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFile(t *testing.T) {
	for line, want := range map[string]string{
		"create x":                       "./config.json",
		"create -b /b x":                 "/b/config.json",
		"create -b b x":                  "b/config.json",
		"create -b /b -f c.json x":       "c.json",
		"create -b /b --config /c/d.j x": "/c/d.j",
		"create -b a/../b x":             "a/../b/config.json",
	} {
		if got := Scan(strings.Fields(line)).File(); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add("--root\n/r\n--log\n/l\ncreate\n--bundle\n/b\nx")
	f.Add("-x\n-db\n/b\n--\n-?\n-=\n--=\n-b=")
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		c := Scan(args)
		if c.Bundle == "" {
			t.Errorf("no bundle: %+v", c)
		}
		if c.Verb == "" {
			return
		}
		// What the engines write, followed by any words, is read the same way.
		lead := append([]string{"--root", "create", "--log=/l", "run", "--bundle", "/b", "--"}, args...)
		want := Call{Verb: "run", ID: args[0], Bundle: "/b", Log: "/l"}
		if args[0] == "" {
			return
		}
		if d := cmp.Diff(want, Scan(lead)); d != "" {
			t.Error(d)
		}
	})
}
