package containerd

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// Remove returns what has to become of the files for containerd to be as it was: only
// what is ours goes. Of the setup the name counts, and in place the directories. Where
// Original is not known the import of our directory stays: it may be
// the vendor's, and imports nothing.
func Remove(in Input, s engine.Setup) ([]engine.Change, error) {
	var changes []engine.Change
	if in.DropIn != nil && ours(in.DropIn) {
		changes = engine.Changed(in.dropInPath(), in.DropIn, nil)
	}
	if in.Main == nil {
		return changes, nil
	}
	var main []byte
	var err error
	switch in.Layout {
	case Merged:
		return changes, nil
	case Template:
		main, err = in.removeTemplate()
	case InPlace:
		main, err = in.removeInPlace(s)
	default:
		main, err = in.unimport()
	}
	if err != nil {
		return nil, err
	}
	return append(changes, engine.Changed(in.path(), in.Main, main)...), nil
}

// unimport is the main file without the import that was not there originally.
func (in Input) unimport() ([]byte, error) {
	main, err := in.mainSource()
	if err != nil || !in.HasOriginal {
		return in.Main, err
	}
	var imports any
	if in.Original != nil {
		original, err := parse(File{in.path(), in.Original})
		if err != nil {
			return nil, err
		}
		if imported([]source{original}, in.Version, in.dropInPath()) {
			return in.Main, nil
		}
		imports = original.tree["imports"]
	}
	wide, narrow := in.patterns()
	for _, pattern := range []string{wide, narrow} {
		if err := main.doc.Drop(pattern, "imports"); err != nil {
			return nil, fmt.Errorf("edit %s: %w", in.path(), err)
		}
	}
	if left, _ := main.doc.Get("imports"); imports == nil && same(left, []any{}) {
		if err := main.doc.Delete("imports"); err != nil {
			return nil, fmt.Errorf("edit %s: %w", in.path(), err)
		}
	}
	left := main.doc.Tree()
	if delete(left, "version"); in.Original == nil && len(left) == 0 {
		return nil, nil
	}
	return append([]byte{}, main.doc.Bytes()...), nil // an empty file is one
}
