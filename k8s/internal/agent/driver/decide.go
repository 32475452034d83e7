// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// The reasons in reports. The last ones, and FilesFailed, can also stand beside ready: the
// driver that is loaded stays.
const (
	Loading          = "Loading"
	Unloading        = "Unloading"        // the driver's users leave, so that it can be unloaded
	InUse            = "InUse"            // somebody else uses the driver
	LoadFailed       = "LoadFailed"       // the kernel did not take the module
	SignatureRefused = "SignatureRefused" // the kernel does not trust it
	UnloadFailed     = "UnloadFailed"
	FilesFailed      = "FilesFailed" // the host's files could not be written
	Unknown          = "Unknown"     // the host could not be read
	Host             = report.Host   // the host's own driver is used
	BadPayload       = "BadPayload"
	NoModule         = "NoModule" // the payload has none for the kernel
)

// Look is what is decided from.
type Look struct {
	PreferHost bool // a driver of the host is used
	Kernel     string
	Payload    Payload
	Invalid    error // why there is no payload
	Loaded     bool  // the kernel has a driver
	// Version and Srcversion are of the loaded driver, "" if the kernel does not say.
	Version, Srcversion string
	Boot                string
	Record              Record
}

// Step is what is to be done.
type Step int

// The steps.
const (
	Stay    Step = iota // nothing
	Load                // no driver is loaded
	Replace             // unload the driver when nothing uses it, and load the payload's
)

// Decide returns the next step, and what to report meanwhile.
func Decide(l Look) (Step, report.Report) {
	module, bad := l.module()
	r := report.Report{Mode: gpu.DriverCloud, Reason: bad.Reason, Message: bad.Message, Version: l.Version}
	switch {
	case !l.Loaded && bad.Reason != "":
		return Stay, r
	case !l.Loaded:
		r.Reason, r.Message = Loading, "driver "+versionText(module.Version)+" of the payload is being loaded"
		return Load, r
	case l.loadedFromPayload() && bad.Reason == "" && l.Record.Payload == l.Payload.ID:
		r.Ready = true
		return Stay, r
	case !l.loadedFromPayload() && (l.PreferHost || l.matchesPayload()):
		return Stay, report.Report{Ready: true, Mode: gpu.DriverNative, Version: l.Version, Reason: Host, Message: "driver " +
			versionText(l.Version) + " of the host is used"}
	case bad.Reason != "":
		r.Ready, r.Message = true, bad.Message+"; driver "+versionText(l.Version)+" stays"
		if !l.loadedFromPayload() {
			r.Mode = gpu.DriverNative
		}
		return Stay, r
	}
	r.Reason = Unloading
	r.Message = fmt.Sprintf("driver %s is being unloaded for driver %s of the payload", versionText(l.Version),
		versionText(module.Version))
	return Replace, r
}

// loadedFromPayload reports whether the loaded driver came from a payload.
func (l Look) loadedFromPayload() bool {
	r := l.Record
	return l.Loaded && r.Payload != "" && r.Boot == l.Boot &&
		(l.Version == "" || r.Version == "" || l.Version == r.Version) &&
		(l.Srcversion == "" || r.Srcversion == "" || l.Srcversion == r.Srcversion)
}

// matchesPayload reports whether the loaded module is the payload's module for this kernel,
// whoever loaded it.
func (l Look) matchesPayload() bool {
	m, bad := l.module()
	return bad.Reason == "" && l.Srcversion != "" && l.Srcversion == m.Srcversion && l.Version == m.Version
}

// module returns the payload's module for the kernel, or a report on why there is none.
func (l Look) module() (Module, report.Report) {
	if l.Invalid != nil {
		return Module{}, report.Report{Reason: BadPayload, Message: l.Invalid.Error()}
	}
	m, ok := l.Payload.moduleFor(l.Kernel)
	if !ok {
		return Module{}, report.Report{Reason: NoModule, Message: fmt.Sprintf(
			"the payload has no module for kernel %s, but for %s: choose a payload for it",
			l.Kernel, wording.Some(l.Payload.kernelReleases(), mostNames))}
	}
	return m, report.Report{}
}

// Users is what uses the loaded driver. Each is named in words, such as "pod team/job".
type Users struct {
	Plugin    []string // what the operator deployed, which leaves by itself
	Pods      []string // pods with GPUs
	Leases    []string
	Processes []string // processes that have a GPU open
	Modules   []string // kernel modules that need the driver
	Count     int      // the kernel's own count
	Unknown   []string // what could not be found out; it may be a user
}

// Blocked returns the report that the driver cannot be unloaded because of its users, and
// whether it is so.
func (u Users) Blocked(r report.Report) (report.Report, bool) {
	others := slices.Concat(u.Pods, u.Leases, u.Unknown)
	if len(u.Plugin) == 0 { // which has processes of its own
		others = slices.Concat(others, u.Processes, u.Modules)
		if len(others) == 0 && u.Count > 0 {
			others = []string{fmt.Sprintf("something that the kernel counts (%d)", u.Count)}
		}
	}
	switch {
	case len(others) > 0:
		r.Reason = InUse
		r.Message += ": waits for " + wording.Some(others, mostNames) + "; end it, or drain the node"
	case len(u.Plugin) > 0:
		r.Message += ": waits until " + wording.Some(u.Plugin, mostNames) + " has left the node"
	default:
		return r, false
	}
	return r, true
}

// mostNames is how many kernels or users a message names.
const mostNames = 5

func versionText(version string) string { return cmp.Or(version, "without a version") }
