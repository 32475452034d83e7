// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKindOrder(t *testing.T) {
	kinds := Kinds()
	if len(kinds) != int(numKinds)-1 { // Switch is a class only
		t.Fatalf("%d kinds, want %d", len(kinds), numKinds-1)
	}
	var words []string
	for i, k := range kinds {
		words = append(words, k.String())
		if i > 0 && k >= kinds[i-1] {
			t.Errorf("%s is not worse than %s", k, kinds[i-1])
		}
	}
	if diff := cmp.Diff([]string{"MX", "PIX", "PXB", "PHB", "NODE", "SYS", "NA"}, words); diff != "" {
		t.Errorf("best first (-want +got):\n%s", diff)
	}
}

func TestKindWords(t *testing.T) {
	for _, k := range Kinds() {
		if got, ok := ParseKind(k.String()); !ok || got != k {
			t.Errorf("ParseKind(%q) = %s, %v", k, got, ok)
		}
		text, err := k.MarshalText()
		if err != nil || string(text) != k.String() {
			t.Errorf("%s as text is %q, %v", k, text, err)
		}
	}
	if got, ok := ParseKind("HT"); !ok || got != MX { // the OEM version's word
		t.Errorf("ParseKind(HT) = %s, %v", got, ok)
	}
	if got, ok := ParseKind("ETH"); !ok || got != Unknown {
		t.Errorf("ParseKind(ETH) = %s, %v", got, ok)
	}
	for _, word := range []string{"", "X", "mx", "ht", "MX ", "SWITCH", "METAXLINK", "N/A"} {
		if got, ok := ParseKind(word); ok || got != Unknown {
			t.Errorf("ParseKind(%q) = %s, %v; want no kind", word, got, ok)
		}
	}
}

// TestClasses has each kind in one of the classes, in the same order.
func TestClasses(t *testing.T) {
	classes := Classes()
	for i, k := range Kinds() {
		at := slices.Index(classes, k.Class())
		if at < 0 || k.Class() != k && k != PIX && k != PXB {
			t.Errorf("%s is of class %s", k, k.Class())
		}
		if i > 0 && k.Class() > Kinds()[i-1].Class() {
			t.Errorf("%s is of a better class than %s", k, Kinds()[i-1])
		}
	}
	if PIX.Class() != Switch || PXB.Class() != Switch || Switch.String() != "SWITCH" || Switch.Class() != Switch {
		t.Errorf("PIX is of class %s, PXB of %s", PIX.Class(), PXB.Class())
	}
}

func TestKindMeaning(t *testing.T) {
	var meanings []string
	for _, k := range Kinds() {
		if slices.Contains(meanings, k.Meaning()) || k.Meaning() == "" {
			t.Errorf("%s means %q, which is taken or empty", k, k.Meaning())
		}
		meanings = append(meanings, k.Meaning())
	}
	strange := numKinds + 3
	if strange.String() != "NA" || strange.Meaning() != Unknown.Meaning() {
		t.Errorf("a kind beyond the table is %q, %q; want what Unknown is", strange, strange.Meaning())
	}
}
