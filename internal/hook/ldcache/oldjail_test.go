// SPDX-License-Identifier: Apache-2.0

package ldcache

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/test/oldkernel"
)

// TestOldKernels: the jail is the same on kernels that lack the newer system calls.
func TestOldKernels(t *testing.T) {
	oldkernel.Again(t, "^(TestJail|TestUpdateFails|TestNowhereToMount)$")
}
