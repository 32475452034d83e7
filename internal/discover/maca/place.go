package maca

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Directories of the root that an image has its own of, or that the engine fills:
// what is mounted there hides what a container needs, or is hidden itself.
var taken = []string{
	"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "root", "run", "sbin", "sys", "tmp", "usr", "var",
}

// shelves hold directories of many programs; they are not one themselves.
var shelves = []string{"/home", "/media", "/mnt", "/opt", "/srv", "/usr/local"}

// Directories below /usr/local that are an image's own.
var local = []string{"bin", "etc", "games", "include", "lib", "lib32", "lib64", "libexec", "man", "sbin", "share", "src"}

// doubt says why a host's directory, which is where path leads, should not be
// mounted in a container under its own path; empty if nothing speaks against it.
// The libraries in it are going to be what a stranger's programs load, so nobody
// but root may be able to put others there.
func doubt(host *hostfs.Root, known, dir string) string {
	switch words := strings.Split(strings.TrimPrefix(dir, "/"), "/"); {
	case dir == "/" || slices.Contains(shelves, dir):
		return dir + " holds more than MXMACA"
	case words[0] == "usr" && len(words) > 2 && words[1] == "local" && !slices.Contains(local, words[2]):
	case slices.Contains(taken, words[0]):
		return fmt.Sprintf("%s is in /%s, which a container has its own of", dir, words[0])
	}
	if known != dir && known != Path {
		return fmt.Sprintf("%s leads to %s; name that", known, dir)
	}
	for word := range strings.SplitSeq(dir[1:], "/") {
		if !isPlain(word) {
			return fmt.Sprintf("the name %q in its path would not survive in a specification", word)
		}
	}
	return writable(host, dir)
}

// writable says which directory on the way others than root may write to; empty
// if there is none.
func writable(host *hostfs.Root, dir string) string {
	for d := dir; ; d = path.Dir(d) {
		info, err := host.Stat(d)
		if err != nil {
			return err.Error()
		}
		if !hostfs.IsRoot(info.UID) || info.Mode.Perm()&0o022 != 0 {
			return fmt.Sprintf("others than root may write to %s (owner %d, mode %04o)", d, info.UID, info.Mode.Perm())
		}
		if d == "/" {
			return ""
		}
	}
}
