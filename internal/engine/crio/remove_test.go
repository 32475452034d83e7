// SPDX-License-Identifier: Apache-2.0

package crio_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/crio"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
)

func drop(name, text string) dropin.File {
	return dropin.File{Path: crio.DropInDir + "/" + name, Text: []byte(text)}
}

// TestRemove removes our runtimes under any name, and nothing else.
func TestRemove(t *testing.T) {
	own := "# " + engine.Marker + "\n\n[crio.runtime]\nlog_level = 'info'\ndefault_runtime = 'old'\n" +
		"[crio.runtime.runtimes.old]\nruntime_path = '/usr/local/bin/metax-runtime'\n" +
		"[crio.runtime.runtimes.metax]\nruntime_path = '/opt/wrapper'\n" +
		"[crio.runtime.runtimes.theirs]\nruntime_path = '/usr/bin/theirs'\n"
	in := crio.Input{DropIns: []dropin.File{drop("99-metax.conf", own)}}
	changes, err := crio.Remove(in, engine.Setup{Name: "metax"})
	if err != nil || len(changes) != 1 {
		t.Fatalf("%v, %v", changes, err)
	}
	want := "# " + engine.Marker + "\n\n[crio.runtime]\nlog_level = 'info'\n[crio.runtime.runtimes.theirs]\nruntime_path = '/usr/bin/theirs'\n"
	if d := cmp.Diff(want, string(changes[0].After)); d != "" {
		t.Error(d)
	}
}

// TestRemoveNeeded: a runtime cannot be removed while somebody else's file makes it the
// default one, because the engine would not find it.
func TestRemoveNeeded(t *testing.T) {
	s := engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime", Default: true}
	changes, err := crio.Configure(crio.Input{}, s)
	if err != nil {
		t.Fatal(err)
	}
	in := apply(crio.Input{DropIns: []dropin.File{drop("zz.conf", "crio.runtime.default_runtime = 'metax'\n")}}, changes)
	_, err = crio.Remove(in, s)
	var needed *dropin.NeededError
	if !errors.As(err, &needed) || needed.Path != crio.DropInDir+"/zz.conf" || needed.Runtime != "metax" {
		t.Errorf("%v", err)
	}
	// It is not our doing that there was none in the first place.
	in = crio.Input{DropIns: in.DropIns[:1]}
	if changes, err := crio.Remove(in, s); err != nil || len(changes) != 0 {
		t.Errorf("%v, %v", changes, err)
	}
}
