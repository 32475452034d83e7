// SPDX-License-Identifier: Apache-2.0

package maca

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// containerDirs are directories of the root that an image has itself or that the engine
// fills. A mount there would hide files that the container needs, or be hidden itself.
var containerDirs = []string{
	"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "root", "run", "sbin", "sys", "tmp", "usr",
	"var",
}

// sharedDirs contain the directories of many programs.
var sharedDirs = []string{"/home", "/media", "/mnt", "/opt", "/srv", "/usr/local"}

// usrLocalDirs are directories below /usr/local that an image has itself.
var usrLocalDirs = []string{
	"bin", "etc", "games", "include", "lib", "lib32", "lib64", "libexec", "man", "sbin",
	"share", "src",
}

// doubtAbout returns why a host's directory, to which the path known leads, should not
// be mounted in a container under its own path; empty if it may be. Programs in
// containers load the libraries in it, so only root may be able to change them.
func doubtAbout(host *hostfs.Root, known, dir string) string {
	words := strings.Split(strings.TrimPrefix(dir, "/"), "/")
	switch {
	case dir == "/" || slices.Contains(sharedDirs, dir):
		return dir + " holds more than MXMACA"
	case words[0] == "usr" && len(words) > 2 && words[1] == "local" && !slices.Contains(usrLocalDirs, words[2]):
		// a place of its own below /usr/local
	case slices.Contains(containerDirs, words[0]):
		return fmt.Sprintf("%s is in /%[2]s, and a container has its own /%[2]s", dir, words[0])
	}
	if known != dir && known != Path {
		return fmt.Sprintf("%s leads to %s; use that path", known, dir)
	}
	for word := range strings.SplitSeq(dir[1:], "/") {
		if !isSafeName(word) {
			return fmt.Sprintf("the name %q in its path has characters that are not safe in a CDI spec", word)
		}
	}
	return writableByOthers(host, dir)
}

// writableByOthers names the directory or parent directory that users other than root
// may write to; empty if there is none.
func writableByOthers(host *hostfs.Root, dir string) string {
	for d := dir; ; d = path.Dir(d) {
		info, err := host.Stat(d)
		if err != nil {
			return err.Error()
		}
		if !host.Protected(info) {
			return fmt.Sprintf("others than root may write to %s (owner %d, mode %04o)", d, info.UID, info.Mode.Perm())
		}
		if d == "/" {
			return ""
		}
	}
}
