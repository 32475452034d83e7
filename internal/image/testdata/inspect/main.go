// SPDX-License-Identifier: Apache-2.0

// Command inspect prints the facts about an image's MXMACA as JSON. The end-to-end tests
// run it beside real engines.
//
//	inspect [options] ENGINE IMAGE
//
// ENGINE is podman, or the path of a docker daemon's socket.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/image"
)

// Exit codes of the errors that have a type.
const (
	exitNotFound      = 3
	exitUninspectable = 4
)

func main() {
	err := run()
	switch {
	case err == nil:
		return
	case errors.Is(err, image.ErrNotFound):
		defer os.Exit(exitNotFound)
	case errors.Is(err, image.ErrUninspectable):
		defer os.Exit(exitUninspectable)
	default:
		defer os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "inspect:", err)
}

func run() error {
	cache := flag.String("cache", "", "keep facts below this directory")
	label := flag.String("label", "", "a label that has a version")
	platform := flag.String("platform", "", "docker's --platform")
	stall := flag.Bool("stall", false, "open the image, say so, and wait for a signal")
	flag.Parse()
	if flag.NArg() != 2 {
		return errors.New("want ENGINE IMAGE")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var source image.Source
	if engine := flag.Arg(0); engine == "podman" {
		source = image.Podman{Run: podman, Dir: *cache}
	} else {
		source = image.Docker{Daemon: dockerd.Daemon{Socket: engine, Timeout: 30 * time.Second}, Platform: *platform}
	}
	if *stall {
		source = stalled{source}
	}
	began := time.Now()
	facts, err := image.Read(ctx, source, flag.Arg(1), image.Cache{Dir: *cache}, strings.Fields(*label))
	if err != nil {
		return err
	}
	if facts.Uncached != nil {
		return facts.Uncached
	}
	return json.NewEncoder(os.Stdout).Encode(struct {
		image.Facts
		Labels       map[string]string
		Milliseconds float64
	}{facts, facts.Labels, float64(time.Since(began).Microseconds()) / 1000})
}

func podman(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "podman", args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("podman %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	return out, err
}

// stalled keeps an image open.
type stalled struct{ image.Source }

func (s stalled) Open(ctx context.Context, c image.Config) (image.OpenImage, error) {
	o, err := s.Source.Open(ctx, c)
	return stalledFiles{o}, err
}

type stalledFiles struct{ image.OpenImage }

func (stalledFiles) Stat(ctx context.Context, _ string) (image.Stat, error) {
	fmt.Println("open")
	<-ctx.Done()
	return image.Stat{}, context.Cause(ctx)
}
