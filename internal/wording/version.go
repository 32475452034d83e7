// SPDX-License-Identifier: Apache-2.0

package wording

import "fmt"

// VersionError reports a file of a version that this program does not read. Within a version a
// format only grows: fields that a program does not know are ignored.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("it has version %.40q, which this program does not know: upgrade this program (metax-ctk version)",
		e.Version)
}
