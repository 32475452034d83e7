// SPDX-License-Identifier: Apache-2.0

package podman_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/engine/podman"
)

func drop(name, text string) dropin.File {
	return dropin.File{Path: podman.DropInDir + "/" + name, Text: []byte(text)}
}

// TestRemove removes our runtimes under any name, and nothing else.
func TestRemove(t *testing.T) {
	own := "# " + engine.Marker + "\n\n[engine]\nlog_level = 'info'\nruntime = 'old'\n" +
		"[engine.runtimes]\nold = ['/usr/local/bin/metax-runtime']\n" +
		"metax = ['/opt/wrapper']\n" +
		"theirs = ['/usr/bin/theirs']\n"
	in := podman.Input{DropIns: []dropin.File{drop("99-metax.conf", own)}}
	changes, err := podman.Remove(in, engine.Setup{Name: "metax"})
	if err != nil || len(changes) != 1 {
		t.Fatalf("%v, %v", changes, err)
	}
	want := "# " + engine.Marker + "\n\n[engine]\nlog_level = 'info'\n[engine.runtimes]\ntheirs = ['/usr/bin/theirs']\n"
	if d := cmp.Diff(want, string(changes[0].After)); d != "" {
		t.Error(d)
	}
}

// TestRemoveNeeded: a runtime cannot be removed while somebody else's file makes it the
// default one, because the engine would not find it.
func TestRemoveNeeded(t *testing.T) {
	s := engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime", Default: true}
	changes, err := podman.Configure(podman.Input{}, s)
	if err != nil {
		t.Fatal(err)
	}
	in := apply(podman.Input{DropIns: []dropin.File{drop("zz.conf", "engine.runtime = 'metax'\n")}}, changes)
	_, err = podman.Remove(in, s)
	var needed *dropin.NeededError
	if !errors.As(err, &needed) || needed.Path != podman.DropInDir+"/zz.conf" || needed.Runtime != "metax" {
		t.Errorf("%v", err)
	}
	// It is not our doing that there was none in the first place.
	in = podman.Input{DropIns: in.DropIns[:1]}
	if changes, err := podman.Remove(in, s); err != nil || len(changes) != 0 {
		t.Errorf("%v, %v", changes, err)
	}
}
