// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// recorded is what real schedulers wrote.
type recorded struct {
	Node map[string]string
	Pods []struct {
		Name        string
		Annotations map[string]string
	}
}

func readRecorded(t testing.TB) recorded {
	t.Helper()
	text := testfile.Read(t, "testdata/recorded.json")
	var r recorded
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// startsWith returns the value whose key starts with a name; the record explains some keys.
func startsWith(t *testing.T, all map[string]string, name string) string {
	t.Helper()
	for key, value := range all {
		if strings.HasPrefix(key, name) {
			return value
		}
	}
	t.Fatalf("nothing is recorded for %s", name)
	return ""
}

func (c SliceChoice) String() string {
	text := fmt.Sprint(c.Lists)
	for _, word := range []string{c.QoS, c.Phase} {
		if word != "" {
			text += " " + word
		}
	}
	if c.Online {
		text += " online"
	}
	return text
}

// TestRecordedPods reads what HAMi and Koordinator wrote to pods.
func TestRecordedPods(t *testing.T) {
	want := []string{
		"[[{GPU-3 10 1024}]] best-effort allocating",
		"[[{GPU-2 20 2048} {GPU-1 20 2048}]]",
		"[[{GPU-0 7 4096}] [{GPU-0 5 3072}]]",
		"[]",
		"[] allocating",
		"[[{GPU-0 100 65536} {GPU-1 100 65536}]]",
		"[[{GPU-2 10 1024}]]",
	}
	var got []string
	for _, pod := range readRecorded(t).Pods {
		c, err := ParseSliceChoice(pod.Annotations)
		if err != nil {
			t.Errorf("%s: %v", pod.Name, err)
		}
		got = append(got, c.String())
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestRecordedNode reads the lock, and writes the registration that HAMi accepted.
func TestRecordedNode(t *testing.T) {
	node := readRecorded(t).Node
	if lock, err := ParseLock(startsWith(t, node, LockAnnotation)); err != nil || lock != (Lock{"default", "one"}) {
		t.Errorf("got %v, %v", lock, err)
	}
	got := Registration([]Registered{{
		UUID: "GPU-0", BDF: "0000:00:00.0", Model: "MXC500", TotalDevices: 16, TotalCompute: 100, TotalMemory: 65536,
		AvailableDevices: 16, AvailableCompute: 100, AvailableMemory: 65536, Healthy: true, Domain: 1,
	}})
	if d := cmp.Diff(startsWith(t, node, RegistrationAnnotation), got); d != "" {
		t.Error(d)
	}
	if got := Registration(nil); got != "" {
		t.Errorf("no GPU is %q", got)
	}
}

func TestSliceChoice(t *testing.T) {
	for _, test := range []struct{ key, text, want, err string }{
		{"other", "x", "[]", ""},
		{SlicesAnnotation, "[[],[{\"uuid\":\"GPU-a\",\"vRam\":1024}]]", "[[] [{GPU-a 0 1024}]]", ""},
		{SlicesAnnotation, "", "", "is not a list of lists"},
		{SlicesAnnotation, "[{}]", "", "is not a list of lists"},
		{SlicesAnnotation, `[[{"compute":5}]]`, "", `"" is not the UUID of a GPU`},
		{SlicesAnnotation, `[[{"uuid":"GPU-a\u001b"}]]`, "", `"GPU-a\x1b" is not the UUID`},
		{SlicesAnnotation, `[[{"uuid":"GPU-a","compute":101}]]`, "", "compute 101 of GPU-a; want 0 to 100"},
		{SlicesAnnotation, `[[{"uuid":"GPU-a","compute":-1}]]`, "", "compute -1"},
		{SlicesAnnotation, `[[{"uuid":"GPU-a","compute":1e99}]]`, "", "is not a list of lists"},
		{SlicesAnnotation, `[[{"uuid":"GPU-a","vRam":-1}]]`, "", "vRam -1"},
		{SlicesAnnotation, "[" + strings.Repeat("[],", 99) + "[]]", "", "100 lists; at most 64 are read"},
		{SlicesAnnotation, "[[" + strings.Repeat(`{"uuid":"GPU-a"},`, 200) + "{}]]", "", "201 slices in one list"},
		{SlicesAnnotation, strings.Repeat(" ", 1<<20), "", "1048576 bytes"},
		{QoSAnnotation, "best-effort", "[] best-effort", ""},
		{QoSAnnotation, "fixed-share", "[] fixed-share", ""},
		{QoSAnnotation, "burst-share", "[] burst-share", ""},
		{QoSAnnotation, "", "", `""; want best-effort, fixed-share or burst-share`},
		{QoSAnnotation, "best", "", `"best"; want best-effort`},
		{AppClassAnnotation, "online", "[] online", ""},
		{AppClassAnnotation, "offline", "[]", ""},
		{PhaseAnnotation, "allocating", "[] allocating", ""},
	} {
		c, err := ParseSliceChoice(map[string]string{test.key: test.text})
		switch {
		case err == nil && (test.err != "" || c.String() != test.want):
			t.Errorf("%s %.40q gives %s, want %s%s", test.key, test.text, c, test.want, test.err)
		case err != nil && (test.err == "" || !errors.Is(err, protocol.ErrAnnotation) || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s %.40q: %v, want %q", test.key, test.text, err, test.err)
		}
	}
}

func TestParseLock(t *testing.T) {
	for _, test := range []struct {
		text, want, err string
	}{
		{"2026-08-21T10:00:00Z,team,job-0", "team/job-0", ""},
		{"2026-08-21T10:00:00Z", "/", ""},
		{"", "/", ""},
		{"x,team,a.b", "team/a.b", ""},
		{"x,team", "", `"x,team"; want TIME,NAMESPACE,POD`},
		{"x,team,a,b", "", "want TIME"},
		{"x,../a,b", "", "want TIME"},
		{"x,team,\x1b", "", `"x,team,\x1b"`},
		{strings.Repeat("a", 1<<20), "", "1048576 bytes"},
	} {
		lock, err := ParseLock(test.text)
		switch {
		case err == nil && (test.err != "" || lock.Namespace+"/"+lock.Pod != test.want):
			t.Errorf("%.40q gives %v, want %s%s", test.text, lock, test.want, test.err)
		case err != nil && (test.err == "" || !errors.Is(err, protocol.ErrAnnotation) || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%.40q: %v, want %q", test.text, err, test.err)
		}
	}
}

func FuzzSliceChoice(f *testing.F) {
	for _, pod := range readRecorded(f).Pods {
		f.Add(pod.Annotations[SlicesAnnotation], pod.Annotations[QoSAnnotation], "2026-11-22T16:52:48Z,default,one")
	}
	f.Add(`[[{"uuid":"GPU-a","compute":1e2}]]`, "x", ",,")
	f.Fuzz(func(t *testing.T, text, qos, lock string) {
		c, err := ParseSliceChoice(map[string]string{SlicesAnnotation: text, QoSAnnotation: qos})
		for _, list := range c.Lists {
			for _, s := range list {
				if _, err := gpu.ParseUUID(string(s.UUID)); err != nil || s.Compute < 0 || s.Compute > 100 || s.MemoryMiB < 0 {
					t.Errorf("slice %v", s)
				}
			}
		}
		_, lockErr := ParseLock(lock)
		for _, err := range []error{err, lockErr} {
			if err != nil && (!errors.Is(err, protocol.ErrAnnotation) || len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\x1b")) {
				t.Errorf("error %q", err)
			}
		}
	})
}
