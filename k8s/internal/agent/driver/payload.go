// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/payload"
)

// The layout of a payload's image: any number of modules below modulesDir, each for the kernel
// that its own words name, and the user-space part, with bin/mx-smi and the libraries.
const (
	modulesDir = "lib/modules"
	moduleFile = "metax.ko"
	homeDir    = "opt/mxdriver"
)

// limit bounds what a payload has of a driver.
var limit = payload.Limit{Bytes: 4 << 30, Entries: 20000}

// Collect copies what is of use in the image below from to the directory to, which is emptied
// first.
func Collect(ctx context.Context, from, to string) error {
	if err := collect(ctx, from, to, limit); err != nil {
		return fmt.Errorf("collect the driver: %w", err)
	}
	return nil
}

func collect(ctx context.Context, from, to string, limit payload.Limit) error {
	image, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer image.Close()
	out, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer out.Close()
	var trees []payload.Tree
	for _, dir := range []string{modulesDir, homeDir} {
		top, _, _ := strings.Cut(dir, "/")
		if err := out.RemoveAll(top); err != nil {
			return err
		}
		tree := payload.Tree{Path: "/" + dir}
		if tree.From, err = image.OpenRoot(dir); errors.Is(err, fs.ErrNotExist) {
			continue // Read says what is missing
		} else if err != nil {
			return err
		}
		defer tree.From.Close()
		if err := out.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if tree.To, err = out.OpenRoot(dir); err != nil {
			return err
		}
		defer tree.To.Close()
		if dir == modulesDir {
			tree.Want = func(file string) bool { return path.Base(file) == moduleFile }
		}
		trees = append(trees, tree)
	}
	return payload.Copy(ctx, limit, trees...)
}

// Module is a kernel module of a payload.
type Module struct {
	File                string // below the payload
	Kernel              string // the release that it is made for
	Version, Srcversion string // "" if it has none
	Depends             []string
}

// Payload is what Collect took out of an image.
type Payload struct {
	// ID names the content: another payload has another.
	ID      string
	Modules []Module // by file
}

// Read reads a payload in a directory. It fails if it is not the payload of a driver.
func Read(dir string) (Payload, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Payload{}, fmt.Errorf("read the payload: %w", err)
	}
	defer root.Close()
	if _, err := root.Stat(homeDir + "/bin/mx-smi"); errors.Is(err, fs.ErrNotExist) {
		return Payload{}, fmt.Errorf("the payload has no /%s/bin/mx-smi", homeDir)
	} else if err != nil {
		return Payload{}, fmt.Errorf("read the payload: %w", err)
	}
	var p Payload
	sum := sha256.New()
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		fmt.Fprintf(sum, "%q %s ", name, entry.Type())
		if entry.Type()&fs.ModeSymlink != 0 {
			target, err := root.Readlink(name)
			fmt.Fprintf(sum, "%q\n", target)
			return err
		}
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		if _, err := io.Copy(sum, file); err != nil || !strings.HasPrefix(name, modulesDir+"/") {
			return err
		}
		m, err := readModule(root, name)
		if err == nil {
			p.Modules = append(p.Modules, m)
		}
		return err
	})
	if err != nil {
		return Payload{}, fmt.Errorf("read the payload: %w", err)
	}
	if len(p.Modules) == 0 {
		return Payload{}, fmt.Errorf("the payload has no %s below /%s", moduleFile, modulesDir)
	}
	p.ID = hex.EncodeToString(sum.Sum(nil))[:16]
	return p, nil
}

// maxModule is the largest size of a module in bytes; those with all debug symbols have some
// tens of MiB.
const maxModule = 256 << 20

func readModule(root *os.Root, name string) (Module, error) {
	info, err := root.Stat(name)
	if err == nil && info.Size() > maxModule {
		err = fmt.Errorf("it has over %d MiB", maxModule>>20)
	}
	var text []byte
	if err == nil {
		text, err = root.ReadFile(name)
	}
	var words map[string]string
	if err == nil {
		words, err = sysfs.Modinfo(text)
	}
	kernel, _, _ := strings.Cut(words["vermagic"], " ")
	m := Module{File: name, Kernel: kernel, Version: words["version"], Srcversion: words["srcversion"]}
	for _, depends := range strings.Split(words["depends"], ",") {
		if depends != "" {
			m.Depends = append(m.Depends, depends)
		}
	}
	own, named := words["name"]
	switch {
	case err != nil: // returned below
	case named && own != "metax":
		err = fmt.Errorf("it is the module %.80q", own)
	case !compat.IsWord(kernel):
		err = errors.New("it does not say which kernel it is for")
	case slices.ContainsFunc(append([]string{m.Version, m.Srcversion}, m.Depends...),
		func(s string) bool { return s != "" && !compat.IsWord(s) }):
		err = errors.New("its words have blanks or control characters")
	}
	if err != nil {
		return Module{}, fmt.Errorf("/%s: %w", name, err)
	}
	return m, nil
}

// moduleFor returns the module for a kernel.
func (p Payload) moduleFor(kernel string) (Module, bool) {
	at := slices.IndexFunc(p.Modules, func(m Module) bool { return m.Kernel == kernel })
	if at < 0 {
		return Module{}, false
	}
	return p.Modules[at], true
}

// kernelReleases are the releases that the payload has modules for, sorted, each once.
func (p Payload) kernelReleases() []string {
	var all []string
	for _, m := range p.Modules {
		all = append(all, m.Kernel)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
