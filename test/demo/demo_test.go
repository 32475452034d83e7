// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/programs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// run runs the demo with its output in a pipe. The only engine that answers is the script
// podman, unless that is empty.
func run(t *testing.T, podman string) string {
	t.Helper()
	bin, engines := t.TempDir(), t.TempDir()
	if err := programs.Build(bin, "../../cmd/..."); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"docker", "podman"} {
		script := "#!/bin/sh\nexit 1\n" // no engine answers
		if name == "podman" && podman != "" {
			script = podman
		}
		testfile.Write(t, filepath.Join(engines, name), script, 0o755)
	}
	demo := exec.Command("./run")
	demo.Env = append(os.Environ(), "BIN="+bin, "PATH="+engines+":"+os.Getenv("PATH"),
		// No daemon answers, even if one runs on this machine.
		"DOCKER_HOST=unix://"+filepath.Join(engines, "docker.sock"))
	out, err := demo.CombinedOutput()
	if err != nil {
		t.Fatalf("demo: %v\n%s", err, out)
	}
	if bytes.ContainsRune(out, '\x1b') {
		t.Errorf("escape codes in a pipe: %q", out)
	}
	return string(out)
}

const last = "metax-docker run --rm --network=none --gpus=4 metax-demo metax-ctk runtime witness"

// TestWithoutEngine: the demo ends before the command, with the reason.
func TestWithoutEngine(t *testing.T) {
	out := run(t, "")
	for _, part := range []string{
		"$ metax-ctk sim create c500-8 $work/node\n", "No engine answers on this machine", "$ " + strings.Replace(last, "run", "run --dry-run", 1) + "\n", "--device=",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q in\n%s", part, out)
		}
	}
}

// TestWithEngine: the engine gets an image from the demo and does not pull one.
func TestWithEngine(t *testing.T) {
	needs.Root(t, "for the device nodes that a container gets")
	dir := t.TempDir()
	out := run(t, `#!/bin/sh
[ "$1" = run ] && echo "run … $(echo "$*" | sed 's/.* metax-demo/metax-demo/')" >>`+dir+`/calls || echo "$*" >>`+dir+`/calls
case $1 in import) cat >`+dir+`/image.tar ;; esac
`)
	if !strings.Contains(out, "$ "+last+"\n") {
		t.Errorf("the last command does not run:\n%s", out)
	}
	calls := testfile.Text(t, filepath.Join(dir, "calls"))
	var engine []string
	for _, call := range strings.Split(strings.TrimSpace(calls), "\n") {
		if word, _, _ := strings.Cut(call, " "); word != "info" && word != "version" && !strings.HasSuffix(call, "--help") {
			engine = append(engine, call)
		}
	}
	if d := cmp.Diff([]string{"import - metax-demo", "image inspect -- metax-demo", "run … metax-demo metax-ctk runtime witness", "rmi metax-demo"}, engine); d != "" {
		t.Errorf("what the engine is told (-want +got):\n%s", d)
	}
	image, err := os.Open(filepath.Join(dir, "image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	var files []string
	for r := tar.NewReader(image); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		files = append(files, h.Name)
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		program, err := elf.NewFile(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
		for _, p := range program.Progs {
			if p.Type == elf.PT_INTERP {
				t.Errorf("%s is not static", h.Name)
			}
		}
	}
	if d := cmp.Diff([]string{"./bin/metax-ctk"}, files); d != "" {
		t.Errorf("the image (-want +got):\n%s", d)
	}
}
