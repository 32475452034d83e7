package specfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/cdi/specfile"
)

const full = `{"cdiVersion":"1.1.0","kind":"v.org/c","annotations":{"a":"b"},"devices":[{"name":"d0","annotations":{},"containerEdits":{
	"env":["A=<\u003c\"\n\\\t/>é"],"deviceNodes":[{"path":"/dev/a","hostPath":"/dev/b","type":"c","major":226,"minor":0,"fileMode":432,"permissions":"rw","uid":0,"gid":4294967295}],
	"netDevices":[{"hostInterfaceName":"eth0","name":"n"}],"hooks":[{"hookName":"createContainer","path":"/h","args":["h",""],"env":["A="],"timeout":-1}],
	"mounts":[{"hostPath":"/a","containerPath":"/b","options":["ro"],"type":"bind"}],
	"intelRdt":{"closID":"c","l3CacheSchema":"l","memBwSchema":"m","schemata":[],"enableMonitoring":true},"additionalGids":[0,44]}}],
	"containerEdits":{"env":[]}}` + "\r\n"

const least = `{"cdiVersion":"0.3.0","kind":"v.org/c","devices":[{"name":"d","containerEdits":{"env":["A=1"]}}]}`

// noted is a spec that may have annotations.
var noted = strings.Replace(least, "0.3.0", "0.6.0", 1)

// same checks that what JSON reads is what engines read.
func same(t *testing.T, data []byte) bool {
	t.Helper()
	got, ok := specfile.JSON(data)
	if !ok {
		if got != nil {
			t.Fatal("not ok, and a spec")
		}
		return false
	}
	want, err := cdi.Decode(data)
	if err != nil {
		t.Fatalf("engines reject it: %v\n%q", err, data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-YAML +JSON):\n%s\n%q", diff, data)
	}
	return true
}

func TestJSON(t *testing.T) {
	texts := []string{full, least, noted, strings.ReplaceAll(least, ",", ",\n\t")}
	for _, name := range []string{"two.json", "maca.json", "two-rooted.json"} {
		data, err := os.ReadFile(filepath.Join("..", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	for _, text := range texts {
		if !same(t, []byte(text)) {
			t.Errorf("left to YAML: %s", text)
		}
	}
}

var strange = []string{
	``, `{}`, `[]`, "\t" + least, least + "\n\t", least + "\n---\n", least + "x", least[:20],
	strings.Replace(least, `"kind"`, `"Kind"`, 1), strings.Replace(least, `"kind"`, `"x":1,"kind"`, 1),
	strings.Replace(least, `"kind"`, `"kind":"v.org/c","kind"`, 1), strings.Replace(least, `"kind":`, `"kind" :`, 1),
	strings.Replace(least, `"kind":`, "\"kind\"\n:", 1), strings.Replace(least, `["A=1"]`, `null`, 1),
	strings.Replace(least, `"A=1"`, `1`, 1), strings.Replace(least, `A=1`, `A=\ud83d\ude00`, 1), strings.Replace(least, `A=1`, "A=\x7f", 1),
	strings.Replace(least, `A=1`, "A=\u2028", 1), strings.Replace(least, `A=1`, "A=\u0085", 1), strings.Replace(least, `A=1`, "A=\xff", 1), strings.Replace(least, `A=1`, `A=\/`, 1),
	strings.Replace(least, `"env":["A=1"]`, `"additionalGids":[-0]`, 1), strings.Replace(least, `"env":["A=1"]`, `"additionalGids":[4294967296]`, 1),
	strings.Replace(least, `"env":["A=1"]`, `"additionalGids":[1e1]`, 1), strings.Replace(least, `A=1`, `A`, 1),
	strings.Replace(least, `"env":["A=1"]`, `"deviceNodes":[null]`, 1), strings.Replace(noted, `"name"`, `"annotations":{"<<":"x"},"name"`, 1),
	strings.Replace(noted, `"name"`, `"annotations":{"`+strings.Repeat("k", 2000)+`":"x"},"name"`, 1), "\xef\xbb\xbf" + least, "a: b",
}

func TestJSONStrange(t *testing.T) {
	for _, text := range strange {
		if same(t, []byte(text)) {
			t.Errorf("not left to YAML: %q", text)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, text := range append(strange, full, least) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { same(t, data) })
}
