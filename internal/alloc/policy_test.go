// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want key.Policy
	}{{"spread", key.Spread}, {"compact", key.Spread}, {"binpack", key.Binpack}, {"preserve", key.Binpack}, {"weighted:10,1", Policies()[2]}} {
		if got, err := ParsePolicy(c.in); err != nil || got != c.want {
			t.Errorf("ParsePolicy(%q) = %v, %v; want %v", c.in, got, err, c.want)
		}
	}
	for _, c := range []struct {
		in   string
		want key.Scope
	}{{"any", key.Any}, {"link", key.Link}, {"switch", key.Switch}, {"numa", key.NUMA}, {"node", key.Node}} {
		if got, err := ParseScope(c.in); err != nil || got != c.want || got.String() != c.in {
			t.Errorf("ParseScope(%q) = %v, %v; want %v", c.in, got, err, c.want)
		}
	}
	for _, c := range []struct {
		in   string
		want SizeRule
	}{{"warn", Warn}, {"off", Off}, {"enforce", Enforce}} {
		if got, err := ParseSizeRule(c.in); err != nil || got != c.want || got.String() != c.in {
			t.Errorf("ParseSizeRule(%q) = %v, %v; want %v", c.in, got, err, c.want)
		}
	}
	for _, c := range []struct {
		parse func(string) error
		want  string
	}{
		{func(s string) error { _, err := ParsePolicy(s); return err }, `policy "Best\n" is not known; want ` + PolicyWords},
		{func(string) error { _, err := ParsePolicy("weighted:x,1"); return err }, `policy "weighted:x,1": want two factors, such as weighted:10,1`},
		{func(string) error { _, err := ParsePolicy("weighted:1,x"); return err }, `policy "weighted:1,x": want two factors, such as weighted:10,1`},
		{func(string) error { _, err := ParsePolicy("weighted:1"); return err }, `policy "weighted:1": want two factors, such as weighted:10,1`},
		{func(string) error { _, err := ParsePolicy("weighted:0,0"); return err }, `policy "weighted:0,0": factors 0 and 0: one must be at least 0.001`},
		{func(s string) error { _, err := ParseScope(s); return err }, `scope "Best\n" is not known; want any, link, switch, numa, node`},
		{func(s string) error { _, err := ParseSizeRule(s); return err }, `size rule "Best\n" is not known; want warn, off, enforce`},
	} {
		if err := c.parse("Best\n"); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
		if err := c.parse(""); err == nil {
			t.Error("the empty string is taken")
		}
	}
	if _, err := ParsePolicy("bnipack"); err == nil || !strings.HasSuffix(err.Error(), `; did you mean "binpack"?`) {
		t.Errorf("no suggestion: %v", err)
	}
	if _, err := ParseScope("swich"); err == nil || !strings.HasSuffix(err.Error(), `; did you mean "switch"?`) {
		t.Errorf("no suggestion: %v", err)
	}
}

// FuzzParse holds every name that is taken against its printed form.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"spread", "compact", "link", "warn", "", "any "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := ParsePolicy(s); err == nil {
			if again, err := ParsePolicy(p.String()); err != nil || again != p {
				t.Errorf("policy %q prints as %q, which reads as %v, %v", s, p, again, err)
			}
		}
		if c, err := ParseScope(s); err == nil && c.String() != s {
			t.Errorf("scope %q prints as %q", s, c)
		}
		if r, err := ParseSizeRule(s); err == nil && r.String() != s {
			t.Errorf("size rule %q prints as %q", s, r)
		}
	})
}
