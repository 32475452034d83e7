// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// id is a container's ID in full.
var id = strings.Repeat("0123456789abcdef", 4)

func TestParseStat(t *testing.T) {
	const rest = " S 12 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 3 0 987654321 1 1\n"
	all := cmp.AllowUnexported(stat{})
	for name, command := range map[string]string{
		"plain": "cat", "empty": "", "space": "Web Content", "closed": "a) S 1 (b", "open": "((", "feed": "a\nb) Z 7\n(c",
	} {
		got, ok := parseStat([]byte("34 (" + command + ")" + rest))
		want := stat{command: []byte(command), state: 'S', parent: 12, flags: 4194560, threads: 3, start: 987654321}
		if diff := cmp.Diff(want, got, all); diff != "" || !ok {
			t.Errorf("%s: %v %s", name, ok, diff)
		}
	}
	// The 22 fields alone, as a text that was cut behind them.
	if got, ok := parseStat([]byte("1 (a) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5")); !ok || got.start != 5 {
		t.Errorf("start is %d, %v", got.start, ok)
	}
	for _, bad := range []string{
		"", "34", "34 (cat", "34 cat) S", "34 )cat( S", "34 (cat)", "34 (cat) S 12", "34 (cat)S" + rest,
		"34 (cat) SS" + rest[2:], strings.Replace("34 (cat)"+rest, "12", "x", 1), strings.Replace("34 (cat)"+rest, "987654321", "-1", 1),
		strings.Replace("34 (cat)"+rest, " 4194560 ", " -4194560 ", 1), strings.Replace("34 (cat)"+rest, " 20 0 3 ", " 20 0 three ", 1),
	} {
		if got, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Add([]byte("1 (a) b) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, ok := parseStat(text)
		if !ok {
			if diff := cmp.Diff(stat{}, s, cmp.AllowUnexported(stat{})); diff != "" {
				t.Error(diff)
			}
			return
		}
		// A name more in the same place changes nothing else.
		renamed := append([]byte("1 (x) y ("), text[strings.LastIndexByte(string(text), ')'):]...)
		again, ok := parseStat(renamed)
		s.command, again.command = nil, nil
		if diff := cmp.Diff(s, again, cmp.AllowUnexported(stat{})); diff != "" || !ok {
			t.Errorf("%v %s", ok, diff)
		}
	})
}

func TestParseStatus(t *testing.T) {
	const text = "Name:\tUid:\\n1\nUmask:\t0022\nState:\tS (sleeping)\nUid:\t1000\t0\t0\t0\nGid:\t1001\t999\t7\t7\nFDSize:\t64\nGroups:\t4 24 1000 \nNStgid:\t9\nNSpid:\t9\n"
	want := status{uid: 1000, groups: []uint32{999, 4, 24, 1000}, depth: 1}
	got, ok := parseStatus([]byte(text))
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(status{})); diff != "" || !ok {
		t.Errorf("%v %s", ok, diff)
	}
	if got, ok := parseStatus([]byte(strings.Replace(text, "NSpid:\t9", "NSpid:\t9\t2\t1", 1))); !ok || got.depth != 3 {
		t.Errorf("%v, depth is %d, want 3", ok, got.depth)
	}
	for _, bad := range []string{"", "Uid:\t0\t0\t0\t0\n", "Gid:\t0\t0\t0\t0\n", strings.Replace(text, "1000\t0\t0\t0", "1000", 1), strings.Replace(text, "999", "-1", 1), strings.Replace(text, " 24 ", " 4294967296 ", 1)} {
		if got, ok := parseStatus([]byte(bad)); ok {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	own, err := os.ReadFile("/proc/self/status")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, ok := parseStatus(text); ok && (len(s.groups) == 0 || s.depth < 1) {
			t.Errorf("%q is read as %+v", text, s)
		}
	})
}

func TestParseCgroup(t *testing.T) {
	other := strings.Repeat("f", 64)
	for text, want := range map[string]string{
		"":       "",
		"0::/\n": "",
		"0::/user.slice/user-1000.slice/session-3.scope\n":                                    "",
		"12:memory:/docker/" + id + "\n0::/\n":                                                id,
		"0::/system.slice/docker-" + id + ".scope\n":                                          id,
		"0::/system.slice/docker-" + id + ".scope/init.scope\n":                               id,
		"0::/machine.slice/libpod-" + id + ".scope/container\n":                               id,
		"8:pids:/libpod_parent/libpod-" + id + "\n":                                           id,
		"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id + ".scope": id,
		"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0ecc9bdf_9f51_4e4c_9f7d_7c8c6e5a9c3d.slice/cri-containerd-" + id + ".scope": id,
		"11:cpu,cpuacct:/kubepods/besteffort/pod0ecc9bdf-9f51-4e4c-9f7d-7c8c6e5a9c3d/" + id:                                                            id,
		"0::/kubepods.slice/kubepods-pod1.slice/crio-" + id + ".scope":                                                                                 id,
		"1:name=systemd:/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:" + id:                                                     id,
		"0::/default/" + id:                     id,
		"0::/../../docker/" + id:                id,
		"0::/docker/" + id + "/docker/" + other: id, // docker in docker
		"0::/docker/" + id[1:]:                  "",
		"0::/docker/" + id + "0":                "",
		"0::/docker/" + strings.ToUpper(id):     "",
		"0::/docker-" + id + ".slice":           "",
		"4:memory:/agent/0123456789abcdef0123456789abcdef\n0::/docker/" + other: other,
		id: "",
	} {
		if got := parseCgroup(text); got != want {
			t.Errorf("%q is of container %q, want %q", text, got, want)
		}
	}
}

func FuzzParseCgroup(f *testing.F) {
	f.Add("12:memory:/docker/" + id + "\n0::/\n")
	f.Add("0::/system.slice/docker-" + id + ".scope")
	f.Fuzz(func(t *testing.T, text string) {
		if got := parseCgroup(text); got != "" && (!fullID(got) || !strings.Contains(text, got)) {
			t.Errorf("%q is of container %q", text, got)
		}
	})
}
