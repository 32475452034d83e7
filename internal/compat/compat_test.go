// SPDX-License-Identifier: Apache-2.0

package compat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/compat"
)

func TestParse(t *testing.T) {
	for _, text := range []string{"3", "3.3.0.15", "3.8.0.3-c600u", "2.5.014", "0", "3.4-", "3.4-rc-1", "18446744073709551615"} {
		if _, err := compat.Parse(text); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{
		"", "-", "-c600u", "v3", "3.", ".3", "3..4", "3.x", "+3", "-3", "3_0", "0x3", "3 ", " 3", "3\n", "3.4-a b", "3.4-\x1b[2J",
		"unknown", "18446744073709551616", "1.2.3.4.5.6.7.8.9", "3-" + strings.Repeat("a", 64),
	} {
		if v, err := compat.Parse(text); !errors.Is(err, compat.ErrVersion) || len(err.Error()) > 200 {
			t.Errorf("%q is %v, %v; want ErrVersion", text, v, err)
		}
	}
}

func parse(t *testing.T, text string) compat.Version {
	t.Helper()
	v, err := compat.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestCompare has the known driver versions, oldest first.
func TestCompare(t *testing.T) {
	order := []string{"2.5.014", "2.12.13", "2.14.8", "2.15.9", "3.0.11", "3.3.12", "3.4.3", "3.4.4", "3.6.11", "3.8.30", "3.9.10", "3.10.14"}
	for i, a := range order {
		for j, b := range order {
			if got := parse(t, a).Compare(parse(t, b)); got != sign(i-j) {
				t.Errorf("%s to %s is %d", a, b, got)
			}
		}
	}
	for _, same := range [][2]string{{"3.4", "3.4.0"}, {"3.8.0.3-c600u", "3.8.0.3"}, {"3.8-b", "3.8-a"}, {"2.5.014", "2.5.14"}} {
		if got := parse(t, same[0]).Compare(parse(t, same[1])); got != 0 {
			t.Errorf("%s to %s is %d, want 0", same[0], same[1], got)
		}
	}
}

func sign(n int) int { return min(max(n, -1), 1) }

func TestBegins(t *testing.T) {
	for _, test := range []struct {
		version, prefix string
		want            bool
	}{
		{"3.7.1.5", "3", true},
		{"3.7.1.5", "3.7", true},
		{"3.7.1.5-c600u", "3.7.1.5", true},
		{"3.71", "3.7", false},
		{"37.1", "3", false},
		{"3", "3.0", false},
		{"2.3", "3", false},
	} {
		if got := parse(t, test.version).Begins(parse(t, test.prefix)); got != test.want {
			t.Errorf("%s begins with %s: %v", test.version, test.prefix, got)
		}
	}
	if parse(t, "3").Begins(compat.Version{}) {
		t.Error("a version begins with none")
	}
}

func TestCheck(t *testing.T) {
	table := []compat.Rule{
		{MACA: "3", Driver: "3", Why: "seen"},
		{MACA: "3.7", Driver: "3.8"},
		{MACA: "2", Driver: "2"},
	}
	for _, test := range []struct {
		name         string
		rules        []compat.Rule
		maca, driver string
		want         compat.Verdict
	}{
		{"one rule", table, "3.3.0.15", "3.4.4", compat.Verdict{compat.OK, "MXMACA 3.3.0.15 with driver 3.4.4: MXMACA 3 needs driver 3 or newer (seen)"}},
		{"too old", table, "3.3.0.15", "2.15.9", compat.Verdict{compat.Mismatch, "MXMACA 3.3.0.15 with driver 2.15.9: MXMACA 3 needs driver 3 or newer (seen)"}},
		{"all must hold", table, "3.7.1.5-x", "3.6.11", compat.Verdict{compat.Mismatch, "MXMACA 3.7.1.5-x with driver 3.6.11: MXMACA 3.7 needs driver 3.8 or newer"}},
		{"as numbers", table, "3.7.1.5", "3.10.14", compat.Verdict{compat.OK, "MXMACA 3.7.1.5 with driver 3.10.14: MXMACA 3 needs driver 3 or newer (seen)"}},
		{"the least itself", table, "2.32.0.6", "2", compat.Verdict{compat.OK, "MXMACA 2.32.0.6 with driver 2: MXMACA 2 needs driver 2 or newer"}},
		{"no rule", table, "4.0", "3.4.4", compat.Verdict{compat.Unknown, "MXMACA 4.0 with driver 3.4.4: no rule for this MXMACA version"}},
		{"no rules", nil, "3.3", "3.4.4", compat.Verdict{compat.Unknown, "MXMACA 3.3 with driver 3.4.4: no rule for this MXMACA version"}},
		{"no MXMACA version", table, "", "3.4.4", compat.Verdict{compat.Unknown, "MXMACA of unknown version with driver 3.4.4: the MXMACA version is not known"}},
		{"no driver version", table, "3.3", "", compat.Verdict{compat.Unknown, "MXMACA 3.3 with driver of unknown version: the driver version is not known"}},
		{"noise", table, "3.3", "3\n4", compat.Verdict{compat.Unknown, `MXMACA 3.3 with driver "3\n4": the driver version is not known`}},
		{
			"a bad rule", append([]compat.Rule{{MACA: "three", Driver: "3"}}, table...), "3.3", "3.4",
			compat.Verdict{compat.Unknown, `MXMACA 3.3 with driver 3.4: rule for MXMACA: not a version: "three" has a component that is not a number`},
		},
		{
			"a bad rule, and one that fails", append([]compat.Rule{{MACA: "3", Driver: ""}}, table...), "3.3", "2",
			compat.Verdict{compat.Mismatch, "MXMACA 3.3 with driver 2: MXMACA 3 needs driver 3 or newer (seen)"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, compat.Check(test.rules, test.maca, test.driver)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDefaults: the built-in rules accept pairs that were seen at work, state that they
// are inferred, and give Unknown for other series.
func TestDefaults(t *testing.T) {
	for _, r := range compat.Defaults() {
		if err := r.Validate(); err != nil || !strings.HasPrefix(r.Why, "inferred") {
			t.Errorf("%v: %v", r, err)
		}
	}
	for _, test := range []struct {
		maca, driver string
		want         compat.State
	}{
		{"3.3.0.15", "3.4.4", compat.OK},
		{"3.7.1.5", "3.8.30", compat.OK},
		{"2.32.0.6", "2.15.9", compat.OK},
		{"3.3.0.15", "2.15.9", compat.Mismatch},
		{"4.0.0.1", "4.0.0", compat.Unknown},
		{"1.0", "2.15.9", compat.Unknown},
	} {
		if got := compat.Check(compat.Defaults(), test.maca, test.driver); got.State != test.want {
			t.Errorf("%s on %s: %+v, want %s", test.maca, test.driver, got, test.want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("3.3.0.15", "3.4.4", "3", "3")
	f.Add("3.8.0.3-c600u", "2.5.014", "3.8", "3.8.30")
	f.Add("", "x", "-", "3..")
	f.Fuzz(func(t *testing.T, maca, driver, prefix, least string) {
		got := compat.Check([]compat.Rule{{MACA: prefix, Driver: least}}, maca, driver)
		if strings.ContainsAny(got.Reason, "\n\x1b") || len(got.Reason) > 1000 {
			t.Errorf("reason is %q", got.Reason)
		}
		m, err1 := compat.Parse(maca)
		d, err2 := compat.Parse(driver)
		p, err3 := compat.Parse(prefix)
		l, err4 := compat.Parse(least)
		want := compat.Unknown
		if errors.Join(err1, err2, err3, err4) == nil && m.Begins(p) {
			want = compat.OK
			if l.Compare(d) > 0 {
				want = compat.Mismatch
			}
		}
		if got.State != want {
			t.Errorf("%+v, want %s", got, want)
		}
		if err1 == nil && (m.Compare(m) != 0 || err2 == nil && m.Compare(d) != -d.Compare(m)) {
			t.Errorf("%q and %q have no order", maca, driver)
		}
	})
}
