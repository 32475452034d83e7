// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/metax-ctk/container-toolkit/internal/lazyregexp"

var runtimeName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// IsRuntimeName reports whether every engine can read the name of a runtime. containerd 1.x
// accepts no quotes in a key of its configuration.
func IsRuntimeName(name string) bool { return runtimeName().MatchString(name) }
