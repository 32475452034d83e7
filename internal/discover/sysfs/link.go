// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"fmt"
	"path"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// deadWidth is the width that Linux reads from a function that does not answer any more: all
// bits of the field are 1. maxWidth is the widest link that there is.
const deadWidth, maxWidth = 63, 32

// LinkDown reports whether the PCIe link of a GPU is down, and what shows that. A link
// that is narrower or slower than it could be is up: slots with fewer lanes are in use, and
// idle links slow down. A function without a link, as in some virtual machines, has the widths
// 0 and 255, and a host without the files is not judged.
func LinkDown(host *hostfs.Root, b gpu.BDF) (text string, down bool) {
	r := &reader{host: host}
	width := func(which string) int {
		text, err := r.readText(path.Join(DevicesDir, b.String(), which+"_link_width"))
		n, numErr := strconv.Atoi(text)
		if err != nil || numErr != nil {
			return -1
		}
		return n
	}
	now := width("current")
	if now == 0 {
		most := width("max")
		down = most > 0 && most <= maxWidth
	}
	if !down && now != deadWidth {
		return "", false
	}
	return fmt.Sprintf("its PCIe link is down (current_link_width is %d)", now), true
}
