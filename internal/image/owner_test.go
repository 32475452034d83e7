// SPDX-License-Identifier: Apache-2.0

package image

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestOwnerOver(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	here, soon := pidNamespace(), now.Add(time.Minute).Unix()
	for name, tc := range map[string]struct {
		owner owner
		want  bool
	}{
		"we":                 {thisOwner(now.Add(time.Minute)), false},
		"we, long ago":       {thisOwner(now.Add(-time.Minute)), true},
		"another":            {owner{1, here, soon}, false},
		"ended":              {owner{ended.Process.Pid, here, soon}, true},
		"elsewhere":          {owner{ended.Process.Pid, "pid:[1]", soon}, false},
		"elsewhere long ago": {owner{os.Getpid(), "pid:[1]", now.Add(-time.Minute).Unix()}, true},
	} {
		if got := tc.owner.expired(now); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}

func TestParseOwner(t *testing.T) {
	o := thisOwner(time.Unix(1795265700, 0))
	if got, ok := parseOwner(o.String()); !ok || got != o {
		t.Errorf("%q is %+v, %t", o, got, ok)
	}
	for _, text := range []string{"", "1", "pid 1 of pid:[1] until", "pid 0 of pid:[1] until 5", "pid -1 of pid:[1] until 5", "pid 1 of pid:[1] until 5 x", " pid 1 of pid:[1] until 5", "pid 01 of pid:[1] until 5"} {
		if got, ok := parseOwner(text); ok {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
