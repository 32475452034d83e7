// SPDX-License-Identifier: Apache-2.0

package mxmaca

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// The reasons why a payload is not installed, or not the default.
const (
	Pulling    = "Pulling"    // the images are not there yet
	BadPayload = "BadPayload" // the image has no MXMACA, or one that is not taken
	NoSpace    = "NoSpace"    // it does not fit on the host
	Failed     = "Failed"     // reading or writing failed
	HostMACA   = "HostMACA"   // /opt/maca of the host is not the operator's
)

// Error is why a payload is not taken.
type Error struct {
	Reason string
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

func bad(format string, args ...any) error { return &Error{BadPayload, fmt.Errorf(format, args...)} }

// parent is the directory of installations.
var parent = path.Dir(maca.Path)

// prefix begins the name of the directory of a version.
var prefix = path.Base(maca.Path) + "-"

// word is a version that can be the value of a label, and that package maca finds as part of a
// name.
var word = regexp.MustCompile(`^[0-9]([0-9A-Za-z._-]{0,61}[0-9A-Za-z])?$`)

// findMACA returns the directory of the MXMACA of an image, without links, and its version.
func findMACA(image *hostfs.Root) (dir, version string, err error) {
	list := maca.List(image, "")
	install, err := list.Choose("")
	if all := list.MACA(); err != nil && len(all) == 1 {
		install, err = all[0], nil
	}
	if err != nil {
		return "", "", bad("the image has no MXMACA in %s: %w", parent, err)
	}
	if path.Dir(install.Dir) != parent {
		return "", "", bad("%s of the image leads to %s, which is not in %s", install.Path, install.Dir, parent)
	}
	if version = install.Version; version == "" {
		version = strings.TrimPrefix(path.Base(install.Dir), prefix)
	}
	if !word.MatchString(version) {
		return "", "", bad("%.80q is not a version that can name a directory (Version.txt in %s)", version, install.Dir)
	}
	return install.Dir, version, nil
}
