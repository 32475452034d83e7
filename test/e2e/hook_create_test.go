// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// By the time that a low-level runtime calls hooks of createContainer it has made a mount of
// the container's root, which metax-hook demands, and what the hook makes there is the
// container's.
func TestHookCreateContainer(t *testing.T) {
	eachLowLevel(t, func(t *testing.T, b *bundle) {
		b.hook("createContainer", sandbox.BinDir+"/metax-hook", "create-symlinks", "--link", "../target::/opt/made/link")
		b.config["process"].(object)["args"] = look()
		if r := b.start(t); r.code != 0 || r.stderr != "" {
			t.Fatal(r)
		}
		if target, err := os.Readlink(b.Path(b.dir + "/rootfs/opt/made/link")); err != nil || target != "../target" {
			t.Errorf("the link leads to %q, %v", target, err)
		}
	})
}
