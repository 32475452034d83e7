// SPDX-License-Identifier: Apache-2.0

package image

import "slices"

// Directories of an image's system: if something is mounted over one of them, nothing
// in the image runs. systemTrees include everything below them, systemDirs do not.
var (
	systemTrees = []string{
		"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin", "/sys",
		"/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec", "/usr/sbin",
		"/var/lock", "/var/run",
	}
	systemDirs = []string{
		"/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp",
		"/usr", "/usr/games", "/usr/local", "/usr/share", "/usr/src",
		"/usr/local/bin", "/usr/local/etc", "/usr/local/games", "/usr/local/include", "/usr/local/lib",
		"/usr/local/lib64", "/usr/local/libexec", "/usr/local/man", "/usr/local/sbin", "/usr/local/share", "/usr/local/src",
		"/var", "/var/cache", "/var/lib", "/var/local", "/var/log", "/var/mail", "/var/opt", "/var/spool", "/var/tmp",
	}
)

// isSystem reports whether a path without links is a directory of the system.
func isSystem(name string) bool {
	return slices.Contains(systemDirs, name) ||
		slices.ContainsFunc(systemTrees, func(tree string) bool { return isBelow(name, tree) })
}
