// SPDX-License-Identifier: Apache-2.0

package mxmaca

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestUses: a version is in use where a process has it mounted from opt, whatever else
// strangers mount, and where.
func TestUses(t *testing.T) {
	const self = "22 1 0:50 / / rw - overlay overlay rw\n23 22 98:0 /srv/opt /host/opt rw - ext4 /dev/sda rw\n"
	for line, want := range map[string]string{
		"36 35 98:0 /srv/opt/maca-3.3 /opt/maca-3.3 ro - ext4 /dev/sda ro":              "3.3",
		"36 35 98:0 /srv/opt/maca-3.3/lib /a ro - ext4 /dev/sda ro":                     "3.3",
		"36 35 98:0 /srv/opt/" + trashDir + "/maca-3.3 /opt/maca ro - ext4 /dev/sda ro": "3.3",
		"36 35 98:0 /srv/opt/maca-3.3//deleted /opt/maca-3.3 ro - ext4 /dev/sda ro":     "3.3",
		"36 35 98:0 /srv/opt/maca-3.3\\040(deleted) /y ro - ext4 /dev/sda ro":           "3.3",
		"short":                              "",
		"36 35 98:0 /srv/opt/mymaca-4 /z ro": "",
		"36 35 98:0 /var/lib/volumes/v /x/maca-3.3 rw - ext4 /dev/sda rw":                  "",
		"36 35 98:0 /var/lib/volumes/maca-3.3 /opt/maca-3.3 rw - ext4 /dev/sda rw":         "",
		"36 35 98:0 /srv/opt2/maca-3.3 /opt/maca-3.3 rw - ext4 /dev/sda rw":                "",
		"36 35 0:70 /srv/opt/maca-3.3 /opt/maca-3.3 rw - tmpfs tmpfs rw":                   "",
		"36 35 98:0 /srv/opt /opt rw - ext4 /dev/sda rw\n37 36 98:0 / /maca-3.3 rw - ext4": "",
	} {
		proc := t.TempDir()
		write(t, proc, "self/mountinfo "+self)
		write(t, proc, "1/mountinfo "+self)
		write(t, proc, "17/mountinfo "+line+"\n")
		used, err := versionsInUse(proc, "/host/opt")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(used)), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	proc := t.TempDir()
	write(t, proc, "1/mountinfo "+self)
	if _, err := versionsInUse(proc, "/host/opt"); err == nil {
		t.Error("without its own mounts, an agent says that nothing is in use")
	}
}
