package capture

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

// config is where configurations stand: a file, or the last element "*" for the
// files of a directory.
type config struct {
	path   string
	format scrub.Format
}

var configs = []config{
	{"/etc/docker/daemon.json", scrub.JSON},
	{"/etc/containerd/config.toml", scrub.TOML},
	{"/etc/containerd/conf.d/*", scrub.TOML},
	{"/etc/containerd/config.d/*", scrub.TOML},
	{"/etc/nerdctl/nerdctl.toml", scrub.TOML},
	{"/etc/rancher/k3s/config.yaml", scrub.YAML},
	{"/var/lib/rancher/k3s/agent/etc/containerd/*", scrub.TOML},
	{"/var/lib/rancher/rke2/agent/etc/containerd/*", scrub.TOML},
	{"/etc/crio/crio.conf", scrub.TOML},
	{"/etc/crio/crio.conf.d/*", scrub.TOML},
	{"/usr/share/containers/containers.conf", scrub.TOML},
	{"/etc/containers/containers.conf", scrub.TOML},
	{"/etc/containers/containers.conf.d/*", scrub.TOML},
	{"/usr/share/containers/oci/hooks.d/*", scrub.JSON},
	{"/etc/containers/oci/hooks.d/*", scrub.JSON},
	{"/etc/cdi/*", scrub.JSON},
	{"/var/run/cdi/*", scrub.JSON},
	{"/etc/metax-container-toolkit/config.toml", scrub.OwnTOML},
	{"/run/metax-container-toolkit/node.json", scrub.OwnJSON},
	{leases, scrub.OwnJSON},
}

// leases is the state of who holds GPUs.
const leases = "/run/metax-container-toolkit/leases/leases.json"

// maxOwn is the size in bytes of what the toolkit writes of a thousand GPUs.
const maxOwn = 4 << 20

// maxConfigs bounds the files of one directory.
const maxConfigs = 200

// configurations takes those of engines, CDI specs, and the toolkit's own files. A
// directory that is there is told from one that is not.
func (t *taker) configurations() {
	if text, err := t.read(leases, maxOwn); err == nil {
		t.learn([]byte(text))
	}
	for _, c := range configs {
		dir, last := path.Dir(c.path), path.Base(c.path)
		if !t.Root.Exists(dir) {
			continue
		}
		t.dir(dir)
		if last != "*" {
			t.config(c.path, c.format)
			continue
		}
		names := t.names(dir)
		if len(names) > maxConfigs {
			t.left["configuration files, of directories with very many"] += len(names) - maxConfigs
			names = names[:maxConfigs]
		}
		for _, name := range names {
			t.config(path.Join(dir, name), c.format)
		}
	}
}

func (t *taker) config(p string, format scrub.Format) {
	switch ext := path.Ext(p); {
	case format == scrub.OwnJSON || format == scrub.OwnTOML:
	case ext == ".yaml" || ext == ".yml":
		format = scrub.YAML
	case ext == ".json":
		format = scrub.JSON
	case ext == ".toml" || ext == ".conf" || strings.HasSuffix(p, ".toml.tmpl"):
		format = scrub.TOML
	default:
		t.left["files with other endings than configurations have"]++
		return
	}
	most := maxConfig
	if format == scrub.OwnJSON || strings.Contains(p, "/cdi/") {
		most = maxOwn
	}
	t.file(p, most, func(s *scrub.Scrubber, text string) string { return s.Config(format, text) })
}

// learn takes from the state of leases how containers and people are called, by which
// other texts call them.
func (t *taker) learn(text []byte) {
	type user struct{ Name string }
	type lease struct {
		Container string
		User      *user
	}
	var state struct {
		Leases, Queue []lease
		Seen          map[string]struct{ Name, Image string }
	}
	if json.Unmarshal(text, &state) != nil {
		return // and is masked
	}
	for _, l := range append(state.Leases, state.Queue...) {
		if l.User != nil {
			t.Scrub.Learn(scrub.User, l.User.Name)
		}
		if len(l.Container) > shortID {
			t.Scrub.Learn(scrub.Container, l.Container[:shortID])
		}
	}
	for key, known := range state.Seen {
		t.Scrub.Learn(scrub.Name, known.Name)
		t.Scrub.Learn(scrub.Image, known.Image)
		if id := key[strings.LastIndexByte(key, '/')+1:]; len(id) > shortID {
			t.Scrub.Learn(scrub.Container, id[:shortID])
		}
	}
}

// shortID is the length of a container's ID as engines print it for people.
const shortID = 12
