package mxmaca

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// uses returns the versions that some process has mounted, by the mounts of all processes in proc: every container
// that was given a version has its directory as a mount, also while it is paused.
func uses(proc string) (map[string]bool, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, fmt.Errorf("find the versions in use: %w", err)
	}
	// Where /proc hides the processes of others, nothing would seem to be in use.
	if _, err := os.Stat(filepath.Join(proc, "1/mountinfo")); err != nil {
		return nil, fmt.Errorf("find the versions in use: the processes of the host cannot be seen: %w; mount its /proc without hidepid", err)
	}
	used := map[string]bool{}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		file, err := os.Open(filepath.Join(proc, entry.Name(), "mountinfo"))
		if err == nil {
			err = addMounts(used, file)
			file.Close()
		}
		// A process that has ended uses nothing.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) && !errors.Is(err, syscall.EINVAL) {
			return nil, fmt.Errorf("find the versions in use: %w", err)
		}
	}
	return used, nil
}

// addMounts adds the versions in the text of mountinfo, whose fields 4 and 5 are the directory that is mounted, in
// its file system, and where.
func addMounts(used map[string]bool, text io.Reader) error {
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		for _, at := range fields[3:5] {
			for name := range strings.SplitSeq(at, "/") {
				name = strings.TrimSuffix(name, `\040(deleted)`)
				if version, ok := strings.CutPrefix(name, prefix); ok {
					used[version] = true
				}
			}
		}
	}
	return lines.Err()
}
