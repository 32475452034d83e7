// SPDX-License-Identifier: Apache-2.0

package hookfile

import (
	"fmt"
	"path"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// Stage is the point of a container's start at which the hook runs.
type Stage string

// The stages. Precreate is only for Podman: CRI-O does not start if a directory that it
// reads has a hook of a stage that it does not know.
const (
	Precreate Stage = "precreate"
	Prestart  Stage = "prestart"
)

// Name is the file's name, which lists the engines that have the stage.
func (s Stage) Name() string {
	if s == Precreate {
		return "metax-precreate-podman.json"
	}
	return "metax-prestart-podman-crio.json"
}

// Text is the content of the file of a stage that runs the metax-hook at a path.
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

// Ours reports whether some version of the toolkit wrote a file.
func Ours(text []byte) bool {
	tree, err := jsontree.Parse(text)
	return err == nil && path.Base(tree.Root().At("hook", "path").Text()) == "metax-hook"
}

// Put returns the change that gives a file a text, or deletes it if the text is nil. If
// somebody else wrote the file, it stays: writing fails with an error that wraps
// engine.ErrForeign, deleting does nothing.
func Put(f dropin.File, text []byte) ([]engine.Change, error) {
	switch {
	case f.Text == nil || Ours(f.Text):
		return engine.Changed(f.Path, f.Text, text), nil
	case text == nil:
		return nil, nil
	}
	return nil, fmt.Errorf("%s is %w: move it away if it is not needed", f.Path, engine.ErrForeign)
}
