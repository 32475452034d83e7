package containerd

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// names are those that every containerd can read: the TOML of 1.x knows no quotes in
// a quoted key.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Configure returns what has to become of the main file and the drop-in. Settings
// that the files leave to containerd are left to it, so that an upgrade brings its
// own; but where Dump has runtimes or values that the files do not explain, and the
// whole table is copied, it is copied from there.
//
// Beside errors of the files there are engine.ErrForeign, ErrVersion,
// ErrOverridden and ErrByHand.
func Configure(in Input, s engine.Setup) ([]engine.Change, error) {
	if s.Runtime != "" && s.Name == "runc" {
		return nil, fmt.Errorf("set up runtime %q: containerd keeps this name for its own; take another", s.Name)
	}
	if s.Runtime != "" && !names.MatchString(s.Name) {
		return nil, fmt.Errorf("set up runtime %q: a name is made of letters, digits, dots, dashes and underscores", s.Name)
	}
	if err := in.supported(); err != nil {
		return nil, err
	}
	var changes []engine.Change
	var err error
	switch in.Layout {
	case Template:
		text, err := in.template(s)
		if err != nil {
			return nil, err
		}
		return engine.Changed(in.path(), in.Main, text), nil
	case InPlace:
		var text []byte
		text, err = in.inPlace(s)
		changes = engine.Changed(in.path(), in.Main, text)
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
	changes := engine.Changed(in.dropInPath(), in.DropIn, text)
	if text == nil || in.Layout == Merged {
		return changes, nil
	}
	main, err := in.main()
	if err != nil {
		return nil, err
	}
	return append(changes, engine.Changed(in.path(), in.Main, main)...), nil
}

// others are the files that count without our drop-in.
func (in Input) others() ([]source, error) {
	sources, err := in.load()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(sources, func(s source) bool { return s.path == in.dropInPath() }), nil
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
