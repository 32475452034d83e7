// SPDX-License-Identifier: Apache-2.0

// Package programs builds this project's programs for tests.
package programs

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Build builds main packages in a directory with the flags of a release, so that what a test
// needs of them has been compiled before.
func Build(dir string, packages ...string) error {
	build := exec.Command("go", append([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o", dir + "/"}, packages...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", strings.Join(packages, " "), err, out)
	}
	return nil
}
