// SPDX-License-Identifier: Apache-2.0

package maca

import (
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
)

// Summary is an installation with the numbers of what Inspect found.
type Summary struct {
	Kind    Kind   `json:"kind"`
	Version string `json:"version"` // empty if not known
	Path    string `json:"path"`
	Dir     string `json:"dir"`
	Default bool   `json:"default"`
	// Givable reports whether it can be injected; Doubt is why not.
	Givable bool   `json:"givable"`
	Doubt   string `json:"doubt,omitempty"`
	// Libraries are its own; Missing and Problems also count those of the driver's.
	Libraries int `json:"libraries"`
	Missing   int `json:"missing"`
	Problems  int `json:"problems"`
}

// Summarize returns the Summary of an installation.
func Summarize(i Install, looked Inspection) Summary {
	s := Summary{
		Kind: i.Kind, Version: i.Version, Path: i.Path, Dir: i.Dir, Default: i.Default, Givable: i.Doubt == "",
		Doubt:   i.Doubt,
		Missing: len(looked.Missing), Problems: len(looked.Problems),
	}
	for _, l := range looked.Libraries {
		if i.Kind == KindDriver || !strings.HasPrefix(l.Path, DriverPath+"/") {
			s.Libraries++
		}
	}
	return s
}

// Checked is what Check found.
type Checked struct {
	OK      bool    `json:"ok"`
	MACA    Summary `json:"maca"`
	Machine string  `json:"machine"` // "EM_X86_64", empty without libraries
	Driver  Driver  `json:"driver"`
	// Compat is what the rules say of both versions.
	Compat   compat.Verdict `json:"compat"`
	Problems []Fault        `json:"problems"`
	// Image is what an image must bring: libraries that are the host system's.
	Image []Demand `json:"image"`
}

// Driver is the kernel's driver.
type Driver struct {
	Version string `json:"version"` // empty if not known
	File    string `json:"file"`    // where the version is from
	Loaded  bool   `json:"loaded"`
}

// Fault is a reason why an installation fails the check.
type Fault struct {
	Kind    string   `json:"kind"`
	Message string   `json:"message"`
	By      []string `json:"by"` // the libraries that are concerned, by path
}

// Check judges an installation. A driver that does not fit is a fault; one of which that
// is unknown is not. Each of the warnings, which are the listing's, is one.
func Check(i Install, looked Inspection, driver sysfs.Module, rules []compat.Rule, warnings []string) Checked {
	found := Checked{
		MACA:     Summarize(i, looked),
		Machine:  looked.Machine,
		Driver:   Driver{driver.Version, driver.File, driver.Loaded},
		Compat:   compat.Check(rules, i.Version, driver.Version),
		Problems: []Fault{},
		Image:    append([]Demand{}, looked.Image...),
	}
	fault := func(kind, message string, by ...string) {
		found.Problems = append(found.Problems, Fault{kind, message, append([]string{}, by...)})
	}
	for _, w := range i.Warnings {
		fault("version", w)
	}
	if i.Doubt != "" {
		fault("place", i.Doubt)
	}
	if len(looked.Libraries) == 0 {
		fault("libraries", "no shared library in "+i.Path)
	}
	for _, m := range looked.Missing {
		fault("missing", "no library "+m.Name+" on this host", m.By...)
	}
	for _, p := range looked.Problems {
		fault(p.Kind, p.Text)
	}
	if found.Compat.State == compat.Mismatch {
		fault("driver", found.Compat.Reason)
	}
	for _, w := range warnings {
		fault("broken", w)
	}
	found.OK = len(found.Problems) == 0
	return found
}
