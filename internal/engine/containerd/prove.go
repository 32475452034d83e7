package containerd

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// prove checks that containerd comes to what is wanted; a file that it reads later
// can be in the way.
func (in Input) prove(s engine.Setup) error {
	if in.Layout == Merged {
		return nil
	}
	sources, err := in.load()
	if err != nil {
		return err
	}
	t := in.table(sources)
	state := state(t)
	before, err := in.others()
	if err != nil {
		return err
	}
	missing := in.wanted(in.table(before), in.version(before), s)
	delete(tableAt(missing, "containerd"), "runtimes")
	if (s.Runtime == "" || state.Runtimes[s.Name] == s.Runtime) && holds(t, missing) {
		return nil
	}
	at := slices.IndexFunc(sources, func(s source) bool { return s.path == in.dropInPath() })
	for _, s := range sources[max(at, 0)+1:] {
		if tableAt(s.tree, "plugins", in.plugin(s, sources)) != nil {
			return fmt.Errorf("check %s: %w", s.path, ErrOverridden)
		}
	}
	return fmt.Errorf("check %s: %w", in.path(), ErrOverridden)
}

// holds reports whether a table has every value of another one.
func holds(t, part map[string]any) bool {
	both := map[string]any{}
	merge(both, t)
	merge(both, part)
	return same(both, t)
}
