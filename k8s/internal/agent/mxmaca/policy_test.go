package mxmaca

import (
	"strings"
	"testing"
	"time"
)

// TestExpired has versions in the order of their installation, kept ones with a star, and those that go.
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

func TestUses(t *testing.T) {
	used := map[string]bool{}
	const text = `22 1 98:0 / / rw - ext4 /dev/sda rw
36 22 98:0 /node/opt/maca-3.8 /opt/maca-3.8 ro - ext4 /dev/sda ro
37 22 98:1 /maca-3.9/lib /srv/lib ro - ext4 /dev/sdb ro
38 22 98:1 /x /opt/maca-3.10 ro - ext4 /dev/sdb ro
39 22 98:1 /opt/maca-3.11\040(deleted) /y ro - ext4 /dev/sdb ro
40 22 98:1 /opt/mymaca-4 /z ro
short
`
	if err := addMounts(used, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"3.8", "3.9", "3.10", "3.11"} {
		if !used[version] {
			t.Errorf("%s is not in use", version)
		}
	}
	if len(used) != 4 {
		t.Errorf("%v", used)
	}
}
