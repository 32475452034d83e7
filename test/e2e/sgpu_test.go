// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// slicesDir is the directory of a second node, whose GPU 2 is in slice mode and whose
// GPU 5 has virtual functions.
const slicesDir = "/slices"

// slice is what the tests need of metax-ctk sgpu list.
type slice struct {
	GPU   int      `json:"gpu"`
	Kind  string   `json:"kind"`
	UUID  string   `json:"uuid"`
	BDF   string   `json:"bdf"`
	Nodes []string `json:"nodes"`
}

func (s slice) name() string {
	if s.UUID != "" {
		return s.UUID
	}
	return s.BDF
}

// TestSGPU injects slices and virtual functions into containers.
func TestSGPU(t *testing.T) {
	rows := []struct {
		suite, version string
		cdi            bool
	}{
		{docker29, "29.8.", true},
		{"sid", "28.", true},
		{"bookworm", "20.10.", false},
	}
	for _, row := range rows {
		t.Run(row.suite, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, sandbox.Hybrid)
			h.must(t, nil, "metax-ctk", "sim", "create", "c500-8-sgpu", slicesDir)
			h.must(t, nil, "metax-ctk", "--root", slicesDir, "cdi", "generate")
			for _, kind := range []string{"gpu", "sgpu"} {
				text, err := os.ReadFile(h.Path(slicesDir + "/var/run/cdi/metax-tech.com-" + kind + ".json"))
				if err != nil {
					t.Fatal(err)
				}
				h.write(t, "/run/cdi/metax-tech.com-"+kind+".json", string(text))
			}
			h.docker(t, row.version, nil)
			s := sliced{host: h, cdi: row.cdi}
			var listed struct{ Items []slice }
			h.decode(t, &listed, "metax-ctk", "--root", slicesDir, "sgpu", "list", "-o", "json")
			s.all = listed.Items
			if len(s.all) != 4 {
				t.Fatalf("the node has slices %+v, want 4", s.all)
			}
			t.Run("each", s.each)
			t.Run("lease", s.lease)
			t.Run("made and removed", s.made)
		})
	}
}

type sliced struct {
	*host
	cdi bool
	all []slice
}

func (s sliced) env() []string {
	return []string{"METAX_CTK_ROOT=" + slicesDir, "METAX_CTK_DOCKER=docker"}
}

// look runs the probe in a container.
func (s sliced) look(t *testing.T, program string, options ...string) report.Report {
	t.Helper()
	in := s.inbox(t)
	argv := append([]string{program, "run", "--rm", "--network=none", "--volume", in.dir + ":" + report.Dir}, options...)
	s.must(t, s.env(), append(argv, imageRef, "/probe", "look")...)
	return in.report(t)
}

// has demands that the container has these device nodes of the node's, and no others.
func (s sliced) has(t *testing.T, r report.Report, want ...string) {
	t.Helper()
	var got []string
	for _, n := range r.Nodes {
		if !engineNode(n.Path) {
			got = append(got, n.Path)
			if err := n.Verdict(); err != nil {
				t.Errorf("%s: %v", n.Path, err)
			}
		}
	}
	want = append(slices.Clone(want), sharedNodes...)
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("device nodes (-want +got):\n%s", diff)
	}
}

// each is one slice after the other, by every way, and all at once.
func (s sliced) each(t *testing.T) {
	ways := []string{"--inject=flags"}
	if s.cdi {
		ways = append(ways, "--inject=cdi")
	}
	var together, all []string
	for _, one := range s.all {
		for _, way := range ways {
			t.Run(one.Kind+" "+one.name()+way, func(t *testing.T) {
				s.has(t, s.look(t, "metax-docker", way, "--gpus=[<sgpu:"+one.name()+">]"), one.Nodes...)
			})
		}
		if s.cdi {
			t.Run(one.Kind+" "+one.name()+" CDI", func(t *testing.T) {
				s.has(t, s.look(t, "docker", "--device=metax-tech.com/sgpu="+one.name()), one.Nodes...)
			})
		}
		together, all = append(together, "sgpu:"+one.name()), append(all, one.Nodes...)
	}
	s.has(t, s.look(t, "metax-docker", "--gpus="+strings.Join(together, ",")), all...)
}

// lease asserts that no two containers get the same slice, that different slices of a
// GPU are assigned independently, and that such a GPU is not assigned as a whole.
func (s sliced) lease(t *testing.T) {
	start := func(one slice) result {
		return s.run(t, s.env(), "metax-docker", "run", "--detach", "--network=none", "--gpus=sgpu:"+one.name(), imageRef, "/probe", "pause")
	}
	stop := func(r result) { s.must(t, nil, "docker", "rm", "--force", strings.TrimSpace(r.stdout)) }
	for _, pair := range [][2]slice{{s.all[0], s.all[1]}, {s.all[2], s.all[3]}} {
		first, beside := start(pair[0]), start(pair[1])
		if first.code != 0 || beside.code != 0 {
			t.Fatalf("two slices of one GPU: %v, %v", first, beside)
		}
		if r := start(pair[0]); r.code != 125 || !strings.Contains(r.stderr, "slice "+pair[0].name()+" of GPU "+fmt.Sprint(pair[0].GPU)+" is in use by container ") {
			t.Errorf("want a slice that is held to be refused: %v", r)
		}
		six := s.run(t, s.env(), "metax-docker", "run", "--rm", "--network=none", "--gpus=all", imageRef, "/probe", "exit", "0")
		if six.code != 0 {
			t.Errorf("whole GPUs: %v", six)
		}
		// A container that has stopped frees its slice, and gets it again when it is
		// started again, if it is free.
		id := strings.TrimSpace(first.stdout)
		s.must(t, nil, "docker", "stop", "--time=0", id)
		other := start(pair[0])
		if other.code != 0 {
			t.Fatalf("a slice whose container has stopped: %v", other)
		}
		if r := s.run(t, s.env(), "metax-docker", "start", id); r.code != 125 || !strings.Contains(r.stderr, "slice "+pair[0].name()) {
			t.Errorf("want the start of a container whose slice is held to be refused: %v", r)
		}
		stop(other)
		s.must(t, s.env(), "metax-docker", "start", id)
		if r := start(pair[0]); r.code != 125 {
			t.Errorf("want a slice that was taken back to be refused: %v", r)
		}
		// The slice of a container without a lease is also in use, if its name or its
		// device node shows that.
		if s.cdi {
			plain := s.run(t, nil, "docker", "run", "--detach", "--network=none", "--device=metax-tech.com/sgpu="+pair[0].name(), imageRef, "/probe", "pause")
			stop(first)
			if r := start(pair[0]); r.code != 125 {
				t.Errorf("want a slice that plain docker gave to be refused: %v", r)
			}
			stop(plain)
		} else {
			stop(first)
		}
		again := start(pair[0])
		if again.code != 0 {
			t.Fatalf("a slice that has come free: %v", again)
		}
		stop(again)
		stop(beside)
	}
}

// made is a slice from its beginning to its end, by the simulated mx-smi.
func (s sliced) made(t *testing.T) {
	// The simulated tool makes directories, for which this machine has no program.
	busybox, err := os.ReadFile(os.Getenv("METAX_E2E_SYSTEM") + "/bin/busybox")
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"mkdir", "rm"} {
		s.write(t, "/usr/bin/"+program, string(busybox))
		if err := os.Chmod(s.Path("/usr/bin/"+program), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var made struct {
		Slices []slice `json:"slices"`
	}
	s.decode(t, &made, "metax-ctk", "--root", slicesDir, "sgpu", "create", "2", "--compute=5", "--vram=4G", "-o", "json")
	if len(made.Slices) != 1 {
		t.Fatalf("made %+v, want one slice", made)
	}
	one := made.Slices[0]
	s.has(t, s.look(t, "metax-docker", "--inject=flags", "--gpus=sgpu:"+one.UUID), one.Nodes...)
	s.must(t, nil, "metax-ctk", "--root", slicesDir, "sgpu", "remove", one.UUID)
	if r := s.run(t, s.env(), "metax-docker", "run", "--rm", "--gpus=sgpu:"+one.UUID, imageRef, "/probe", "exit", "0"); r.code != 125 || !strings.Contains(r.stderr, one.UUID) {
		t.Errorf("want a slice that is gone to be refused: %v", r)
	}
}
