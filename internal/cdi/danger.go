// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Danger returns what makes the spec file at a path of the host dangerous for the host and
// its engines, whatever the spec contains: that users other than root and this process's
// user may write it, and a kind on which engines panic.
func Danger(host *hostfs.Root, path string) []Problem {
	var found problems
	if f, read, ok := readSpec(host, path, 0); ok {
		f.untrusted = untrustedProblem(host, read.Distrust)
		f.parseContent(read.Data)
		f.addDangers(&found)
	}
	return found
}

func (f File) addDangers(found *problems) {
	if f.untrusted != nil {
		found.add(CodeWritable, "", f.untrusted.Subject, "%s", f.untrusted.Message)
	}
	if isShort(f.Kind) {
		found.add(CodeName, "", f.Path, "%s", shortKind(f.Kind))
	}
}

// isShort reports whether the vendor or the class of a kind has one letter alone. The
// CDI library before 1.1.1 looks at what is between the first and the last letter of
// each, from 1 up to len-1, which is a range that runs backwards then.
func isShort(kind string) bool {
	vendor, class, ok := strings.Cut(kind, "/")
	return ok && (len(vendor) == 1 || len(class) == 1)
}

func shortKind(kind string) string {
	return fmt.Sprintf(
		"kind %q has a vendor or class of one letter: Docker with CDI up to 29.7 and every engine with the CDI library before 1.1.1 panic on it", kind)
}

// untrustedProblem is the problem that others may write a file or directory, as hostfs judges;
// nil if they may not.
func untrustedProblem(host *hostfs.Root, err error) *Problem {
	var is *hostfs.UntrustedError
	if !errors.As(err, &is) {
		return nil
	}
	what := fmt.Sprintf("group or others may write to it (mode %04o) and so decide what containers get", is.Mode)
	if is.Owner != nil {
		what = fmt.Sprintf("belongs to user %d, who decides what containers get", *is.Owner)
	}
	path := strings.TrimPrefix(is.Path, strings.TrimSuffix(host.Dir(), "/"))
	return &Problem{Code: CodeWritable, Subject: path, Message: what + "; chown root and chmod go-w"}
}
