// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// Remove returns the changes that take our settings out of the files and leave all
// others, whatever the setup is. Where Original is unknown it keeps the import of the
// drop-in directory: the vendor may have written it, and it does no harm.
func Remove(in Input, _ engine.Setup) ([]engine.Change, error) {
	var changes []engine.Change
	if in.DropIn != nil && isOurs(in.DropIn) {
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
	default:
		main, err = in.removeImport()
	}
	if err != nil {
		return nil, err
	}
	return append(changes, engine.Changed(in.configPath(), in.Main, main)...), nil
}

// removeImport is the main file without the import of our drop-in, unless the original
// had it.
func (in Input) removeImport() ([]byte, error) {
	main, err := in.mainSource()
	if err != nil || !in.HasOriginal {
		return in.Main, err
	}
	var imports any
	if in.Original != nil {
		original, err := parseConfig(File{in.configPath(), in.Original})
		if err != nil {
			return nil, err
		}
		if anyImports([]source{original}, in.Version, in.dropInPath()) {
			return in.Main, nil
		}
		imports = original.tree["imports"]
	}
	wide, narrow := in.importPatterns()
	for _, pattern := range []string{wide, narrow} {
		if err := main.doc.Drop(pattern, "imports"); err != nil {
			return nil, fmt.Errorf("edit %s: %w", in.configPath(), err)
		}
	}
	if left, _ := main.doc.Get("imports"); imports == nil && equalTOML(left, []any{}) {
		if err := main.doc.Delete("imports"); err != nil {
			return nil, fmt.Errorf("edit %s: %w", in.configPath(), err)
		}
	}
	left := main.doc.Tree()
	if delete(left, "version"); in.Original == nil && len(left) == 0 {
		return nil, nil
	}
	return append([]byte{}, main.doc.Bytes()...), nil // nil would mean that the file goes
}
