// SPDX-License-Identifier: Apache-2.0

package ldcache

import (
	"os"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/mountns"
)

func TestMain(m *testing.M) { os.Exit(mountns.Run(m)) }
