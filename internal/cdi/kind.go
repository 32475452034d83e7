// SPDX-License-Identifier: Apache-2.0

package cdi

import "path"

// The two halves of the kind of MetaX GPUs, "metax-tech.com/gpu".
const (
	DefaultVendor = "metax-tech.com"
	DefaultClass  = "gpu"
)

// Where engines look for specs by default; a file in DynamicDir wins over one in
// StaticDir. DynamicDir does not survive a reboot.
const (
	StaticDir  = "/etc/cdi"
	DynamicDir = "/var/run/cdi"
)

// Dirs returns the directories where engines look for specs, in ascending priority.
func Dirs() []string { return []string{StaticDir, DynamicDir} }

// Path is where the spec of a kind belongs, "/var/run/cdi/<vendor>-<class>.json":
// one file for one kind.
func Path(vendor, class string, format Format) string {
	return path.Join(DynamicDir, vendor+"-"+class+"."+string(format))
}

// Kind is the kind of a vendor's class, "metax-tech.com/gpu".
func Kind(vendor, class string) string { return vendor + "/" + class }

// Qualified is the name of a device in a request to an engine, "metax-tech.com/gpu=0".
func Qualified(kind, device string) string { return kind + "=" + device }
