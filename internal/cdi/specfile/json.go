package specfile

import (
	"io/fs"
	"math"
	"strings"
	"unicode/utf8"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// JSON reads and validates a spec that is plain JSON. It is not ok for anything
// that engines, which read all specs as YAML, might understand in another way or
// reject: no JSON, an unknown field, a key that occurs twice, null, a character
// that YAML knows differently. Only cdi.Decode can tell about such a spec.
func JSON(data []byte) (spec *specs.Spec, ok bool) {
	if len(data) == 0 || data[0] != '{' || len(data) > MaxSpec {
		return nil, false
	}
	tree, err := jsontree.Parse(data)
	if err != nil {
		return nil, false
	}
	_, end := tree.Root().Span()
	if strings.Trim(string(data[end:]), " \r\n") != "" {
		return nil, false
	}
	r := reader{text: string(data)}
	spec = &specs.Spec{}
	r.spec(tree.Root(), spec)
	if r.strange || Validate(spec) != nil {
		return nil, false
	}
	return spec, true
}

// reader reads values of the tree. What it did not expect makes it strange, and
// what it has read useless.
type reader struct {
	text    string
	strange bool
}

func (r *reader) want(v jsontree.Value, k jsontree.Kind) bool {
	if v.Kind() != k {
		r.strange = true
	}
	return v.Kind() == k
}

// object calls field for each member with a name, which has to be known.
func (r *reader) object(v jsontree.Value, field func(name string, v jsontree.Value) (known bool)) {
	if !r.want(v, jsontree.Object) {
		return
	}
	for key, value := range v.Members() {
		// YAML has a limit for keys, wants the colon in the same line, and means
		// something by "<<".
		_, end := key.Span()
		name := r.str(key)
		if r.text[end] != ':' || len(name) > 256 || name == "<<" || !field(name, value) {
			r.strange = true
			return
		}
	}
}

func (r *reader) str(v jsontree.Value) string {
	if !r.want(v, jsontree.String) {
		return ""
	}
	if v.Plain() { // one copy of the text serves all
		start, end := v.Span()
		return r.text[start+1 : end-1]
	}
	if !sameInYAML(v.Raw()) {
		r.strange = true
	}
	return v.Text()
}

// sameInYAML tells whether a string with its quotes says the same in YAML, which
// has no surrogate pairs, no escaped slash, folds at Unicode's line ends, and refuses some
// characters.
func sameInYAML(raw []byte) bool {
	for i := 0; i < len(raw); {
		c, size := utf8.DecodeRune(raw[i:])
		switch {
		case c == '\\' && raw[i+1] == 'u':
			if raw[i+2] == 'd' || raw[i+2] == 'D' {
				return false
			}
			size = 6
		case c == '\\' && raw[i+1] == '/':
			return false
		case c == '\\':
			size = 2
		case c == utf8.RuneError, c >= 0x7f && c < 0xa0, c == 0x2028, c == 0x2029, c > 0xd7ff:
			return false
		}
		i += size
	}
	return true
}

func (r *reader) number(v jsontree.Value, low, high int64) int64 {
	n, ok := v.Int()
	if !ok || n < low || n > high || n == 0 && v.Raw()[0] == '-' {
		r.strange = true
	}
	return n
}

func (r *reader) id(v jsontree.Value) uint32 { return uint32(r.number(v, 0, math.MaxUint32)) }

func (r *reader) boolean(v jsontree.Value) bool {
	r.want(v, jsontree.Bool)
	return v.True()
}

func list[T any](r *reader, v jsontree.Value, read func(jsontree.Value) T) []T {
	all := []T{}
	if r.want(v, jsontree.Array) {
		for e := range v.Elements() {
			all = append(all, read(e))
		}
	}
	return all
}

func (r *reader) texts(v jsontree.Value) []string { return list(r, v, r.str) }

func (r *reader) annotations(v jsontree.Value) map[string]string {
	all := map[string]string{}
	r.object(v, func(name string, v jsontree.Value) bool {
		all[name] = r.str(v)
		return true
	})
	return all
}

func (r *reader) mode(v jsontree.Value) *fs.FileMode {
	mode := fs.FileMode(r.id(v))
	return &mode
}
