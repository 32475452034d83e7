// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// Problem is something that is wrong with a spec, or with the files of a kind.
type Problem struct {
	// Code is a stable word for programs, one of the constants below.
	Code string `json:"code"`
	// Subject is what the problem is with: a path, mostly.
	Subject string `json:"subject,omitempty"`
	// Devices are the devices that the subject belongs to; empty if it comes with every
	// device.
	Devices []string `json:"devices,omitempty"`
	// Message says what is wrong with the subject.
	Message string `json:"message"`
	// Writable is whether the subject is a program that users other than root may change.
	Writable bool `json:"-"`
}

// The codes of problems.
const (
	CodePath       = "path"       // not an absolute, clean path
	CodeText       = "text"       // control characters, or not UTF-8
	CodeOutside    = "outside"    // a host path that is not below the engine's root
	CodeNode       = "node"       // no character device there
	CodeNumbers    = "numbers"    // pinned device numbers that are not the host's
	CodeMount      = "mount"      // no source to mount
	CodeHook       = "hook"       // missing, or users other than root may change it
	CodeHookEnv    = "hook-env"   // a hook that inherits the image's environment
	CodeFile       = "file"       // a spec file that engines cannot use
	CodePermission = "permission" // a spec file that engines without root cannot read
	CodeWritable   = "writable"   // a spec file, or its directory, that users other than root may write
	CodeName       = "name"       // a vendor or class on which engines panic
	CodeConflict   = "conflict"   // a name that no engine resolves
	CodeShadowed   = "shadowed"   // a name whose definition another file overrides
)

// String is the problem in one line of printable text.
func (p Problem) String() string {
	s := p.Message
	if p.Subject != "" {
		s = p.Subject + ": " + s
	}
	if len(p.Devices) > 0 {
		s += " (device " + strings.Join(p.Devices, ", ") + ")"
	}
	return terminal.Line(s)
}

// problems collects problems; one that several devices share is listed once.
type problems []Problem

// add adds a problem and returns it.
func (ps *problems) add(code, device, subject, format string, a ...any) *Problem {
	p := Problem{Code: code, Subject: subject, Message: fmt.Sprintf(format, a...)}
	at := slices.IndexFunc(*ps, func(q Problem) bool {
		return q.Code == p.Code && q.Subject == p.Subject && q.Message == p.Message
	})
	if at < 0 {
		*ps = append(*ps, p)
		at = len(*ps) - 1
	}
	q := &(*ps)[at]
	if device != "" && !slices.Contains(q.Devices, device) {
		q.Devices = append(q.Devices, device)
	}
	return q
}
