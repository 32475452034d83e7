// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

// leases is the state of who holds GPUs, of which nothing is kept.
const leases = "/run/metax-container-toolkit/leases/leases.json"

// maxOwn is the size in bytes of what the toolkit writes of a thousand GPUs.
const maxOwn = 4 << 20

// maxConfigs bounds the files of one directory.
const maxConfigs = 200

// captureConfigs takes those of engines, CDI specs, and the toolkit's own files, as far
// as they are kept. A directory that is there is told from one that is not.
func (t *taker) captureConfigs() {
	if text, err := t.readLimited(leases, maxOwn); err == nil {
		t.learn([]byte(text))
	}
	for _, p := range scrub.Files() {
		dir, last := path.Dir(p), path.Base(p)
		if !t.Root.Exists(dir) {
			continue
		}
		t.captureDir(dir)
		if last != "*" {
			t.config(p)
			continue
		}
		names := t.listNames(dir)
		if len(names) > maxConfigs {
			t.left["configuration files, of directories with very many"] += len(names) - maxConfigs
			names = names[:maxConfigs]
		}
		for _, name := range names {
			if slices.Contains(endings, path.Ext(name)) {
				t.config(path.Join(dir, name))
			} else {
				t.left["files with other endings than configurations have"]++
			}
		}
	}
}

// endings are those of configurations.
var endings = []string{".yaml", ".yml", ".json", ".toml", ".conf"}

func (t *taker) config(p string) {
	most := maxConfig
	if strings.Contains(p, "/cdi/") || strings.HasPrefix(p, "/run/") {
		most = maxOwn
	}
	t.captureFile(p, most, func(s *scrub.Scrubber, text string) string { return s.Keep(p, text) })
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
		return
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
