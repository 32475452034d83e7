// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/snapshot"
	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/scripts"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"metax-docker": main, "docker-metax": main})
}

// TestScripts runs the wrapper with a client that prints its command line; what real engines
// make of such lines is tested in test/e2e.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *golden.Update,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scripts.Exits,
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			client := filepath.Join(e.WorkDir, "bin", "client")
			e.Setenv("PATH", filepath.Dir(client)+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Setenv("METAX_CTK_DOCKER", "client")
			e.Setenv("METAX_CTK_NODE", "c500-8")
			if err := hostTree(filepath.Join(e.WorkDir, "node")); err != nil {
				return err
			}
			if err := writeSnapshot(filepath.Join(e.WorkDir, "node.snapshot")); err != nil {
				return err
			}
			for name, status := range map[string]int{"DOCKER_LIVE": http.StatusOK, "DOCKER_SICK": http.StatusInternalServerError} {
				socket, err := daemon(e, status)
				if err != nil {
					return err
				}
				e.Setenv(name, "unix://"+socket)
			}
			// A socket that nobody listens on: the daemon does not answer.
			e.Setenv("DOCKER_HOST", "unix://"+filepath.Join(e.WorkDir, "docker.sock"))
			if err := os.MkdirAll(filepath.Dir(client), 0o755); err != nil {
				return err
			}
			if err := os.Symlink(client, filepath.Join(filepath.Dir(client), "podman")); err != nil {
				return err
			}
			return os.WriteFile(client, []byte("#!/bin/sh\n"+
				"case \"$*\" in\n"+
				"'run --help') echo '      --novel string   A flag of tomorrow'; exit ;;\n"+
				"*exit7*) exit 7 ;;\n"+
				// The project is its own answer.
				"compose*config\\ --format\\ json) exec cat \"$3\" ;;\n"+
				"esac\n"+
				"for word; do printf '[%s]' \"$word\"; done\necho\n"), 0o755)
		},
	})
}

// images are the daemon's images, with a variable of each.
var images = map[string]string{
	"/images/ubuntu/json": "PATH=/usr/bin:/bin",
	"/images/vendor/json": "MACA_PATH=/opt/maca",
	"/images/shared/json": "MACA_MPS_MODE=1",
}

// daemon is a docker daemon without containers, which lists them with the given
// status, and reads CDI specs in $WORK/cdi; its socket has a short path, as sockets must.
func daemon(e *testscript.Env, status int) (socket string, err error) {
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		return "", err
	}
	socket = filepath.Join(dir, "docker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if env, ok := images[r.URL.Path]; ok {
			fmt.Fprintf(w, `{"Id":"sha256:%x","Os":"linux","Architecture":"amd64","Config":{"Env":[%q]}}`, r.URL.Path, env)
			return
		}
		switch r.URL.Path {
		case "/containers/json":
			w.WriteHeader(status)
			io.WriteString(w, "[]")
		case "/info":
			fmt.Fprintf(w, `{"CDISpecDirs": [%q]}`, filepath.Join(e.WorkDir, "cdi"))
		default:
			http.NotFound(w, r)
		}
	})}
	go s.Serve(l)
	e.Defer(func() {
		s.Close()
		os.RemoveAll(dir)
	})
	return socket, nil
}

// hostTree writes a simulated host, as metax-ctk sim create does.
func hostTree(dir string) error {
	tree, err := simulated()
	if err != nil {
		return err
	}
	return tree.Write(dir)
}

// writeSnapshot writes a snapshot of the same host.
func writeSnapshot(file string) error {
	tree, err := simulated()
	if err != nil {
		return err
	}
	text, err := snapshot.Snapshot{Tree: tree}.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

func simulated() (sim.Tree, error) {
	node, err := sim.Node("c500-8")
	if err != nil {
		return nil, err
	}
	return sim.HostTree(node)
}
