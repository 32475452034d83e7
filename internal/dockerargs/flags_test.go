// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMountPoints(t *testing.T) {
	flags := Flags{
		{Name: "volume", Value: "/a:/opt/maca/:ro"},
		{Name: "volume", Value: "/anonymous"},
		{Name: "volume", Value: "named:/b"},
		{Name: "tmpfs", Value: "/c:size=1m"},
		{Name: "mount", Value: "type=bind,source=/x,Target=/d"},
		{Name: "mount", Value: "type=tmpfs,dst=/e"},
		{Name: "env", Value: "/f:/f"},
		{Name: "volume", Value: ""},
	}
	if d := cmp.Diff([]string{"/opt/maca", "/anonymous", "/b", "/c", "/d", "/e"}, flags.MountPoints()); d != "" {
		t.Error(d)
	}
}
