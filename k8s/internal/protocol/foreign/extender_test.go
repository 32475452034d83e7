package foreign

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
)

func TestExtenderArgs(t *testing.T) {
	odd := func(i int) bool { return i%2 == 1 }
	for name, c := range map[string]struct{ text, want string }{
		"names":          {`{"Pod":{},"Nodes":null,"NodeNames":["a","b","c"]}`, `{"NodeNames":["b"]}`},
		"names, none":    {`{"Pod":{},"NodeNames":[]}`, `{"NodeNames":[]}`},
		"nodes":          {`{"Pod":{},"Nodes":{"metadata":{},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"later":{"x":1}}]}}`, `{"Nodes":{"items":[{"metadata":{"name":"b"},"later":{"x":1}}]}}`},
		"nodes, none":    {`{"Pod":{},"Nodes":{"items":[]}}`, `{"Nodes":{"items":[]}}`},
		"neither":        {`{"Pod":{}}`, `{}`},
		"no pod":         {`{"NodeNames":["a"]}`, "invalid question of a scheduler: it has no pod"},
		"empty":          {``, `invalid question of a scheduler: "unexpected end of JSON input"`},
		"another form":   {`[]`, `invalid question of a scheduler: "json: cannot unmarshal array into Go value of type foreign.ExtenderArgs"`},
		"not a node":     {`{"Pod":{},"Nodes":{"items":[1]}}`, `invalid question of a scheduler: "an item of Nodes is not a node"`},
		"not a quantity": {`{"Pod":{"spec":{"containers":[{"resources":{"limits":{"x":"y"}}}]}}}`, `invalid question of a scheduler: "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"`},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := ParseExtenderArgs([]byte(c.text))
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				text, err := json.Marshal(a.Keep(odd))
				if err != nil {
					t.Fatal(err)
				}
				got = string(text)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func FuzzParseExtenderArgs(f *testing.F) {
	f.Add([]byte(`{"Pod":{"spec":{"containers":[{"resources":{"limits":{"metax-tech.com/gpu":"4"}}}]}},"NodeNames":["a","b"]}`))
	f.Add([]byte(`{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}}, null]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := ParseExtenderArgs(text)
		if err != nil {
			if !errors.Is(err, ErrExtender) {
				t.Error(err)
			}
			return
		}
		all, err := json.Marshal(struct {
			Pod struct{}
			ExtenderFilterResult
		}{ExtenderFilterResult: a.Keep(func(int) bool { return true })})
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseExtenderArgs(all)
		if err != nil || !slices.Equal(a.Names(), again.Names()) {
			t.Errorf("%v became %v: %v", a.Names(), again.Names(), err)
		}
	})
}
