// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/lazyregexp"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// Comments around our part of a template.
const (
	blockBegin = "# " + engine.Marker + ": begin\n"
	blockEnd   = "# " + engine.Marker + ": end\n"
)

// baseTemplate is a template that changes nothing.
const baseTemplate = "{{ template \"base\" . }}\n"

var versionLine = lazyregexp.New(`(?m)^[ \t]*version[ \t]*=[ \t]*([0-9])`)

// templateText is a k3s template with our runtime at its end. It sets nothing else:
// TOML forbids to repeat a table that the generated part may have.
func (in Input) templateText(s engine.Setup) ([]byte, error) {
	version := in.templateVersion()
	before, after, err := in.cutBlock()
	if err != nil {
		return nil, err
	}
	if s.Runtime == "" {
		return in.removeTemplate()
	}
	switch {
	case s.Default:
		return nil, fmt.Errorf("edit %s: the default runtime %w: start k3s or rke2 with --default-runtime %s",
			in.configPath(), ErrByHand, s.Name)
	case s.CDI && !mergesTables(in.Version, version) && !in.Version.Before(1, 7):
		return nil, fmt.Errorf("edit %s: enable_cdi %w: upgrade to a release with containerd 2, or go without CDI",
			in.configPath(), ErrByHand)
	case s.SpecDirs != nil && !slices.Equal(s.SpecDirs, standardDirs) && !in.Version.Before(1, 7):
		return nil, fmt.Errorf("edit %s: cdi_spec_dirs %w: put specs into %s", in.configPath(), ErrByHand,
			strings.Join(standardDirs, " or "))
	}
	if in.Main == nil {
		before = []byte(baseTemplate)
	}
	quoted := regexp.QuoteMeta(s.Name)
	if regexp.MustCompile(`(?m)^[ \t]*\[.*\.runtimes\.["']?` + quoted +
		`["']?[.\]]`).Match(append(bytes.Clone(before), after...)) {
		return nil, fmt.Errorf("edit %s: runtime %q: %w", in.configPath(), s.Name, engine.ErrForeign)
	}
	runtimes := []string{"plugins", pluginName(version), "containerd", "runtimes", s.Name}
	block := "[" + toml.Key(runtimes...) + "]\n" +
		"runtime_type = " + toml.Literal(runcType) + "\n" +
		"container_annotations = " + toml.Literal(annotations) + "\n" +
		"[" + toml.Key(append(runtimes, "options")...) + "]\n" +
		"BinaryName = " + toml.Literal(strings.ReplaceAll(s.Runtime, "{{", `{{"{{"}}`)) + "\n" +
		"SystemdCgroup = {{ .SystemdCgroup }}\n"
	if len(before) > 0 && before[len(before)-1] != '\n' {
		before = append(before, '\n')
	}
	return slices.Concat(before, []byte(blockBegin+block+blockEnd), after), nil
}

// removeTemplate is the template without our part; nil if nothing else is left.
func (in Input) removeTemplate() ([]byte, error) {
	before, after, err := in.cutBlock()
	if err != nil || len(before)+len(after) == len(in.Main) {
		return in.Main, err
	}
	rest := slices.Concat(before, after)
	if (len(rest) == 0 || string(rest) == baseTemplate) && (!in.HasOriginal || in.Original == nil) {
		return nil, nil
	}
	return rest, nil
}

// cutBlock returns the template before and after our part; all of it is before if we
// have none.
func (in Input) cutBlock() (before, after []byte, err error) {
	before, after, ok := bytes.Cut(bytes.Clone(in.Main), []byte(blockBegin))
	if !ok {
		return before, nil, nil
	}
	_, after, ok = bytes.Cut(after, []byte(blockEnd))
	if !ok {
		line, _ := engine.Position(in.Main, len(before))
		return nil, nil, fmt.Errorf("edit %s: %w", in.configPath(),
			&engine.SyntaxError{Line: line, Column: 1, Err: fmt.Errorf("the end of the toolkit's part is missing")})
	}
	return before, after, nil
}

// templateVersion is the version of the configuration that a template generates: from
// its version line, else from its name.
func (in Input) templateVersion() int64 {
	if m := versionLine().FindSubmatch(in.Main); m != nil {
		return int64(m[1][0] - '0')
	}
	if strings.Contains(path.Base(in.configPath()), "-v3") {
		return 3
	}
	return 2
}
