// SPDX-License-Identifier: Apache-2.0

package mxmaca

import (
	"strings"
	"testing"
	"time"
)

// TestExpired has versions in the order of their installation, kept ones with a star, and
// those that go.
func TestExpired(t *testing.T) {
	for _, test := range []struct {
		order     string
		threshold int
		all, want string
	}{
		{Never, 1, "1 2 3", ""},
		{ByVersion, 3, "1 2 3", ""},
		{ByVersion, 2, "3 10 9", "3"},
		{ByVersion, 1, "3 10 9", "3 9"},
		{ByVersion, 1, "3* 10 9", "9 10"},
		{ByVersion, 1, "3* 10* 9*", ""},
		{ByTimestamp, 1, "3 10 9*", "3 10"},
		{ByTimestamp, 2, "10 3 9", "10"},
		{ByVersion, 1, "b a", "a"},
	} {
		var all []Version
		for i, word := range strings.Fields(test.all) {
			name, kept := strings.CutSuffix(word, "*")
			all = append(all, Version{name, time.Unix(int64(i), 0), kept})
		}
		if got := strings.Join((Policy{test.order, test.threshold}).Expired(all), " "); got != test.want {
			t.Errorf("%s %d of %s: %q, want %q", test.order, test.threshold, test.all, got, test.want)
		}
	}
}

func TestPolicy(t *testing.T) {
	for _, p := range []Policy{{"Always", 1}, {ByVersion, 0}, {"", 5}} {
		if p.Check() == nil {
			t.Errorf("%+v", p)
		}
	}
	if err := (Policy{Never, 5}).Check(); err != nil {
		t.Error(err)
	}
}
