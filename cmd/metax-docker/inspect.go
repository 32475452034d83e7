package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/image"
)

// inspection bounds what looking into an image may take, pulling aside.
const inspection = time.Minute

// enginePatience is how long a daemon may be silent while it makes a container.
const enginePatience = 30 * time.Second

// versionLabels are the labels of an image that tell the version of its MXMACA,
// unless the configuration names others.
var versionLabels = []string{"metax-tech.com/maca.version"}

// facts are what the image of the line has of MXMACA. One that is not here, or is
// to be pulled in any case, is pulled before.
func (w *wrapper) facts(cmd dockerargs.Command, socket string) (image.Facts, error) {
	// Who interrupts it leaves nothing behind in the engine.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	labels := w.settings.MACA.Labels
	if labels == nil {
		labels = versionLabels
	}
	pull, _ := cmd.Flags.Last("pull")
	if pull == "always" && !cmd.Options.DryRun {
		if err := w.pull(cmd); err != nil {
			return image.Facts{}, err
		}
	}
	source := w.images(cmd, socket)
	cache := image.Cache{Dir: w.cacheDir("images")}
	read := func() (image.Facts, error) {
		ctx, cancel := context.WithTimeout(ctx, inspection)
		defer cancel()
		return image.Read(ctx, source, cmd.Image, cache, labels)
	}
	facts, err := read()
	if errors.Is(err, image.ErrNotFound) && pull != "never" {
		if cmd.Options.DryRun {
			return image.Facts{}, fmt.Errorf("%w; a dry run pulls none: docker pull it first", err)
		}
		if err := w.pull(cmd); err != nil {
			return image.Facts{}, err
		}
		facts, err = read()
	}
	if errors.Is(err, image.ErrUninspectable) {
		err = fmt.Errorf("%w; where the image has no MXMACA, give it the CDI device instead: --device %s=host", err, macaKind)
	}
	if err == nil && facts.Uncached != nil {
		w.warn("the image will be looked at again the next time: %v", facts.Uncached)
	}
	return facts, err
}

// images is the engine behind the client.
func (w *wrapper) images(cmd dockerargs.Command, socket string) image.Source {
	platform, _ := cmd.Flags.Last("platform")
	switch w.engine() {
	case "docker":
		return image.Docker{Daemon: dockerd.Daemon{Socket: socket, Patience: enginePatience}, Platform: platform}
	case "podman":
		return image.Podman{Dir: w.cacheDir("podman"), Run: func(ctx context.Context, args ...string) ([]byte, error) {
			return w.ask(ctx, append(cmd.GlobalWords(), args...))
		}}
	}
	return image.Nobody{Engine: w.settings.DockerClient.Text}
}

// ask runs the client and returns what it prints; an error has the last line that
// it says of it.
func (w *wrapper) ask(ctx context.Context, args []string) ([]byte, error) {
	if w.missing != nil {
		return nil, w.missing
	}
	var out, said bytes.Buffer
	client := exec.CommandContext(ctx, w.client, args...)
	client.Env, client.Stdout, client.Stderr = w.Env, &out, &said
	if err := w.Run(client); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("%s %s: %w: %.300s", filepath.Base(w.client), strings.Join(args, " "), err, lines[len(lines)-1])
	}
	return out.Bytes(), nil
}

// pull has the client pull the image, and shows what it says as docker run does.
func (w *wrapper) pull(cmd dockerargs.Command) error {
	if w.missing != nil {
		return w.missing
	}
	args := append(cmd.GlobalWords(), "pull")
	if platform, ok := cmd.Flags.Last("platform"); ok {
		args = append(args, "--platform="+platform)
	}
	if cmd.Flags.True("quiet") {
		args = append(args, "--quiet")
	}
	client := exec.Command(w.client, append(args, cmd.Image)...)
	client.Env, client.Stdout, client.Stderr = w.Env, w.Err, w.Err
	if err := w.Run(client); err != nil {
		return fmt.Errorf("pull %s: %w", cmd.Image, err)
	}
	return nil
}

// cacheDir is a directory of the user's for what is worth keeping; empty if it is
// not said where that is.
func (w *wrapper) cacheDir(name string) string {
	base := w.Getenv("XDG_CACHE_HOME")
	if home := w.Getenv("HOME"); base == "" && home != "" {
		base = filepath.Join(home, ".cache")
	}
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(base, "metax-container-toolkit", name)
}
