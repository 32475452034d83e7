// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/docker"
	"github.com/metax-ctk/container-toolkit/test/enginetest"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// realEngines are the commands of the dockerds that test/e2e/run has unpacked.
func realEngines(t *testing.T) [][]string {
	t.Helper()
	roots := needs.Env(t, "METAX_E2E_ROOTS", "with the engines that test/e2e/run unpacks")
	paths, _ := filepath.Glob(filepath.Join(roots, "*", "usr", "sbin", "dockerd"))
	var found [][]string
	for _, path := range paths {
		root := strings.TrimSuffix(path, "/usr/sbin/dockerd")
		loader, _ := filepath.Glob(root + "/lib*/ld-linux-*.so.*")
		libraries, _ := filepath.Glob(root + "/usr/lib/*-linux-gnu*")
		if len(loader) == 0 || len(libraries) == 0 {
			continue
		}
		found = append(found, []string{loader[0], "--library-path", strings.Join(libraries, ":"), path})
	}
	if len(found) == 0 {
		t.Fatalf("no dockerd among the engines unpacked in %s", roots)
	}
	return found
}

// realDockerd is a dockerd that test/e2e/run has unpacked.
type realDockerd struct {
	command []string
	version engine.Version
}

// refuses returns why dockerd refuses a text, "" if it accepts it.
func (j realDockerd) refuses(t *testing.T, text []byte) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "daemon.json")
	testfile.Write(t, path, text, 0o600)
	args := []string{"--validate", "--userland-proxy=false"}
	if j.version.Before(23, 0) {
		// It cannot only look: it starts, and fails at the next thing it needs.
		args = []string{"--data-root", "/dev/null/none", "--exec-root", dir, "--pidfile", filepath.Join(dir, "pid"), "--host", "unix://" + dir + "/sock"}
	}
	args = append(append(j.command[1:len(j.command):len(j.command)], args...), "--config-file", path)
	out, err := exec.Command(j.command[0], args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if _, why, refused := strings.Cut(string(out), "unable to configure the Docker daemon with file "+path+": "); refused {
		return strings.TrimSpace(why)
	}
	if j.version.AtLeast(23, 0) && err != nil || j.version.Before(23, 0) && !strings.Contains(string(out), "/dev/null/none") {
		t.Fatalf("%v\n%s", err, out)
	}
	return ""
}

// TestRealDockerd has dockerds of three ages read what Configure makes for them of each text
// that they read before. A text that they cannot read, Configure refuses.
func TestRealDockerd(t *testing.T) {
	seen := map[engine.Version]bool{}
	for _, command := range realEngines(t) {
		out, err := exec.Command(command[0], append(command[1:len(command):len(command)], "--version")...).Output()
		j := realDockerd{command, engine.ParseVersion(string(out))}
		if err != nil || !j.version.Known() {
			t.Fatalf("%v: %v, %s", command, err, out)
		}
		if seen[j.version] {
			continue
		}
		seen[j.version] = true
		t.Run(j.version.String(), func(t *testing.T) {
			t.Parallel()
			read := 0
			for _, path := range enginetest.Paths(t) {
				s, in := corpus.Load(t, path)
				in.Version = j.version
				changes, err := docker.Configure(in, s.Setup)
				after := in.Text
				for _, c := range changes {
					after = c.After
				}
				var syntax *engine.SyntaxError
				switch {
				case errors.As(err, &syntax):
					if why := j.refuses(t, in.Text); why == "" && !stricter(err, j.version) {
						t.Errorf("%s: dockerd reads it, and it is refused: %v", path, err)
					}
				case err != nil || after == nil:
				default:
					why := j.refuses(t, after)
					if why == "" {
						read++
					} else if before := j.refuses(t, in.Text); before == "" || !otherwise(before) {
						t.Errorf("%s: dockerd says %q of\n%s\nand %q of what it was", path, why, after, before)
					}
				}
			}
			if read < 20 {
				t.Errorf("reads %d texts after Configure", read)
			}
		})
	}
}

// stricter reports whether Configure refuses more than dockerd: what has two meanings, and
// what an old one reads only in part.
func stricter(err error, v engine.Version) bool {
	return strings.Contains(err.Error(), "twice") || strings.Contains(err.Error(), "the same key") ||
		v.Before(23, 0) && strings.Contains(err.Error(), "after top-level value")
}

// otherwise reports whether dockerd refuses a text for a key that Configure has
// nothing to do with: one of another version, or one of the judge's own flags.
func otherwise(why string) bool {
	return strings.Contains(why, "don't match any configuration option") || strings.Contains(why, "both as a flag and in")
}
