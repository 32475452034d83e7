// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// execTime is how long the program of Exec may take.
const execTime = 30 * time.Second

// errNoProgram reports a path that is not that of a program.
var errNoProgram = errors.New("it is not an executable file")

// Exec runs the program at an absolute path that the administrator wants to have run after a
// look with which the health of the GPUs has changed. Its arguments are ADDRESS=CODE of each
// GPU with a problem, its most important one. For root it must be a file that only root can
// replace.
func Exec(ctx context.Context, program string, look health.Look) error {
	info, err := hostfs.Trust(program)
	if err == nil && (!info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0) {
		err = errNoProgram
	}
	if err != nil {
		return fmt.Errorf("run %s of health.exec: %w", program, err)
	}
	var args []string
	for _, r := range look.Readings {
		if len(r.Problems) > 0 {
			args = append(args, r.Key()+"="+r.Problems[0].Code)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, execTime)
	defer cancel()
	_, err = child.Run(ctx, program, args...)
	return err
}
