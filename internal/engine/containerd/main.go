package containerd

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/toml"
)

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
	if in.Main == nil {
		return fmt.Appendf(nil, "version = %d\nimports = [%s]\n", in.version(nil), toml.Literal(pattern)), nil
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
