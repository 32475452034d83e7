// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/image"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

const (
	// imageRef is the test image; its only program is the probe.
	imageRef = "localhost/metax-e2e/probe:1"
	// imageFile is its archive as a sandbox sees it.
	imageFile = sandbox.BinDir + "/probe.tar"
)

// fixtures are the files that all rows read, made once before the first.
type fixtures struct {
	roots string // unpacked engines, one folder for each Debian suite
	built string // the engines that no suite has
	bin   string // the product, the probe's image and the low-level runtime
}

var fixed fixtures

// night is how many storms a nightly run has (METAX_E2E_NIGHT), and 0 by day.
var night int

func TestMain(m *testing.M) {
	if sandbox.IsInit() {
		sandbox.Main()
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	bin, err := os.MkdirTemp("", "metax-e2e-bin-")
	if err != nil {
		return refuse(err)
	}
	defer os.RemoveAll(bin)
	if err := os.Chmod(bin, 0o755); err != nil { // other users run what is in it, too
		return refuse(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-stop
		os.RemoveAll(bin) // the sandboxes end by themselves
		os.Exit(1)
	}()
	fixed = fixtures{roots: os.Getenv("METAX_E2E_ROOTS"), built: os.Getenv("METAX_E2E_BUILT"), bin: bin}
	if fixed.roots == "" || fixed.built == "" || os.Getuid() != 0 {
		return refuse(fmt.Errorf("the engines are not there, or this is not root: start with test/e2e/run"))
	}
	if text := os.Getenv("METAX_E2E_NIGHT"); text != "" {
		if night, err = strconv.Atoi(text); err != nil {
			return refuse(fmt.Errorf("METAX_E2E_NIGHT: %w", err))
		}
	}
	if err := build(bin); err != nil {
		return refuse(err)
	}
	return m.Run()
}

func refuse(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}

// build fills dir. METAX_E2E_BIN names a folder with the product's binaries where those of a
// package, rather than of this source tree, are to be tested.
func build(dir string) error {
	if err := goBuild(".", dir, "./cmd/..."); err != nil {
		return err
	}
	if made := os.Getenv("METAX_E2E_BIN"); made == "" {
		if err := goBuild(filepath.Join("..", ".."), dir, "./cmd/..."); err != nil {
			return err
		}
	} else if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
		return err
	}
	if err := goBuild(filepath.Join("..", ".."), dir, "./test/oldkernel/withkernel"); err != nil {
		return err
	}
	probe, err := os.ReadFile(filepath.Join(dir, "probe"))
	if err != nil {
		return err
	}
	archive, err := os.Create(filepath.Join(dir, filepath.Base(imageFile)))
	if err != nil {
		return err
	}
	defer archive.Close()
	_, err = image.Image{
		Ref:   imageRef,
		Files: map[string][]byte{"/probe": probe},
		Dirs:  []string{"/dev", "/etc", "/proc", "/sys", "/tmp"},
		Cmd:   []string{"/probe", "pause"},
	}.WriteTo(archive)
	return err
}

func goBuild(module, dir, pattern string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-o", dir+"/", pattern)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s in %s: %w\n%s", pattern, module, err, out)
	}
	return nil
}
