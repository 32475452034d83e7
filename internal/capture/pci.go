// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lazyregexp"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

const pciDevices = "/sys/bus/pci/devices"

// vendor is MetaX's.
const vendor = "0x9999"

// attributes are the files of a PCI function that are kept, of a bridge as well.
var attributes = strings.Fields(`vendor device class subsystem_vendor subsystem_device revision numa_node local_cpulist
	current_link_speed current_link_width max_link_speed max_link_width secondary_bus_number subordinate_bus_number
	sriov_totalvfs sriov_numvfs model gpuvf enable reset_method`)

var (
	virtfn = lazyregexp.New(`^virtfn[0-9]+$`)
	drm    = lazyregexp.New(`^(card|renderD)[0-9]+$`)
	sgpu   = lazyregexp.New(`^sgpu[0-9]+$`)
)

// capturePCI takes MetaX's functions and the bridges above them. Of a function whose vendor
// cannot be read the link stays, since discovery says so.
func (t *taker) capturePCI() {
	const other = "PCI functions of other vendors, with those bridges that lead to no GPU"
	bridges := map[string]bool{}
	for _, name := range t.captureAndList(pciDevices) {
		at := path.Join(pciDevices, name)
		text, err := t.readLimited(at+"/vendor", maxAttribute)
		switch {
		case err == nil && strings.TrimSpace(text) != vendor:
			t.left[other]++
			continue
		case err != nil:
			t.noteUnreadable(at+"/vendor", err)
		}
		real, e, err := t.followLinks(at)
		if err != nil || !e.Mode.IsDir() {
			t.noteUnreadable(at, err)
			continue
		}
		t.captureDir(real)
		t.function(real)
		for dir := path.Dir(real); ; dir = path.Dir(dir) {
			bdf, err := gpu.ParseBDF(path.Base(dir))
			if err != nil || bridges[dir] {
				break
			}
			bridges[dir] = true
			t.attributes(dir)
			if _, _, err := t.followLinks(path.Join(pciDevices, bdf.String())); err != nil {
				t.noteUnreadable(dir, err)
			}
		}
	}
	if t.left[other] -= len(bridges); t.left[other] <= 0 {
		delete(t.left, other)
	}
}

func (t *taker) attributes(dir string) {
	for _, name := range attributes {
		t.captureFile(path.Join(dir, name), maxAttribute, nil)
	}
}

// function takes a GPU, or a part of one.
func (t *taker) function(dir string) {
	t.attributes(dir)
	for _, name := range t.listNames(dir) {
		at := path.Join(dir, name)
		switch {
		case name == "driver" || name == "physfn" || virtfn().MatchString(name):
			t.link(at)
		case name == "drm":
			t.captureDir(at)
			for _, minor := range t.listNames(at) {
				if drm().MatchString(minor) {
					t.captureDir(path.Join(at, minor))
					t.captureFile(path.Join(at, minor, "dev"), maxAttribute, nil)
				}
			}
		case name == "sgpu":
			t.slices(at)
		}
	}
}

// link keeps a link and that there is something to which it leads.
func (t *taker) link(p string) {
	real, e, err := t.followLinks(p)
	if err == nil && e.Mode.IsDir() && real != "/" {
		t.captureDir(real)
		return
	}
	t.noteUnreadable(p, err)
}

func (t *taker) slices(dir string) {
	t.captureDir(dir)
	for _, name := range t.listNames(dir) {
		at := path.Join(dir, name)
		if !sgpu().MatchString(name) {
			t.captureFile(at, maxAttribute, nil)
			continue
		}
		real, e, err := t.followLinks(at)
		if err != nil || !e.Mode.IsDir() {
			t.noteUnreadable(at, err)
			continue
		}
		t.captureDir(real)
		t.captureFile(real+"/unique_id", maxAttribute, scrubOneWord(scrub.UUID))
		t.captureFile(real+"/alias", maxAttribute, scrubOneWord(scrub.Alias))
		for _, name := range []string{"dev", "node_id", "sched_quota", "vram_quota"} {
			t.captureFile(real+"/"+name, maxAttribute, nil)
		}
	}
}

// scrubOneWord treats a file that holds one word.
func scrubOneWord(class scrub.Class) treatment {
	return func(s *scrub.Scrubber, text string) string {
		word := strings.TrimSpace(text)
		if word == "" {
			return text
		}
		return strings.Replace(text, word, s.Word(class, word), 1)
	}
}
