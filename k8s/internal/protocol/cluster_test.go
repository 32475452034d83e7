// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
)

func TestInCluster(t *testing.T) {
	for text, want := range map[string]string{
		"stat /host/dev/dri/card1: no such file or directory":                "stat /dev/dri/card1: no such file or directory",
		`{"error":"/host/dev/a,/host/dev/b","root":"/host"}`:                 `{"error":"/dev/a,/dev/b","root":"/host"}`,
		"/host/opt and /srv/host/opt, ./host/opt, my-host/opt":               "/opt and /srv/host/opt, ./host/opt, my-host/opt",
		mxsmi.LinksUnknown + ". Once per boot: " + advice:                    mxsmi.LinksUnknown + "; " + recorded,
		mxsmi.LinksUnknown + ": it has none. Record again: " + advice:        mxsmi.LinksUnknown + ": it has none; " + recorded,
		"it cannot be used: EOF; write it again: " + advice:                  "it cannot be used: EOF; " + recorded,
		"the UUIDs are not known: " + advice:                                 "the UUIDs are not known; " + recorded,
		"no GPU. To try without one: metax-ctk --node c500-8 topology print": "no GPU",
	} {
		if got := InCluster(text); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

const (
	advice   = "sudo metax-ctk cdi generate"
	recorded = "metax-gpu-device records the node when its pod there starts"
)
