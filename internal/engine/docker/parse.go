package docker

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// The keys that are looked at.
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

// mark is the byte order mark of UTF-8, which dockerd skips from 23.0 on.
const mark = "\uFEFF"

// file is a daemon.json that dockerd can read.
type file struct {
	mark string // before the text, or ""
	text []byte
	root jsontree.Value // an object, null or, in a blank text, absent
}

// parse reads a text, and checks the kinds of the values that are looked at.
func parse(text []byte, v engine.Version) (file, error) {
	f := file{text: text}
	if rest, ok := bytes.CutPrefix(text, []byte(mark)); ok {
		if v.Before(23, 0) {
			return f, &engine.SyntaxError{Line: 1, Column: 1, Err: errors.New("a byte order mark, which dockerd cannot read before 23.0")}
		}
		f.mark, f.text = mark, rest
	}
	if len(bytes.TrimSpace(f.text)) == 0 {
		return f, nil
	}
	tree, err := jsontree.Parse(f.text)
	if err != nil {
		return f, f.explain(err)
	}
	f.root = tree.Root()
	return f, f.check()
}

// at is an error at an offset of the text.
func (f file) at(offset int, err error) error {
	line, column := engine.Position(f.text, offset)
	if line == 1 {
		column += len(f.mark)
	}
	return &engine.SyntaxError{Line: line, Column: column, Err: err}
}

// want checks that a value is of a kind, null or not there.
func (f file) want(v jsontree.Value, kind jsontree.Kind, name string) error {
	if k := v.Kind(); k == kind || k == jsontree.Null || k == jsontree.Absent {
		return nil
	}
	start, _ := v.Span()
	return f.at(start, fmt.Errorf("%s is %v, where dockerd expects %v", name, v.Kind(), kind))
}

func (f file) check() error {
	if err := f.want(f.root, jsontree.Object, "the whole"); err != nil {
		return err
	}
	for _, err := range []error{
		f.want(f.root.At(runtimesKey), jsontree.Object, runtimesKey),
		f.want(f.root.At(defaultKey), jsontree.String, defaultKey),
		f.want(f.root.At(featuresKey), jsontree.Object, featuresKey),
		f.want(f.root.At(featuresKey, cdiKey), jsontree.Bool, featuresKey+"."+cdiKey),
		f.wantStrings(dirsKey), f.wantStrings(execKey), f.checkRuntimes(),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f file) wantStrings(name string) error {
	list := f.root.At(name)
	if err := f.want(list, jsontree.Array, name); err != nil {
		return err
	}
	for e := range list.Elements() {
		if err := f.want(e, jsontree.String, "an element of "+name); err != nil {
			return err
		}
	}
	return nil
}

func (f file) checkRuntimes() error {
	for name, entry := range f.root.At(runtimesKey).Members() {
		if err := f.want(entry, jsontree.Object, fmt.Sprintf("the runtime %q", name.Text())); err != nil {
			return err
		}
		seen := map[string]string{}
		for key, v := range entry.Members() {
			folded := fold(key.Text())
			if folded != pathKey && folded != typeKey {
				continue
			}
			if err := f.want(v, jsontree.String, fmt.Sprintf("%s of the runtime %q", key.Text(), name.Text())); err != nil {
				return err
			}
			start, _ := key.Span()
			if other, twice := seen[folded]; twice {
				return f.at(start, fmt.Errorf("%q and %q are the same key to dockerd", other, key.Text()))
			}
			seen[folded] = key.Text()
		}
	}
	return nil
}

// fold returns the key of a runtime that dockerd reads a name as: there it does
// not care about case.
func fold(name string) string {
	for _, key := range []string{pathKey, typeKey} {
		if strings.EqualFold(name, key) {
			return key
		}
	}
	return name
}

// of returns the value of a runtime's key, and the key as it is written.
func of(entry jsontree.Value, key string) (name string, v jsontree.Value) {
	for name, v := range entry.Members() {
		if fold(name.Text()) == key {
			return name.Text(), v
		}
	}
	return key, jsontree.Value{}
}
