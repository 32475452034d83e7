// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/stopwatch"
)

const (
	createRounds = 80
	becomeRounds = 200
	hookRounds   = 100

	nothing = "/e2e/nothing"
	ours    = "/e2e/metax-runtime"
	theirs  = "/e2e/nvidia-container-runtime"

	cachePath = "/etc/ld.so.cache"
)

// annotations request four GPUs from this toolkit, and variable from NVIDIA's.
var (
	annotations = map[string]string{"metax-tech.com/gpu": "0,1,2,3"}
	variable    = []string{"NVIDIA_VISIBLE_DEVICES=metax-tech.com/gpu=0,metax-tech.com/gpu=1,metax-tech.com/gpu=2,metax-tech.com/gpu=3"}
)

// runtimes measures the cost of the two shims and the hooks for a container start: this
// toolkit's and, on the same bundles and the same CDI spec, those of NVIDIA's toolkit.
func runtimes(image []string) (figure.Set, error) {
	if _, err := output("metax-ctk", "cdi", "generate"); err != nil {
		return nil, err
	}
	b, err := dockerBundle(image)
	if err != nil {
		return nil, err
	}
	if err := grownRoot(); err != nil {
		return nil, err
	}
	restore, err := bareRunc()
	if err != nil {
		return nil, err
	}
	set := figure.Set{}
	for _, part := range []func(*bundle) (figure.Set, error){becoming, late, linking} {
		some, err := part(b)
		if err = errors.Join(err, set.Add(some)); err != nil {
			return nil, errors.Join(err, restore())
		}
	}
	return set, restore()
}

// lowLevel is what both shims are to become.
func lowLevel(path string) error {
	return errors.Join(
		put("/etc/metax-container-toolkit/config.toml", fmt.Sprintf("[runtime]\nruntimes = [%q]\n", path)),
		put("/etc/nvidia-container-runtime/config.toml", fmt.Sprintf(
			"[nvidia-container-runtime]\nmode = \"cdi\"\nruntimes = [%q]\nlog-level = \"error\"\n[nvidia-container-runtime.modes.cdi]\nspec-dirs = [\"/etc/cdi\", \"/var/run/cdi\"]\n", path)),
	)
}

func put(path, text string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
}

// becoming is the time until a shim has become the low-level runtime, by one that ends at
// once.
func becoming(b *bundle) (figure.Set, error) {
	bare, four, asked, err := b.texts()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(lowLevel(nothing), given(four)); err != nil {
		return nil, err
	}
	create := func(name, program string, config []byte) stopwatch.Case {
		c := stopwatch.Process(name, nil, program, "create", "--bundle", bundleDir, container)
		c.Prepare = write(config)
		return c
	}
	cases := []stopwatch.Case{
		create("client", nothing, bare),
		stopwatch.Process("least", nil, "/e2e/become", nothing),
		create("theirs/none", theirs, bare), create("theirs/four", theirs, asked),
	}
	for _, b := range builds() {
		program := b.dir + "metax-runtime"
		cases = append(cases, create(b.prefix+"none", program, bare), create(b.prefix+"four", program, four))
	}
	r, err := timed(becomeRounds, cases...)
	if err != nil {
		return nil, err
	}
	set := figure.Set{}
	for _, name := range []string{"least", "none", "four", "theirs/none", "theirs/four"} {
		set["runtime/"+name] = r.Added(name, "client")
	}
	for name, program := range map[string]string{"four": ours, "theirs/four": theirs} {
		text := map[string][]byte{ours: four, theirs: asked}[program]
		if set["runtime/"+name+"/memory"], err = peak(write(text), nil, program, "create", "--bundle", bundleDir, container); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// texts are the configurations without a request, with one to us, and with one to them.
func (b *bundle) texts() (bare, four, asked []byte, err error) {
	bare, err1 := b.text(nil, nil)
	four, err2 := b.text(annotations, nil)
	asked, err3 := b.text(nil, variable)
	return bare, four, asked, errors.Join(err1, err2, err3)
}

// given checks that our shim puts the GPUs into a configuration.
func given(config []byte) error {
	if err := write(config)(); err != nil {
		return err
	}
	if _, err := output(ours, "create", "--bundle", bundleDir, container); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(bundleDir, "config.json"))
	if err == nil && !bytes.Contains(text, []byte("/dev/dri/renderD")) {
		err = fmt.Errorf("%s has not given the GPUs", ours)
	}
	return err
}

// created is a case that makes a container, which the next one removes.
func created(name, program string, config []byte) stopwatch.Case {
	return stopwatch.Case{
		Name:    name,
		Prepare: func() error { return errors.Join(gone(), write(config)()) },
		Run: func() (int64, error) {
			cmd := exec.Command(program, "create", "--bundle", bundleDir, container)
			// The container keeps its standard streams open; waiting for the end of a
			// pipe would block.
			file, err := os.Create("/run/bench-said")
			if err != nil {
				return 0, err
			}
			defer file.Close()
			cmd.Stderr = file
			if err := cmd.Run(); err != nil {
				said, _ := os.ReadFile(file.Name())
				return 0, fmt.Errorf("run %s create: %w\n%s", program, err, said)
			}
			return 0, nil
		},
	}
}

// gone removes the container, if there is one.
func gone() error {
	_ = exec.Command(runc, "delete", "--force", container).Run()
	if _, err := os.Stat("/run/runc/" + container); err == nil {
		return errors.New("the container cannot be removed")
	}
	return nil
}

// late is the time that a prestart hook adds, beside one that does nothing.
func late(b *bundle) (figure.Set, error) {
	idle, err := b.text(annotations, nil, nothing)
	cases := []stopwatch.Case{created("idle", runc, idle)}
	for _, from := range builds() {
		busy, err2 := b.text(annotations, nil, from.dir+"metax-hook", "prestart")
		cases, err = append(cases, created(from.prefix+"busy", runc, busy)), errors.Join(err, err2)
	}
	if err != nil {
		return nil, err
	}
	r, err := timed(createRounds, cases...)
	if err = errors.Join(err, gone()); err != nil {
		return nil, err
	}
	return figure.Set{"hook/prestart": r.Added("busy", "idle")}, nil
}

// linking is the time of the hooks for libraries, on a container's root with many of them.
func linking(b *bundle) (figure.Set, error) {
	text, err := b.text(nil, nil)
	if err != nil {
		return nil, err
	}
	if err := write(text)(); err != nil {
		return nil, err
	}
	links := []string{"create-symlinks"}
	for i := range libraries {
		links = append(links, "--link", fmt.Sprintf("%s/libmc%02d.so::/usr/lib/links/libmc%02d.so.1", libraryDir, i, i))
	}
	folder := []string{"--folder", libraryDir}
	peer := []string{"/e2e/nvidia-cdi-hook", "update-ldcache", "--ldconfig-path", "/sbin/ldconfig"}
	// An image's own cache, without the libraries; NVIDIA's hook does nothing if there
	// is none.
	if _, err := output("ldconfig", "-r", glibcRoot); err != nil {
		return nil, err
	}
	cache, err := os.ReadFile(glibcRoot + cachePath)
	if err != nil {
		return nil, err
	}
	fresh := func() error {
		// Without what another left, each has the same to do.
		for _, path := range []string{"/etc/ld.so.conf.d", "/usr/lib/links"} {
			if err := os.RemoveAll(glibcRoot + path); err != nil {
				return err
			}
		}
		return errors.Join(os.MkdirAll(glibcRoot+"/etc/ld.so.conf.d", 0o755), os.WriteFile(glibcRoot+cachePath, cache, 0o644))
	}
	bare := stopwatch.Case{Name: "ldconfig", Run: hooked("ldconfig", "-r", glibcRoot), Prepare: func() error {
		return errors.Join(fresh(), put(glibcRoot+"/etc/ld.so.conf.d/00-metax.conf", libraryDir+"\n"))
	}}
	ready := func(name string, argv ...string) stopwatch.Case {
		return stopwatch.Case{Name: name, Prepare: fresh, Run: hooked(argv...)}
	}
	cases := []stopwatch.Case{
		bare,
		ready("theirs/ldcache", append(peer, folder...)...),
		ready("theirs/links", append([]string{"/e2e/nvidia-cdi-hook"}, links...)...),
	}
	for _, from := range builds() {
		program := from.dir + "metax-hook"
		cases = append(cases,
			ready(from.prefix+"ours/ldcache", append([]string{program, "update-ldcache"}, folder...)...),
			ready(from.prefix+"ours/links", append([]string{program}, links...)...))
	}
	r, err := timed(hookRounds, cases...)
	if err != nil {
		return nil, err
	}
	set := figure.Set{"hook/ldconfig": r.Wall("ldconfig")}
	for _, who := range []string{"ours", "theirs"} {
		set["hook/"+who+"/ldcache"] = r.Added(who+"/ldcache", "ldconfig")
		set["hook/"+who+"/links"] = r.Wall(who + "/links")
	}
	set["hook/ours/ldcache/memory"], err = peak(fresh, state(), append([]string{"/e2e/metax-hook", "update-ldcache"}, folder...)...)
	return set, err
}

// state is the state that a runtime sends to a hook.
func state() []byte {
	return fmt.Appendf(nil, `{"ociVersion": "1.0.2", "id": %q, "status": "creating", "pid": %d, "bundle": %q}`, container, os.Getpid(), bundleDir)
}

// hooked runs a hook as a runtime does, with the container's state on its standard
// input, and checks that it has done something.
func hooked(argv ...string) func() (int64, error) {
	return func() (int64, error) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Stdin = bytes.NewReader(state())
		cmd.Dir = glibcRoot
		said, err := cmd.CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("run %q: %w\n%s", argv, err, said)
		}
		cache, err := os.ReadFile(glibcRoot + cachePath)
		_, linked := os.Lstat(glibcRoot + "/usr/lib/links/libmc59.so.1")
		if !bytes.Contains(cache, []byte("libmc59.so")) && linked != nil {
			return 0, fmt.Errorf("%q has done nothing (%v)\n%s", argv, err, said)
		}
		return 0, nil
	}
}
