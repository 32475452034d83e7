// SPDX-License-Identifier: Apache-2.0

package devcgroup

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestFind(t *testing.T) {
	root := t.TempDir()
	dir := func(name string) string { return filepath.Join(root, name) }
	for _, name := range []string{
		"devices/docker/c0ffee", "unified/docker/c0ffee", "unified/machine.slice/libpod-c0ffee.scope/container", "inner/c0ffee", "devices/user", "unified/user",
	} {
		testfile.Mkdir(t, dir(name), 0o755)
	}
	mount := func(root, at, fstype, options string) string {
		return fmt.Sprintf("30 20 0:26 %s %s rw - %s none %s\n", root, dir(at), fstype, options)
	}
	v1 := mount("/", "cpu", "cgroup", "rw,cpu") + mount("/", "devices", "cgroup", "rw,devices")
	v2 := mount("/", "unified", "cgroup2", "rw,nsdelegate")
	const self = "7:devices:/user\n0::/user\n"
	for name, tt := range map[string]struct {
		container, mounts string
		want              []Group
	}{
		"version 1":                  {"7:devices:/docker/c0ffee\n", v1, []Group{{V1, dir("devices/docker/c0ffee")}}},
		"controllers together":       {"7:cpu,devices:/docker/c0ffee\n", v1, []Group{{V1, dir("devices/docker/c0ffee")}}},
		"version 2":                  {"0::/docker/c0ffee\n", v2, []Group{{V2, dir("unified/docker/c0ffee")}}},
		"both":                       {"7:devices:/docker/c0ffee\n0::/docker/c0ffee\n", v2 + v1, []Group{{V1, dir("devices/docker/c0ffee")}, {V2, dir("unified/docker/c0ffee")}}},
		"version 1 is not mounted":   {"7:devices:/docker/c0ffee\n0::/docker/c0ffee\n", v2, []Group{{V2, dir("unified/docker/c0ffee")}}},
		"a group in a scope":         {"0::/machine.slice/libpod-c0ffee.scope/container\n", v2, []Group{{V2, dir("unified/machine.slice/libpod-c0ffee.scope")}, {V2, dir("unified/machine.slice/libpod-c0ffee.scope/container")}}},
		"ours":                       {self, v1 + v2, nil},
		"mounted from below":         {"0::/docker/c0ffee\n", mount("/docker", "inner", "cgroup2", "rw"), []Group{{V2, dir("inner/c0ffee")}}},
		"version 2 has no part":      {"7:devices:/docker/c0ffee\n0::/none\n", v1 + v2, []Group{{V1, dir("devices/docker/c0ffee")}}},
		"the first mount is hidden":  {"0::/docker/c0ffee\n", mount("/", "hidden", "cgroup2", "rw") + v2, []Group{{V2, dir("unified/docker/c0ffee")}}},
		"a controller's name inside": {"7:devicesque:/docker/c0ffee\n8:name=devices:/docker/c0ffee\n", v1, nil},
		"no sense":                   {"7\n0::\n0::docker\n::\n", v1 + v2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Find(Process(tt.container), self, "c0ffee", strings.NewReader(tt.mounts))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for cgroup, mounts := range map[string]string{
		"0::/../docker/c0ffee\n": v2, "0::/..\n": v2, // outside of our namespace
		"0::/docker/c0ffee\n": mount("/dock", "inner", "cgroup2", "rw"), "7:devices:/docker/none\n": v1,
	} {
		if list, err := Find(Process(cgroup), self, "c0ffee", strings.NewReader(mounts)); !errors.Is(err, ErrOutside) {
			t.Errorf("%q: %v, %v", cgroup, list, err)
		}
	}
	if _, err := Find("0::/docker/c0ffee\n", self, "", strings.NewReader("nonsense\n")); err == nil {
		t.Error("a mount table that is none is no error")
	}
}

// TestOwnCgroups: an id can be any word, so its occurrence in a name does not make a
// group that others share the container's own.
func TestOwnCgroups(t *testing.T) {
	for _, tt := range []struct {
		at, id string
		want   []string
	}{
		{"/docker/c0ffee", "c0ffee", []string{"/docker/c0ffee"}},
		{"/machine.slice/libpod-c0ffee.scope/container", "c0ffee", []string{"/machine.slice/libpod-c0ffee.scope", "/machine.slice/libpod-c0ffee.scope/container"}},
		{"/s/docker-c0ffee.scope/a/b", "c0ffee", []string{"/s/docker-c0ffee.scope", "/s/docker-c0ffee.scope/a", "/s/docker-c0ffee.scope/a/b"}},
		{"/docker/c0ffee/container", "c0ffee", []string{"/docker/c0ffee", "/docker/c0ffee/container"}},
		{"/system.slice/runc-s.scope", "s", []string{"/system.slice/runc-s.scope"}},
		{"/user.slice/user-1000.slice/x", "slice", []string{"/user.slice/user-1000.slice/x"}},
		{"/default/default", "default", []string{"/default/default"}},
		{"/machine.slice/x", "machine.slice/", []string{"/machine.slice/x"}},
		{"/a-b/x", "", []string{"/a-b/x"}},
	} {
		if diff := cmp.Diff(tt.want, ownCgroups(tt.at, tt.id)); diff != "" {
			t.Errorf("%s of %q: %s", tt.at, tt.id, diff)
		}
	}
}
