// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/completion"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/shells"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestShells has each shell complete command lines with the words of every docker.
func TestShells(t *testing.T) {
	dockers := realDockers(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	testfile.Symlink(t, self, filepath.Join(bin, "metax-docker"))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("METAX_CTK_NODE", "c500-8")
	t.Setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
	for suite, docker := range dockers {
		t.Setenv("METAX_CTK_DOCKER", docker)
		if suite != "bookworm" { // Docker 20.10 does not ask its plugins
			t.Run(suite+"/plugin", func(t *testing.T) { completesPlugin(t, docker) })
		}
		for _, shell := range shells.Names {
			t.Run(suite+"/"+shell, func(t *testing.T) {
				script, _ := completion.Script(shell, "metax-docker")
				// By line: what it becomes where one word fits; else words of the list.
				for line, want := range map[string][]string{
					"metax-docker imag":                     {"images", "image"},
					"metax-docker run --gpus-po":            {"metax-docker run --gpus-policy "},
					"metax-docker run --gpus=2 --hostn":     {"metax-docker run --gpus=2 --hostname "},
					"metax-docker run --gp":                 {"--gpus", "--gpus-share", "--gpus-policy"},
					"metax-docker run --gpus 4 --inject=fl": {"metax-docker run --gpus 4 --inject=flags "},
					"metax-docker run --gpus device=0,":     {"0,1", "0,7"},
					"metax-docker run -e 'A=b c' --gpus-e":  {"metax-docker run -e 'A=b c' --gpus-explain "},
					"metax-docker start --gpus-w":           {"metax-docker start --gpus-wait "},
					"metax-docker run --maca-check s":       {"metax-docker run --maca-check strict "},
				} {
					got, all := shells.Complete(t, shell, script, line)
					for _, w := range want {
						word := strings.TrimSpace(w[strings.LastIndex(strings.TrimSpace(w), " ")+1:])
						switch {
						case len(want) > 1 || shell == "fish":
							if !strings.Contains(all, word) {
								t.Errorf("%s: offers %q, want %s", line, all, word)
							}
						case got != w:
							t.Errorf("%s: becomes %q, want %q (%q)", line, got, w, all)
						}
					}
				}
			})
		}
	}
}

// completesPlugin checks that docker hands the words behind "metax" to its plugin.
func completesPlugin(t *testing.T, docker string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config := t.TempDir()
	plugins := filepath.Join(config, "cli-plugins")
	if err := errors.Join(os.Mkdir(plugins, 0o755), os.Symlink(self, filepath.Join(plugins, "docker-metax"))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(docker, "__complete", "metax", "run", "--gpus-po")
	cmd.Env = append(os.Environ(), "DOCKER_CONFIG="+config)
	out, err := cmd.Output()
	if err != nil || !strings.HasPrefix(string(out), "--gpus-policy\t") {
		t.Errorf("%v: %s", err, out)
	}
}

// realDockers are docker's clients that test/e2e/run has unpacked, by Debian suite.
func realDockers(t *testing.T) map[string]string {
	t.Helper()
	roots := needs.Env(t, "METAX_E2E_ROOTS", "with the engines that test/e2e/run unpacks")
	found := map[string]string{}
	paths, _ := filepath.Glob(filepath.Join(roots, "*", "usr", "bin", "docker"))
	for _, path := range paths {
		root := strings.TrimSuffix(path, "/usr/bin/docker")
		loader, _ := filepath.Glob(root + "/lib*/ld-linux-*.so.*")
		libraries, _ := filepath.Glob(root + "/usr/lib/*-linux-gnu*")
		if len(loader) == 0 {
			continue
		}
		client := filepath.Join(t.TempDir(), "docker")
		script := fmt.Sprintf("#!/bin/sh\nexec %s --library-path %s %s \"$@\"\n", loader[0], strings.Join(libraries, ":"), path)
		testfile.Write(t, client, script, 0o755)
		found[filepath.Base(root)] = client
	}
	if len(found) == 0 {
		t.Fatalf("no docker among the engines unpacked in %s", roots)
	}
	return found
}
