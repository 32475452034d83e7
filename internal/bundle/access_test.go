// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/hook/mount"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/oci"
)

func TestAccess(t *testing.T) {
	ids := func(text string) mount.IDs {
		m, err := mount.ParseIDs([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	whole, mapped := ids("0 0 4294967295\n"), ids("0 100000 65536\n")
	video := func(perm uint32) hostfs.Device { return hostfs.Device{Perm: perm, GID: 44} }
	for name, tt := range map[string]struct {
		device   hostfs.Device
		readOnly bool
		user     oci.User
		ids      mount.IDs
		says     string // empty: it may be opened
	}{
		"root":                          {video(0o600), false, oci.User{}, whole, ""},
		"everyone":                      {video(0o666), false, oci.User{UID: 1000}, whole, ""},
		"the owner":                     {hostfs.Device{Perm: 0o600, UID: 1000}, false, oci.User{UID: 1000}, whole, ""},
		"the group":                     {video(0o660), false, oci.User{UID: 1000, GID: 44}, whole, ""},
		"another group of the user":     {video(0o660), false, oci.User{UID: 1000, GID: 1000, AdditionalGIDs: []uint32{7, 44}}, whole, ""},
		"not the group":                 {video(0o660), false, oci.User{UID: 1000, GID: 1000}, whole, "--group-add 44"},
		"the group may only read":       {video(0o640), false, oci.User{UID: 1000, GID: 44}, whole, "use CDI"},
		"and only reading is wanted":    {video(0o640), true, oci.User{UID: 1000, GID: 44}, whole, ""},
		"everyone may only read":        {video(0o664), false, oci.User{UID: 1000}, whole, "--group-add 44"},
		"root of a namespace":           {video(0o660), false, oci.User{}, mapped, "let everyone open it"},
		"root of a namespace, everyone": {video(0o666), false, oci.User{}, mapped, ""},
		"root of a namespace, owner":    {hostfs.Device{Perm: 0o600, UID: 100000}, false, oci.User{}, mapped, ""},
		"a user beyond the namespace":   {hostfs.Device{Perm: 0o600}, false, oci.User{UID: 70000}, mapped, "let everyone open it"},
		"the namespace's number 44":     {video(0o660), false, oci.User{GID: 44}, mapped, "let everyone open it"},
		"a group of the namespace":      {hostfs.Device{Perm: 0o660, GID: 100044}, false, oci.User{UID: 1000}, mapped, "--group-add 44"},
		"in a group of the namespace":   {hostfs.Device{Perm: 0o660, GID: 100044}, false, oci.User{UID: 1000, GID: 44}, mapped, ""},
	} {
		err := checkPermissions(tt.device, tt.readOnly, tt.user, tt.ids, tt.ids)
		if tt.says == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tt.says != "" && (!errors.Is(err, errNoAccess) || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
}
