// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

// source is the repository, as seen from this module.
const source = "../.."

// measure does all measurements, one after the other.
func measure() (Results, error) {
	machine, err := thisMachine()
	if err != nil {
		return Results{}, err
	}
	commit, err := commit("cmd", "internal", "go.mod", "go.sum")
	if err != nil {
		return Results{}, err
	}
	figures, err := programs()
	if err != nil {
		return Results{}, err
	}
	engine, err := withEngine("measure", "")
	if err != nil {
		return Results{}, err
	}
	benchmarks, err := inProcess()
	if err != nil {
		return Results{}, err
	}
	if err := errors.Join(figures.Add(engine.Figures), figures.Add(benchmarks)); err != nil {
		return Results{}, err
	}
	return Results{
		Machine: machine, Docker: engine.Docker, Shim: engine.Shim,
		Commit: commit, Date: time.Now().UTC().Format(time.DateOnly),
		Figures: figures, Busy: engine.Busy,
	}, nil
}

// peers are NVIDIA's shim and hook, which do to any CDI kind what ours do.
const peers = "github.com/NVIDIA/nvidia-container-toolkit/cmd/{nvidia-container-runtime,nvidia-cdi-hook}@" + peersVersion

const peersVersion = "v1.17.8"

// withEngine has test/e2e make a machine with a docker daemon, and cmd/inside measure there,
// with the programs that "make build" has made and those of peers. The part is what cmd/inside
// measures; before is a folder with the programs of another build, empty for none.
func withEngine(part, before string) (figure.Engine, error) {
	dir, err := os.MkdirTemp("", "metax-bench-")
	if err != nil {
		return figure.Engine{}, err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "bin")
	if err := os.CopyFS(bin, os.DirFS(filepath.Join(source, "bin"))); err != nil {
		return figure.Engine{}, fmt.Errorf("find what is to be measured: %w (make build)", err)
	}
	if before != "" {
		if err := os.CopyFS(filepath.Join(bin, "before"), os.DirFS(before)); err != nil {
			return figure.Engine{}, fmt.Errorf("find what to compare with: %w", err)
		}
	}
	if err := buildCrowd(bin); err != nil {
		return figure.Engine{}, err
	}
	// In C a part of them asks the driver, so they are built as their makers do, but stripped.
	install := exec.Command("bash", "-c", "go install -trimpath -ldflags='-s -w' "+peers)
	install.Env = append(os.Environ(), "GOBIN="+bin, "CGO_ENABLED=1", "GOFLAGS=")
	if _, err := output(install); err != nil {
		return figure.Engine{}, err
	}
	file := filepath.Join(dir, "engine.json")
	cmd := exec.Command("../e2e/run", "-run", "^TestBench$")
	cmd.Env = append(os.Environ(), "METAX_E2E_BIN="+bin, "METAX_E2E_BENCH="+file, "METAX_E2E_BENCH_PART="+part)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return figure.Engine{}, fmt.Errorf("measure with docker: %w", err)
	}
	return loadEngine(file)
}

// programs are the sizes of the programs that run in each start of a container.
func programs() (figure.Set, error) {
	set := figure.Set{}
	for _, name := range []string{"metax-runtime", "metax-hook"} {
		info, err := os.Stat(filepath.Join(source, "bin", name))
		if err != nil {
			return nil, fmt.Errorf("find what is to be measured: %w (make build)", err)
		}
		set["program/"+name+"/size"] = figure.Summarise(figure.Bytes, []float64{float64(info.Size())})
	}
	return set, nil
}

// commit names what is measured; "+" stands for changes of the paths that are in no commit.
func commit(paths ...string) (string, error) {
	head, err := output(exec.Command("git", "rev-parse", "--short=12", "HEAD"))
	if err != nil {
		return "", err
	}
	changes, err := output(exec.Command("git", append([]string{"status", "--porcelain", "--"}, paths...)...))
	if err != nil {
		return "", err
	}
	if head = strings.TrimSpace(head); changes != "" {
		head += "+"
	}
	return head, nil
}

// output runs a command in the repository's root.
func output(cmd *exec.Cmd) (string, error) {
	cmd.Dir, cmd.Stderr = source, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s: %w", strings.Join(cmd.Args, " "), err)
	}
	return string(text), nil
}
