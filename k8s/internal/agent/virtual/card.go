// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// card is a GPU as the kernel shows it.
type card struct {
	gpu.GPU
	most, count int    // virtual functions that it can have, and that its driver says that it has
	driver      string // "" is none
}

// errNoGPU reports a node without a GPU.
var errNoGPU = errors.New("no GPU")

// readCards returns the GPUs of a host. One that cannot be read is an error: all GPUs of a
// node are changed, or none.
func readCards(host *hostfs.Root) ([]card, error) {
	kernel, err := sysfs.Read(host)
	if err != nil {
		return nil, err
	}
	if len(kernel.GPUs) == 0 {
		return nil, errNoGPU
	}
	cards := make([]card, len(kernel.GPUs))
	for i, g := range kernel.GPUs {
		c := card{GPU: g}
		dir := path.Join(sysfs.DevicesDir, g.BDF.String())
		for name, to := range map[string]*int{"sriov_totalvfs": &c.most, "sriov_numvfs": &c.count} {
			if !host.Exists(path.Join(dir, name)) {
				continue // without SR-IOV
			}
			text, err := host.ReadFile(path.Join(dir, name))
			if err == nil {
				*to, err = strconv.Atoi(strings.TrimSpace(string(text)))
			}
			if err != nil {
				return nil, fmt.Errorf("read %s of GPU %s: %w", name, g.BDF, err)
			}
		}
		if host.Exists(dir + "/driver") {
			at, err := host.Resolve(dir + "/driver")
			if err != nil {
				return nil, fmt.Errorf("read the driver of GPU %s: %w", g.BDF, err)
			}
			c.driver = path.Base(at)
		}
		cards[i] = c
	}
	return cards, nil
}

// formatAddresses are the addresses of GPUs, for a message.
func formatAddresses(gpus []gpu.BDF) string {
	list := make([]string, len(gpus))
	for i, g := range gpus {
		list[i] = g.String()
	}
	return wording.Some(list, 4)
}
