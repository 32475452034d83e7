// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/oci"
)

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct{ text, says string }{
		{``, "unexpected end"},
		{`{`, "unexpected end"},
		{`{}{}`, "after top-level value"},
		{"{\"process\":{\"args\":[\"\n\"]}}", "in string literal"},
		{`[]`, "the text is a list, want an object"},
		{`null`, "the text is null"},
		{`{"mounts":[],"mounts":[]}`, `a key occurs twice: "mounts"`},
		{`{"x":{"y":[{"z":1,"z":2}]}}`, `"z"`},
		{`{"annotations":{"a":"1","\u0061":"2"}}`, `"a"`},
		{`{"Mounts":[]}`, `"Mounts"`},
		{`{"annotationS":{}}`, `differs only in case from "annotations"`},
		{`{"process":{"ENV":[]}}`, `"ENV" in process`},
		{`{"linux":{"resources":{"Devices":[]}}}`, `in linux.resources`},
		{`{"mounts":[{"Source":"/dev/null"}]}`, `"Source" in mounts`},
		{`{"hooks":{"preStart":[]}}`, `"preStart"`},
		{"{\"hoo\u212as\":{}}", "hoo\u212as"},
		{`{"proce\u017fs":{}}`, "differs only in case"},
		{`{"process":[]}`, "process is a list"},
		{`{"process":{"env":"A=1"}}`, "process.env is a string"},
		{`{"process":{"env":[1]}}`, "process.env is a number, want a string"},
		{`{"mounts":{}}`, "mounts is an object"},
		{`{"process":{"user":{"uid":-1}}}`, "process.user.uid is -1"},
		{`{"process":{"user":{"gid":4294967296}}}`, "gid"},
		{`{"process":{"user":{"additionalGids":[1.5]}}}`, "1.5"},
		{`{"annotations":{"a":1}}`, "annotations is a number"},
		{`{"linux":{"devices":[{"major":1e400}]}}`, "linux.devices.major"},
		{`{"root":{"readonly":"yes"}}`, "root.readonly"},
	} {
		c, err := oci.Parse([]byte(tc.text))
		if !errors.Is(err, oci.ErrConfig) || c != nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v; want one that says %q", tc.text, err, tc.says)
		}
	}
}

// Unknown content is accepted.
func TestParseKeeps(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"process":null,"linux":{"resources":null},"mounts":[null]}`, `{"MaskedPaths":1,"x":{"Mounts":[],"mounts":0}}`,
		`{"x":123456789012345678901234567890.5e-4000}`, "\t{ \"x\" : \"\\u0041\\/\" }\r\n", "{\"x\":\"\xff\"}",
	} {
		c, err := oci.Parse([]byte(text))
		if err != nil || string(c.Bytes()) != text {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestApplyKeeps(t *testing.T) {
	text := "{ \"x\" : 1.50 ,\n\t\"linux\" : { \"y\":\"\\u0041\\/\" , \"devices\" : [ {\"path\":\"/dev/a\",\"z\":1e2} ] } , \"process\": null }\n"
	want := "{ \"x\" : 1.50 ,\n\t\"linux\" : { \"y\":\"\\u0041\\/\" , \"devices\" : [{\"path\":\"/dev/a\",\"z\":1e2}," +
		"{\"path\":\"/dev/b\",\"type\":\"c\",\"major\":1,\"minor\":2}],\"resources\":{\"devices\":[" +
		"{\"allow\":true,\"type\":\"c\",\"major\":1,\"minor\":2,\"access\":\"rwm\"}]} } , \"process\": {\"env\":[\"A=\\\"1\"]}," +
		"\"mounts\":[{\"destination\":\"/m\",\"source\":\"/h\"}] }\n"
	c := parse(t, []byte(text))
	err := c.Apply(&cdispecs.ContainerEdits{
		Env:         []string{`A="1`},
		DeviceNodes: []*cdispecs.DeviceNode{{Path: "/dev/b", HostPath: "/none", Type: "c", Major: 1, Minor: 2}},
		Mounts:      []*cdispecs.Mount{{HostPath: "/h", ContainerPath: "/m"}},
	}, look(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(c.Bytes())); diff != "" {
		t.Error(diff)
	}
}

// The confinement of a container stays unchanged: everything that engines write, except
// for the lists that edits extend.
func TestApplyConfines(t *testing.T) {
	for _, name := range engines {
		t.Run(name, func(t *testing.T) {
			text := engineConfig(t, name)
			c := parse(t, text)
			if err := c.Apply(gpus(8), look(t)); err != nil {
				t.Fatal(err)
			}
			before, after := confinement(t, text), confinement(t, c.Bytes())
			if diff := cmp.Diff(before, after); diff != "" {
				t.Error(diff)
			}
			for _, want := range []string{"seccomp", "maskedPaths", "readonlyPaths"} {
				if before["linux"].(map[string]any)[want] == nil {
					t.Errorf("there is no %s to be kept", want)
				}
			}
			if before["process"].(map[string]any)["capabilities"] == nil {
				t.Error("there are no capabilities to be kept")
			}
		})
	}
}

// confinement is a config without the lists that edits extend.
func confinement(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var c map[string]any
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	delete(c, "mounts")
	delete(c, "hooks")
	for _, path := range [][]string{{"process", "env"}, {"process", "user", "additionalGids"}, {"linux", "devices"}, {"linux", "resources", "devices"}} {
		at := c
		for _, name := range path[:len(path)-1] {
			at = at[name].(map[string]any)
		}
		delete(at, path[len(path)-1])
	}
	return c
}

func TestApplyRefuses(t *testing.T) {
	for name, e := range map[string]*cdispecs.ContainerEdits{
		"empty node": {DeviceNodes: []*cdispecs.DeviceNode{nil}}, "empty mount": {Mounts: []*cdispecs.Mount{nil}},
		"empty hook": {Hooks: []*cdispecs.Hook{nil}}, "empty net device": {NetDevices: []*cdispecs.LinuxNetDevice{nil}},
		"hook stage": {Hooks: []*cdispecs.Hook{{HookName: "x", Path: "/x"}}},
		"type":       {DeviceNodes: []*cdispecs.DeviceNode{{Path: "/dev/null", Type: "b"}}},
	} {
		c := parse(t, []byte(`{}`))
		if err := c.Apply(e, look(t)); !errors.Is(err, oci.ErrEdits) || string(c.Bytes()) != `{}` {
			t.Errorf("%s: %v, %s", name, err, c.Bytes())
		}
	}
	c := parse(t, []byte(`{}`))
	err := c.Apply(&cdispecs.ContainerEdits{DeviceNodes: []*cdispecs.DeviceNode{{Path: "/dev/none"}}}, look(t))
	if err == nil || !strings.Contains(err.Error(), `"/dev/none"`) {
		t.Errorf("missing device: %v", err)
	}
}

// An allowing rule before a denying one is added again.
func TestApplyRuleTakenBack(t *testing.T) {
	allow := `{"allow":true,"type":"c","major":1,"minor":3,"access":"rw"}`
	e := &cdispecs.ContainerEdits{DeviceNodes: []*cdispecs.DeviceNode{{Path: "/dev/null", Permissions: "rw"}}}
	for rules, want := range map[string]int{`[` + allow + `]`: 1, `[{"allow":false},` + allow + `]`: 1, `[` + allow + `,{"allow":false}]`: 2} {
		c := parse(t, []byte(`{"linux":{"resources":{"devices":`+rules+`}}}`))
		if err := c.Apply(e, look(t)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(c.Bytes()), allow); got != want {
			t.Errorf("%s: the rule is there %d times, want %d", rules, got, want)
		}
	}
}

func TestAccessors(t *testing.T) {
	type facts struct {
		Rootfs               string
		Privileged           bool
		User                 oci.User
		Env, Devices, Mounts int
	}
	for name, want := range map[string]facts{
		"docker": {
			Rootfs: "/var/lib/docker/overlay2/9a7e/merged", Env: 5, Mounts: 11,
			User: oci.User{AdditionalGIDs: []uint32{0, 1, 2, 3, 4, 6, 10, 11, 20, 26, 27}},
		},
		"containerd": {Rootfs: "rootfs", Env: 4, Mounts: 12, User: oci.User{UID: 1000, GID: 3000, AdditionalGIDs: []uint32{2000, 3000}}},
		"podman": {
			Rootfs: "/home/u/.local/share/containers/storage/overlay/5c/merged", Env: 5, Mounts: 10,
			User: oci.User{AdditionalGIDs: []uint32{0, 1, 2, 3}},
		},
		"crio": {
			Rootfs: "/var/lib/containers/storage/overlay/8f/merged", Env: 4, Mounts: 12, Devices: 1,
			User: oci.User{UID: 1000, GID: 3000, AdditionalGIDs: []uint32{2000, 3000}},
		},
	} {
		c := parse(t, engineConfig(t, name))
		got := facts{c.Rootfs(), c.Privileged(), c.User(), len(c.Env()), len(c.Devices()), len(c.Mounts())}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	c := parse(t, engineConfig(t, "crio"))
	if diff := cmp.Diff([]oci.Device{{Path: "/dev/fuse", Type: "c", Major: 10, Minor: 229}}, c.Devices()); diff != "" {
		t.Error(diff)
	}
	want := oci.Mount{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}}
	if diff := cmp.Diff(want, c.Mounts()[0]); diff != "" {
		t.Error(diff)
	}
}

func TestPrivileged(t *testing.T) {
	const admin = `"process":{"capabilities":{"bounding":["CAP_CHOWN","CAP_SYS_ADMIN"]}}`
	rules := func(s string) string { return `"linux":{"resources":{"devices":[` + s + `]}}` }
	const all = `{"allow":true,"access":"rwm"}`
	for text, want := range map[string]bool{
		`{` + admin + `,` + rules(all) + `}`: true, `{` + admin + `}`: false, `{` + rules(all) + `}`: false,
		`{` + admin + `,` + rules(`{"allow":false,"access":"rwm"},`+all) + `}`:                                         true,
		`{` + admin + `,` + rules(all+`,{"allow":false,"access":"rwm"}`) + `}`:                                         false,
		`{` + admin + `,` + rules(`{"allow":true,"type":"a","major":-1,"minor":-1,"access":"rwm"}`) + `}`:              true,
		`{` + admin + `,` + rules(`{"allow":true,"type":"c","access":"rwm"}`) + `}`:                                    false,
		`{` + admin + `,` + rules(`{"allow":true,"access":"rw"}`) + `}`:                                                false,
		`{` + admin + `,` + rules(`{"allow":true,"major":1,"access":"rwm"}`) + `}`:                                     false,
		`{"process":{"capabilities":{"effective":["CAP_SYS_ADMIN"],"bounding":["CAP_CHOWN"]}},` + rules(all) + `}`:     false,
		`{"process":{"capabilities":{"bounding":null}},"linux":{"resources":{"devices":[null,{"allow":null}]}},"x":1}`: false,
	} {
		if got := parse(t, []byte(text)).Privileged(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func FuzzApply(f *testing.F) {
	seeds, err := json.Marshal(gpus(1))
	if err != nil {
		f.Fatal(err)
	}
	m := newMaker(f)
	for _, base := range m.bases {
		f.Add(base, seeds)
	}
	f.Add([]byte(`{"linux":{"Devices":[]}}`), []byte(`{"env":["A=1"]}`))
	f.Add([]byte(`{"a":1e999,"a":2}`), []byte(`{"intelRdt":{"closID":"x"}}`))
	f.Fuzz(func(t *testing.T, text, edits []byte) {
		var e cdispecs.ContainerEdits
		if json.Unmarshal(edits, &e) != nil || strings.Contains(string(edits), "null") {
			return
		}
		c, err := oci.Parse(text)
		if err != nil {
			if !errors.Is(err, oci.ErrConfig) {
				t.Fatalf("an error of no type: %v", err)
			}
			return
		}
		if string(c.Bytes()) != string(text) {
			t.Fatal("parsed, it is another text")
		}
		if c.Apply(&e, look(t)) != nil {
			return
		}
		once := string(c.Bytes())
		if err := c.Apply(&e, look(t)); err != nil || string(c.Bytes()) != once {
			t.Fatalf("applied again it is another one, %v:\n%s\n%s", err, once, c.Bytes())
		}
		untouched(t, text, c.Bytes())
	})
}
