package hookfile

import (
	"fmt"
	"path"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// Stage is when the hook runs.
type Stage string

// The stages. Precreate is Podman's alone: CRI-O does not start if a directory that
// it reads has a hook of a stage that it does not know.
const (
	Precreate Stage = "precreate"
	Prestart  Stage = "prestart"
)

// Name is the name of the file of a stage; it says which engines have the stage.
func (s Stage) Name() string {
	if s == Precreate {
		return "metax-precreate-podman.json"
	}
	return "metax-prestart-podman-crio.json"
}

// Text is the file of a stage for the metax-hook at a path.
func Text(stage Stage, hook string) []byte {
	return fmt.Appendf(nil, `{
  "version": "1.0.0",
  "hook": {
    "path": %s,
    "args": ["metax-hook", "%s"],
    "env": ["LC_ALL=C"],
    "timeout": 30
  },
  "when": {
    "annotations": {
      "^metax-tech\\.com/(gpu|sgpu|maca)$": ".+"
    }
  },
  "stages": ["%[2]s"]
}
`, jsontree.AppendString(nil, hook), stage)
}

// Ours reports whether a file is what some version of the toolkit writes.
func Ours(text []byte) bool {
	tree, err := jsontree.Parse(text)
	return err == nil && path.Base(tree.Root().At("hook", "path").Text()) == "metax-hook"
}

// Put is what becomes of a file that shall have a text, or that shall go if the
// text is nil. The error wraps engine.ErrForeign if it is somebody else's; one that
// shall go stays then.
func Put(f dropin.File, text []byte) ([]engine.Change, error) {
	switch {
	case f.Text == nil || Ours(f.Text):
		return engine.Changed(f.Path, f.Text, text), nil
	case text == nil:
		return nil, nil
	}
	return nil, fmt.Errorf("%s is %w: move it away, if nobody needs it", f.Path, engine.ErrForeign)
}
