// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// The keys that this package reads.
const (
	runtimesKey = "runtimes"
	pathKey     = "path"
	typeKey     = "runtimeType"
	defaultKey  = "default-runtime"
	featuresKey = "features"
	cdiKey      = "cdi"
	dirsKey     = "cdi-spec-dirs"
	execKey     = "exec-opts"
)

// byteOrderMark is that of UTF-8, which dockerd skips since 23.0.
const byteOrderMark = "\uFEFF"

// file is a daemon.json that dockerd can read.
type file struct {
	mark string // before the text, or ""
	text []byte
	root jsontree.Value // an object, null or, in a blank text, absent
}

// parseConfig parses a text and checks the kinds of the values that this package reads.
func parseConfig(text []byte, v engine.Version) (file, error) {
	f := file{text: text}
	if rest, ok := bytes.CutPrefix(text, []byte(byteOrderMark)); ok {
		if v.Before(23, 0) {
			return f, &engine.SyntaxError{
				Line: 1, Column: 1,
				Err: errors.New("the file begins with a byte order mark, which dockerd before 23.0 cannot read"),
			}
		}
		f.mark, f.text = byteOrderMark, rest
	}
	if len(bytes.TrimSpace(f.text)) == 0 {
		return f, nil
	}
	tree, err := jsontree.Parse(f.text)
	if err != nil {
		return f, f.explainSyntaxError(err)
	}
	f.root = tree.Root()
	return f, f.checkKinds()
}

// errorAt is an error with the position of an offset of the text.
func (f file) errorAt(offset int, err error) error {
	line, column := engine.Position(f.text, offset)
	if line == 1 {
		column += len(f.mark)
	}
	return &engine.SyntaxError{Line: line, Column: column, Err: err}
}

// checkKind fails unless a value has a kind, is null or is absent.
func (f file) checkKind(v jsontree.Value, kind jsontree.Kind, name string) error {
	if k := v.Kind(); k == kind || k == jsontree.Null || k == jsontree.Absent {
		return nil
	}
	start, _ := v.Span()
	return f.errorAt(start, fmt.Errorf("%s is %v, where dockerd expects %v", name, v.Kind(), kind))
}

func (f file) checkKinds() error {
	if err := f.checkKind(f.root, jsontree.Object, "the file"); err != nil {
		return err
	}
	for _, err := range []error{
		f.checkKind(f.root.At(runtimesKey), jsontree.Object, runtimesKey),
		f.checkKind(f.root.At(defaultKey), jsontree.String, defaultKey),
		f.checkKind(f.root.At(featuresKey), jsontree.Object, featuresKey),
		f.checkKind(f.root.At(featuresKey, cdiKey), jsontree.Bool, featuresKey+"."+cdiKey),
		f.checkStrings(dirsKey), f.checkStrings(execKey), f.checkRuntimes(),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f file) checkStrings(name string) error {
	list := f.root.At(name)
	if err := f.checkKind(list, jsontree.Array, name); err != nil {
		return err
	}
	for e := range list.Elements() {
		if err := f.checkKind(e, jsontree.String, "an element of "+name); err != nil {
			return err
		}
	}
	return nil
}

func (f file) checkRuntimes() error {
	for name, entry := range f.root.At(runtimesKey).Members() {
		if err := f.checkKind(entry, jsontree.Object, fmt.Sprintf("the runtime %q", name.Text())); err != nil {
			return err
		}
		seen := map[string]string{}
		for key, v := range entry.Members() {
			folded := canonicalKey(key.Text())
			if folded != pathKey && folded != typeKey {
				continue
			}
			if err := f.checkKind(v, jsontree.String, fmt.Sprintf("%s of the runtime %q", key.Text(), name.Text())); err != nil {
				return err
			}
			start, _ := key.Span()
			if other, twice := seen[folded]; twice {
				return f.errorAt(start, fmt.Errorf("%q and %q are the same key to dockerd", other, key.Text()))
			}
			seen[folded] = key.Text()
		}
	}
	return nil
}

// canonicalKey returns the key of a runtime that dockerd takes a name for: it ignores
// case there.
func canonicalKey(name string) string {
	for _, key := range []string{pathKey, typeKey} {
		if strings.EqualFold(name, key) {
			return key
		}
	}
	return name
}

// valueOf returns the value of a runtime's key, and the key as the file spells it.
func valueOf(entry jsontree.Value, key string) (name string, v jsontree.Value) {
	for name, v := range entry.Members() {
		if canonicalKey(name.Text()) == key {
			return name.Text(), v
		}
	}
	return key, jsontree.Value{}
}
