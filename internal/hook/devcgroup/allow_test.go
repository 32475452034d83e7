// SPDX-License-Identifier: Apache-2.0

package devcgroup

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// gpus are the rules that the tests add.
var gpus = []Rule{{Major: 226, Minor: 128}, {Major: 511, Minor: 128, ReadOnly: true}}

// denied is what the opener says where nothing is allowed.
func denied() map[string]string {
	answers := map[string]string{}
	for _, node := range []string{"render128", "render129", "mxcd", "block128"} {
		for _, word := range []string{"r", "w", "rw", "m"} {
			answers[node+" "+word] = "denied"
		}
	}
	return answers
}

// widened is what it says after gpus were allowed: never more than they say.
func widened() map[string]string {
	answers := denied()
	for _, what := range []string{"render128 r", "render128 w", "render128 rw", "mxcd r"} {
		answers[what] = "allowed"
	}
	return answers
}

func TestAllowV1(t *testing.T) {
	g := group(t, V1)
	list := nodes(t)
	if err := os.WriteFile(filepath.Join(g.Dir, "devices.deny"), []byte("a"), 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(denied(), open(t, g.Dir, list)); diff != "" {
		t.Fatalf("before: %s", diff)
	}
	for range 2 {
		if err := g.Allow(gpus); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(widened(), open(t, g.Dir, list)); diff != "" {
			t.Errorf("after: %s", diff)
		}
	}
	// A child may not have what its parent has not; the error says which number.
	child := Group{V1, filepath.Join(g.Dir, "child")}
	if err := os.Mkdir(child.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(child.Dir)
	err := child.Allow([]Rule{{Major: 226, Minor: 128}, {Major: 226, Minor: 129}})
	if !errors.Is(err, ErrParent) || !strings.Contains(err.Error(), "226:129") {
		t.Errorf("below a parent that denies: %v", err)
	}
}

// filter is a device program as runtimes make them: what it lists is allowed, the rest denied.
func filter(rules ...Rule) []insn {
	return append(allowPrologue(rules), insn{Op: opSet, Regs: regs(result, 0)}, insn{Op: opExit})
}

// attach loads a program and attaches it to the group.
func attach(t *testing.T, g Group, flags uint32, code []insn) {
	t.Helper()
	program, err := loadProgram(code)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	dir, err := os.Open(g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var a bpfAttr
	a.set32(0, uint32(dir.Fd()))
	a.set32(4, uint32(program.Fd()))
	a.set32(8, unix.BPF_CGROUP_DEVICE)
	a.set32(12, flags)
	if _, err := bpf(unix.BPF_PROG_ATTACH, &a); err != nil {
		t.Fatal(err)
	}
}

// programs lists what is attached to the group.
func programs(t *testing.T, g Group) []uint32 {
	t.Helper()
	dir, err := os.Open(g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	ids, _, err := attachedPrograms(dir)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestAllowV2(t *testing.T) {
	null := Rule{Major: 1, Minor: 3}
	for name, flags := range map[string][]uint32{
		"one of several": {unix.BPF_F_ALLOW_MULTI},
		"two of several": {unix.BPF_F_ALLOW_MULTI, unix.BPF_F_ALLOW_MULTI},
		"overridable":    {unix.BPF_F_ALLOW_OVERRIDE},
		"exclusive":      {0},
	} {
		t.Run(name, func(t *testing.T) {
			g := group(t, V2)
			list := append(nodes(t), "/dev/null")
			for i, f := range flags {
				attach(t, g, f, filter(null, Rule{Major: 5, Minor: uint32(i)}))
			}
			// What was allowed before stays so.
			null := map[string]string{"null r": "allowed", "null w": "allowed", "null rw": "allowed", "null m": "/dev/null.made"}
			before, after := denied(), widened()
			look := func() map[string]string {
				got := open(t, g.Dir, list)
				got["null m"] = null["null m"] // tried elsewhere, and it may be there or not
				return got
			}
			maps.Copy(before, null)
			maps.Copy(after, null)
			if diff := cmp.Diff(before, look()); diff != "" {
				t.Fatalf("before: %s", diff)
			}
			var ids []uint32
			for i := range 2 {
				if err := g.Allow(gpus); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(after, look()); diff != "" {
					t.Errorf("after: %s", diff)
				}
				now := programs(t, g)
				if len(now) != len(flags) {
					t.Errorf("%d programs are attached, want %d", len(now), len(flags))
				}
				if i > 0 && !slices.Equal(ids, now) {
					t.Errorf("the second time replaced %v by %v", ids, now)
				}
				ids = now
			}
		})
	}
}

// TestAllowV2Nothing: a group without rules allows everything and gets none.
func TestAllowV2Nothing(t *testing.T) {
	g := group(t, V2)
	if err := g.Allow(gpus); err != nil {
		t.Fatal(err)
	}
	if ids := programs(t, g); len(ids) != 0 {
		t.Errorf("programs %v are attached where none was", ids)
	}
}

// TestAllowV2Unreadable: a program that calls the kernel cannot be loaded again as it
// was read.
func TestAllowV2Unreadable(t *testing.T) {
	g := group(t, V2)
	const random = 7 // the helper get_prandom_u32
	call := insn{Op: unix.BPF_JMP | unix.BPF_CALL, Imm: random}
	attach(t, g, unix.BPF_F_ALLOW_MULTI, append([]insn{call}, insn{Op: opSet}, insn{Op: opExit}))
	before := programs(t, g)
	err := g.Allow(gpus)
	if !errors.Is(err, ErrProgram) || !strings.Contains(err.Error(), "CDI") {
		t.Errorf("a program with a call: %v", err)
	}
	if diff := cmp.Diff(before, programs(t, g)); diff != "" {
		t.Errorf("it is no longer attached: %s", diff)
	}
}

// TestAllowV2Many: the jumps of a long program, for many GPUs, still reach their
// targets.
func TestAllowV2Many(t *testing.T) {
	g := group(t, V2)
	attach(t, g, unix.BPF_F_ALLOW_MULTI, filter())
	var rules []Rule
	for i := range uint32(300) {
		rules = append(rules, Rule{Major: 226, Minor: 1000 + i})
	}
	if err := g.Allow(append(rules, gpus...)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(widened(), open(t, g.Dir, nodes(t))); diff != "" {
		t.Error(diff)
	}
}

// TestAllowV2TooMany: with more rules the jump would be too short, and a block device
// might count as a GPU.
func TestAllowV2TooMany(t *testing.T) {
	g := group(t, V2)
	attach(t, g, unix.BPF_F_ALLOW_MULTI, filter())
	if err := g.Allow(make([]Rule, maxRules+1)); !errors.Is(err, ErrProgram) {
		t.Errorf("%v, want ErrProgram", err)
	}
	if list := allowPrologue(make([]Rule, maxRules)); int(list[6].Off) != len(list)-7 {
		t.Errorf("%d instructions, and the jump over them goes %d far", len(list), list[6].Off)
	}
}

func TestAllowGone(t *testing.T) {
	needRoot(t)
	for _, v := range []Version{V1, V2} {
		if err := (Group{v, filepath.Join(t.TempDir(), "none")}).Allow(gpus); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("version %d: %v", v, err)
		}
	}
}
