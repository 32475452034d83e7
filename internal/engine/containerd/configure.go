package containerd

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/tomledit"
)

// Configure returns what has to become of the main file and the drop-in. Settings
// that the files leave to containerd are left to it, so that an upgrade brings its
// own; but where Dump has runtimes or values that the files do not explain, and the
// whole table is copied, it is copied from there.
//
// Beside errors of the files there are engine.ErrForeign, ErrVersion,
// ErrOverridden and ErrByHand.
func Configure(in Input, s engine.Setup) ([]engine.Change, error) {
	if err := in.supported(); err != nil {
		return nil, err
	}
	var changes []engine.Change
	var err error
	switch in.Layout {
	case Template:
		return in.configureTemplate(s)
	case InPlace:
		changes, err = in.configureInPlace(s)
	default:
		changes, err = in.configureDropIn(s)
	}
	if err != nil {
		return nil, err
	}
	if err := in.with(changes).prove(s); err != nil {
		return nil, err
	}
	return changes, nil
}

// supported tells why containerd does not see the settings of a file, if it does
// not.
func (in Input) supported() error {
	if in.Layout == Template {
		return nil
	}
	sources, err := in.others()
	if err != nil {
		return err
	}
	for _, s := range sources {
		if s.version > newest(in.Version) {
			return fmt.Errorf("check %s: version %d: %w", s.path, s.version, ErrNewer)
		}
		if in.oneVersion() && s.version < 2 && (in.Layout == InPlace || tableAt(s.tree, "plugins", plugin(1)) != nil) {
			return fmt.Errorf("check %s: %w", s.path, ErrVersion)
		}
	}
	return nil
}

func (in Input) configureDropIn(s engine.Setup) ([]engine.Change, error) {
	text, err := in.dropIn(s)
	if err != nil {
		return nil, err
	}
	if in.DropIn != nil && !ours(in.DropIn) {
		if text == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("write %s: %w", in.dropInPath(), engine.ErrForeign)
	}
	changes := change(nil, in.dropInPath(), in.DropIn, text)
	if text == nil || in.Layout == Merged {
		return changes, nil
	}
	main, err := in.main()
	if err != nil {
		return nil, err
	}
	return change(changes, in.path(), in.Main, main), nil
}

// change appends what becomes of a file, if anything does.
func change(changes []engine.Change, path string, before, after []byte) []engine.Change {
	if bytes.Equal(before, after) && (before == nil) == (after == nil) {
		return changes
	}
	return append(changes, engine.Change{Path: path, Before: before, After: after, Mode: 0o644})
}

// others are the files that count without our drop-in.
func (in Input) others() ([]source, error) {
	sources, err := in.load()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(sources, func(s source) bool { return s.path == in.dropInPath() }), nil
}

// dropIn returns the text of our file, nil if there is nothing to say.
func (in Input) dropIn(s engine.Setup) ([]byte, error) {
	all, err := in.load()
	if err != nil {
		return nil, err
	}
	sources := slices.DeleteFunc(slices.Clone(all), func(s source) bool { return s.path == in.dropInPath() })
	version := in.version(sources)
	base, note := in.table(sources), ""
	whole := in.Layout != Merged && !deep(in.Version, version)
	if whole && in.Dump != nil {
		dumped, err := in.unexplained(all, base, s)
		if err != nil {
			return nil, err
		}
		if dumped != nil {
			base, note = dumped, dumpNote
		}
	}
	t := in.wanted(base, version, s)
	if len(t) == 0 {
		return nil, nil
	}
	if whole {
		t = completed(base, t)
		if note == "" && base != nil {
			note = "# The settings of others are those of the files before this one.\n"
		}
	}
	head := "# " + engine.Marker + ", which makes it anew and takes it away.\n" + note
	tree := map[string]any{"version": version, "plugins": map[string]any{plugin(version): t}}
	return append([]byte(head), tomledit.Render(tree)...), nil
}

// completed is the whole table for a containerd that knows no merging. The runtime
// that it has by itself goes when a file names any, and is named then too.
func completed(base, ours map[string]any) map[string]any {
	out := copied(base)
	if out == nil {
		out = map[string]any{}
	}
	merge(out, ours)
	runtimes := tableAt(out, "containerd", "runtimes")
	for name, e := range tableAt(ours, "containerd", "runtimes") {
		runtimes[name] = e // not what somebody had under our name
		if len(runtimes) == 1 {
			runtimes["runc"] = map[string]any{"runtime_type": runcType}
		}
	}
	return out
}

// main returns the main file with our drop-in imported. The whole directory is, but
// not where files lie in it that nothing imports so far: they are not ours to wake.
func (in Input) main() ([]byte, error) {
	sources, err := in.others()
	if err != nil {
		return nil, err
	}
	pattern, narrow := in.patterns()
	for _, f := range in.Imported {
		if f.Path != in.dropInPath() && matches(pattern, f.Path) && !imported(sources, in.Version, f.Path) {
			pattern = narrow
			break
		}
	}
	return in.importing(pattern)
}

// importing is the main file with a pattern imported, if our drop-in is not yet.
func (in Input) importing(pattern string) ([]byte, error) {
	if in.Main == nil {
		return fmt.Appendf(nil, "version = %d\nimports = [%s]\n", in.version(nil), tomledit.Literal(pattern)), nil
	}
	sources, err := in.others()
	if err != nil {
		return nil, err
	}
	if imported(sources, in.Version, in.dropInPath()) {
		return in.Main, nil
	}
	doc := sources[0].doc
	if err := doc.Append(pattern, "imports"); err != nil {
		return nil, fmt.Errorf("edit %s: %w", in.path(), err)
	}
	return doc.Bytes(), nil
}

// with is the input as it is after some changes.
func (in Input) with(changes []engine.Change) Input {
	for _, c := range changes {
		switch c.Path {
		case in.path():
			in.Main = c.After
		case in.dropInPath():
			in.DropIn = c.After
		}
	}
	return in
}

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

// holds tells whether a table has every value of another one.
func holds(t, part map[string]any) bool {
	for key, v := range part {
		sub, ok := v.(map[string]any)
		if ok {
			under, is := t[key].(map[string]any)
			if (!is && len(sub) > 0) || !holds(under, sub) {
				return false
			}
			continue
		}
		if tomledit.Literal(t[key]) != tomledit.Literal(v) {
			return false
		}
	}
	return true
}
