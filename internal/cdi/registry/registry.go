package registry

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi/specfile"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Registry resolves CDI device names.
type Registry struct {
	host *hostfs.Root
	dirs []string
}

// New returns a Registry of the spec directories dirs of the host, in ascending
// priority; none: those of engines.
func New(host *hostfs.Root, dirs ...string) *Registry {
	if len(dirs) == 0 {
		dirs = specfile.Dirs()
	}
	return &Registry{host: host, dirs: dirs}
}

// Resolve returns what the qualified names bring, in their order, and before the
// first device of a spec what the spec brings as a whole. If a name is not to be
// found, the error is an *UnresolvedError. A file that cannot be read matters only
// then; one that could define what is asked for and is not plain JSON is an error
// (ErrNotJSON) in any case, because an engine might read it. So is one that others
// may write, or put in its place (hostfs.ErrUntrusted), where a device comes from it.
func (r *Registry) Resolve(names []string) (*specs.ContainerEdits, error) {
	s := newSearch(names)
	for priority, dir := range r.dirs {
		if err := r.searchDir(s, dir, priority); err != nil {
			return nil, err
		}
	}
	var missing []string
	for _, name := range names {
		if s.found[name].device == nil || s.conflicts[name] != nil {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return nil, &UnresolvedError{missing, r.dirs, s.faults, s.conflicts}
	}
	for _, name := range names {
		if d := s.found[name]; d.distrust != nil {
			return nil, fmt.Errorf("read CDI spec %s: %w: chown root and chmod go-w what is named (metax-ctk cdi check)", d.file, d.distrust)
		}
	}
	return s.edits(names), nil
}

func (r *Registry) searchDir(s *search, dir string, priority int) error {
	files, err := r.host.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		s.faults = append(s.faults, Fault{dir, err})
		return nil
	}
	// What others may put there is theirs, whatever it looks like.
	distrust := r.host.Distrust(dir)
	for _, name := range files {
		if ext := path.Ext(name); ext != ".json" && ext != ".yaml" {
			continue
		}
		if err := r.searchFile(s, path.Join(dir, name), priority, distrust); err != nil {
			return err
		}
	}
	return nil
}

func (r *Registry) searchFile(s *search, file string, priority int, distrust error) error {
	read, err := r.host.ReadJudged(file)
	if err != nil {
		if info, stat := r.host.Stat(file); stat != nil || !info.Mode.IsDir() {
			s.faults = append(s.faults, Fault{file, err})
		}
		return nil
	}
	if !s.concerns(read.Data) {
		return nil
	}
	spec, ok := specfile.JSON(read.Data)
	if !ok {
		return fmt.Errorf("read CDI spec %s: %w", file, ErrNotJSON)
	}
	s.take(definition{spec: spec, file: file, priority: priority, distrust: cmp.Or(distrust, read.Distrust)})
	return nil
}
