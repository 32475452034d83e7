// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/dockerd"
	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/internal/inject"
)

// inspectTimeout is how long the inspection of an image may take, without pulling it.
const inspectTimeout = time.Minute

// engineTimeout is how long a daemon may be silent while it makes a container.
const engineTimeout = 30 * time.Second

// reader is image.Read, or one that reads less.
type reader func(context.Context, image.Source, string, image.Cache, []string) (image.Facts, error)

// imageFacts reads what the command's image contains. It first pulls an image that is
// missing, or if --pull requests it.
func (s *session) imageFacts(cmd dockerargs.Command, from reader) (image.Facts, error) {
	// An interrupt leaves nothing behind in the engine.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	pull, _ := cmd.Flags.Last("pull")
	if (pull == "always" || pull == "newer") && !cmd.Options.DryRun {
		if err := s.pull(ctx, cmd); err != nil {
			return image.Facts{}, err
		}
	}
	source, client := s.imageSource(cmd), s.client.name
	read := func() (image.Facts, error) {
		ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
		defer cancel()
		return from(ctx, source, cmd.Image, imageCache(s.Getenv), s.settings.MACA.Labels)
	}
	facts, err := read()
	if errors.Is(err, image.ErrNotFound) && pull != "never" {
		if cmd.Options.DryRun {
			return image.Facts{}, fmt.Errorf("%w; a dry run does not pull it; run: %s pull %s", err, client, cmd.Image)
		}
		if err := s.pull(ctx, cmd); err != nil {
			return image.Facts{}, err
		}
		facts, err = read()
	}
	switch {
	case errors.Is(err, image.ErrNotFound):
		err = fmt.Errorf("%w; pull it (%s pull %s) or leave out --pull=never", err, client, cmd.Image)
	case err != nil && !errors.Is(err, image.ErrUninspectable):
		err = fmt.Errorf("inspect image %s: %w (check the engine: %s info)", cmd.Image, err, client)
	}
	if err == nil && facts.Uncached != nil {
		s.warn("cannot cache what was found in the image; the next run inspects it again: %v", facts.Uncached)
	}
	return facts, err
}

// imageSource returns the reader of images for the engine that the client uses.
func (s *session) imageSource(cmd dockerargs.Command) image.Source {
	platform, given := cmd.Flags.Last("platform")
	if !given {
		platform = s.Getenv("DOCKER_DEFAULT_PLATFORM")
	}
	switch s.client.engine() {
	case "docker":
		return image.Docker{Daemon: dockerd.Daemon{Socket: s.socket, Timeout: engineTimeout}, Platform: platform}
	case "podman":
		return image.Podman{Dir: noteDir, Run: func(ctx context.Context, args ...string) ([]byte, error) {
			if s.client.err != nil {
				return nil, s.client.err
			}
			return s.output(ctx, s.client.path, append(cmd.GlobalWords(), args...)...)
		}}
	}
	return image.Unreadable{Engine: s.client.name}
}

// pull makes the client pull the image, and shows its output as docker run does.
func (s *session) pull(ctx context.Context, cmd dockerargs.Command) error {
	if s.client.err != nil {
		return s.client.err
	}
	args := append(cmd.GlobalWords(), "pull")
	if platform, ok := cmd.Flags.Last("platform"); ok {
		args = append(args, "--platform="+platform)
	}
	if cmd.Flags.True("quiet") {
		args = append(args, "--quiet")
	}
	client := exec.CommandContext(ctx, s.client.path, append(args, cmd.Image)...)
	client.Cancel = func() error { return client.Process.Signal(unix.SIGTERM) }
	client.Env, client.Stdout, client.Stderr = s.Env, s.Err, s.Err
	if err := s.Run(client); err != nil {
		return fmt.Errorf("pull %s: %w", cmd.Image, err)
	}
	return nil
}

// dockersOwn reports whether docker is about to meet the same error, and says it
// better.
func dockersOwn(err error) bool {
	return errors.Is(err, dockerd.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, syscall.ECONNREFUSED)
}

// The directories of root's files: not below HOME, which with sudo may belong to another
// user.
const (
	rootCache = "/var/cache/metax-container-toolkit"
	// noteDir records which images Podman has mounted; it is empty after a boot. Podman
	// mounts images only for root.
	noteDir = "/run/metax-container-toolkit/podman"
)

// imageCache is where facts about images are stored: in the user's cache directory, or nowhere
// if that is unknown or belongs to another user.
func imageCache(getenv func(string) string) image.Cache {
	if os.Geteuid() == 0 {
		return image.Cache{Dir: filepath.Join(rootCache, "images")}
	}
	home, base := getenv("HOME"), getenv("XDG_CACHE_HOME")
	if base == "" && home != "" {
		base = filepath.Join(home, ".cache")
	} else {
		home = base
	}
	var stat unix.Stat_t
	if !filepath.IsAbs(base) || unix.Stat(home, &stat) != nil || int(stat.Uid) != os.Geteuid() {
		return image.Cache{}
	}
	return image.Cache{Dir: filepath.Join(base, "metax-container-toolkit", "images")}
}

// imageDescription is what is known of the line's image without opening it.
type imageDescription struct {
	facts image.Facts
	read  bool // whether the facts are about its files
}

// describeImage asks the daemon, in the background, for what suggestMACA needs, but not where
// it says nothing, or where it would cost more than one request.
func (s *session) describeImage(cmd dockerargs.Command) {
	o := cmd.Options.MACA
	if !s.Terminal || !cmd.TakesGPU || o.Given || o.Off || s.settings.MACA.Default.Text != "" || s.socket == "" ||
		!s.at.IsHost() {
		return
	}
	found := make(chan imageDescription, 1)
	s.image = found
	source, cache := s.imageSource(cmd), imageCache(s.Getenv)
	go func() {
		defer close(found)
		ctx, cancel := context.WithTimeout(context.Background(), inject.EngineTimeout)
		defer cancel()
		facts, read, err := image.Peek(ctx, source, cmd.Image, cache, s.settings.MACA.Labels)
		if err == nil {
			found <- imageDescription{facts, read}
		}
	}()
}

// suggestMACA suggests --maca to a person, if the host has an MXMACA and the image seems to
// have none.
func (s *session) suggestMACA() {
	if s.node.MACA == nil || s.image == nil {
		return
	}
	p, ok := <-s.image
	switch {
	case !ok || p.facts.MACA != nil || (!p.read && p.facts.MentionsMACA(s.settings.MACA.Labels)): // nothing to hint at
	case p.read:
		s.say("the image has no MXMACA. %s", macaHint)
	default:
		s.say("the image names no MXMACA of its own. %s", macaHint)
	}
}

// macaHint is how to get MXMACA, and how to get rid of the message.
const macaHint = "To use the host's: --maca (for every run, or to hide this line: maca.default in config.toml)"
