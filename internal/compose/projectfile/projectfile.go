// SPDX-License-Identifier: Apache-2.0

// Package projectfile writes a compose project for docker to read, and finds the
// directory that compose takes for the project's. What is in a project is the business of
// package compose.
package projectfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// projectsDir is where root's projects are, below the root of the node.
const projectsDir = "/run/metax-container-toolkit/compose"

// Write writes the project, to a file of this process alone: another line about the same
// project has other GPUs to tell of. The process becomes docker, which does not remove
// the file; the next one does. Root is that of the node.
func Write(root string, getenv func(string) string, text []byte) (string, error) {
	dir, err := projectsOf(root, getenv)
	if err != nil {
		return "", fmt.Errorf("find a place for the project: %w", err)
	}
	sweep(dir)
	path := filepath.Join(dir, strconv.Itoa(os.Getpid())+".json")
	// It may hold what an environment has of secrets.
	if _, err := atomicfile.Write(path, text, atomicfile.Options{Perm: 0o600}); err != nil {
		return "", fmt.Errorf("write the project for docker: %w", err)
	}
	return path, nil
}

// projectsOf makes this user's directory for projects, which nobody else may enter.
func projectsOf(node string, getenv func(string) string) (string, error) {
	root, err := hostfs.New(node)
	if err != nil {
		return "", err
	}
	var dir string
	runtime := getenv("XDG_RUNTIME_DIR")
	switch {
	case os.Getuid() == 0 || !root.Real():
		if dir, err = root.Place(projectsDir); err != nil {
			return "", err
		}
	case filepath.IsAbs(runtime):
		dir = filepath.Join(runtime, "metax-container-toolkit", "compose")
	default:
		return temporaryDir(os.TempDir())
	}
	return dir, privateDir(dir)
}

// errTaken reports a directory for projects that others may enter, or made.
var errTaken = errors.New("not a directory of this user's own")

// temporaryDir makes the directory for projects in one that all users share. Where
// another user took its name first, it gets a name that nobody can know before, by
// which the next command finds it.
func temporaryDir(shared string) (string, error) {
	name := "metax-container-toolkit-" + strconv.Itoa(os.Getuid())
	dir := filepath.Join(shared, name)
	err := privateDir(dir)
	if !errors.Is(err, errTaken) {
		return dir, err
	}
	entries, err := os.ReadDir(shared)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		if dir := filepath.Join(shared, entry.Name()); strings.HasPrefix(entry.Name(), name+"-") && privateDir(dir) == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp(shared, name+"-*")
}

// privateDir makes a directory that nobody else may enter, unless it is there.
func privateDir(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // G301: that above; dir has 0700
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s: %w; remove it", dir, errTaken)
	}
	return nil
}

// settling is how long a project stays in any case: docker may be about to read it in a
// process that cannot be seen from here.
const settling = time.Minute

// sweep removes the projects of processes that have ended.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the write tells
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(strings.TrimSuffix(entry.Name(), ".json"))
		info, gone := entry.Info()
		if err == nil && gone == nil && time.Since(info.ModTime()) > settling &&
			errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			// Another process may have been faster.
			os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// Input is the project file that stands for standard input.
const Input = "-"

// composeFiles are the names of project files that compose looks for.
var composeFiles = []string{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"}

// Directory is the directory that compose takes for the project's, by its own rules:
// named is the one that the command line names, and files are the project's files there.
func Directory(named string, files []string, getenv func(string) string) (string, error) {
	switch {
	case named != "":
		return filepath.Abs(named)
	case len(files) > 0 && files[0] == Input:
		return os.Getwd()
	case len(files) > 0:
		return absDir(files[0])
	}
	if files := getenv("COMPOSE_FILE"); files != "" {
		separator := cmp.Or(getenv("COMPOSE_PATH_SEPARATOR"), string(os.PathListSeparator))
		first, _, _ := strings.Cut(files, separator)
		return absDir(first)
	}
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the project's directory: %w", err)
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		for _, name := range composeFiles {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return dir, nil
			}
		}
		if dir == "/" {
			return here, nil // .env names the files
		}
	}
}

func absDir(file string) (string, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("find the project's directory: %w", err)
	}
	return filepath.Dir(path), nil
}

// Rewind goes back to the beginning of standard input. One that cannot go back is read to its
// end and replaced by a file of no name, because docker reads it once more.
func Rewind() error {
	_, err := os.Stdin.Seek(0, io.SeekStart)
	if !errors.Is(err, unix.ESPIPE) {
		return err
	}
	file, err := os.CreateTemp("", "metax-docker-")
	if err != nil {
		return fmt.Errorf("keep standard input: %w", err)
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil {
		return fmt.Errorf("keep standard input: %w", err)
	}
	if _, err := io.Copy(file, os.Stdin); err != nil {
		return fmt.Errorf("keep standard input: %w", err)
	}
	if err := unix.Dup3(int(file.Fd()), int(os.Stdin.Fd()), 0); err != nil {
		return fmt.Errorf("keep standard input: %w", err)
	}
	_, err = os.Stdin.Seek(0, io.SeekStart)
	return err
}
