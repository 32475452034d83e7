// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"path"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lazyregexp"
)

// nicClasses have a link for each network device, by its name.
var nicClasses = []string{"/sys/class/infiniband", "/sys/class/net"}

// nicName matches the names that the kernel, systemd and rdma-core make from a card's
// driver, number or place. Another name may say whose network it is, and those with an x
// ("enx…", "rocex…") hold a hardware address.
var nicName = lazyregexp.New(`^((eth|ib|mlx4_|mlx5_|mlx5_bond_|hns_|bnxt_re|irdma|qedr|erdma_)[0-9]+|(en|ib|roce)(P[0-9]+)?[ops][0-9]+([a-z]{1,2}[0-9]+)*)$`)

// captureNICs takes the names and places of the network cards, which discovery reads.
func (t *taker) captureNICs() {
	taken := 0
	for _, class := range nicClasses {
		for _, name := range t.listNames(class) {
			at := path.Join(class, name, "device")
			dir, err := t.Root.Resolve(at)
			if err != nil {
				continue // it has no card
			}
			if _, err := gpu.ParseBDF(path.Base(dir)); err != nil || slices.Contains(t.listNames(dir), "physfn") {
				continue
			}
			if taken++; !nicName().MatchString(name) || taken > gpu.MaxNICs {
				t.left["network cards whose names are not the kernel's or systemd's"]++
				continue
			}
			if _, _, err := t.followLinks(at); err != nil {
				t.noteUnreadable(at, err)
				continue
			}
			t.captureDir(dir)
			t.captureFile(path.Join(dir, "numa_node"), maxAttribute, nil)
		}
	}
}
