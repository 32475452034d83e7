// SPDX-License-Identifier: Apache-2.0

package vendorlib

import (
	"context"
	"os/exec"
)

// over runs a command with /sys and the list of modules of a tree. The library looks for
// "metax" in /proc/modules; a kernel without modules has no such file, and then /proc becomes
// links to the real one, and the file.
const over = `set -e
tree=$1 work=$2; shift 2
mkdir "$work/sys" "$work/proc"
mount -t overlay overlay -o "ro,lowerdir=$tree/sys:/sys" "$work/sys"
mount --move "$work/sys" /sys
if [ -e /proc/modules ]; then
	mount --bind "$tree/proc/modules" /proc/modules
else
	mount --move /proc "$work/proc"
	mount -t tmpfs tmpfs /proc
	for f in "$work"/proc/[a-z]*; do ln -s "$f" "/proc/${f##*/}"; done
	cp "$tree/proc/modules" /proc/modules
fi
exec "$@"`

// Over is a command that finds the simulated host in the directory tree as its own. It needs
// root; work is an empty directory.
func Over(ctx context.Context, tree, work string, command ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "unshare", append([]string{"-m", "--propagation", "private", "sh", "-c", over, "sh", tree, work}, command...)...)
}
