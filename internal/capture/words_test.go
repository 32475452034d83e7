// SPDX-License-Identifier: Apache-2.0

package capture_test

import (
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/capture"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/snapshot"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestWordsOfFormats: a host, a user or a group that has the name of any word in the files and
// answers of simulated hosts changes nothing that a parser reads, and is replaced elsewhere.
func TestWordsOfFormats(t *testing.T) {
	word := regexp.MustCompile(`[A-Za-z_][\w-]*|[0-9a-fA-F:.x]*[0-9][0-9a-fA-F:.x]*`)
	for _, name := range []string{"c500-8", "c500-8-sgpu"} {
		_, tree := simtest.Host(t, name)
		root := simtest.Root(t, write(t, tree))
		questions := []snapshot.Answer{
			{Argv: []string{"docker", "--version"}, Out: "Docker version 28.5.2, build ecc6942\n"},
			{Argv: []string{"podman", "--version"}, Out: "podman version 5.8.0\n"},
			{Argv: []string{"runc", "--version"}, Out: "runc version 1.3.0\ncommit: v1.3.0-0\nspec: 1.2.1\ngo: go1.23\n"},
		}
		for _, args := range [][]string{{"-L"}, {"topo", "-m"}, {"topo", "-n"}, {"--show-all"}, {"sgpu"}, {"--version"}} {
			out, err := exec.Command("sh", append([]string{root.Join("/opt/mxdriver/bin/mx-smi")}, args...)...).Output()
			questions = append(questions, snapshot.Record(append([]string{"mx-smi"}, args...), out, err))
		}
		shot := func(class scrub.Class, words ...string) (hosttree.Tree, []snapshot.Answer, *scrub.Scrubber) {
			c := capture.Config{Root: root, Scrub: scrub.New()}
			c.Scrub.Root(root.Dir())
			c.Scrub.Learn(class, words...)
			taken, _ := capture.Take(c)
			var answers []snapshot.Answer
			for _, q := range questions {
				answers = append(answers, c.Answer(q))
			}
			return taken, answers, c.Scrub
		}
		want, wantAnswers, _ := shot(scrub.Host)
		seen := map[string]bool{"gpu0": true}
		note := func(text string) {
			for _, w := range word.FindAllString(text, -1) {
				seen[w] = true
			}
		}
		for p, e := range want {
			note(p)
			switch e := e.(type) {
			case hosttree.File:
				note(e.Data)
			case hosttree.Link:
				note(string(e))
			}
		}
		for _, a := range wantAnswers {
			note(a.Out)
		}
		for _, class := range []scrub.Class{scrub.Host, scrub.User, scrub.Name} {
			got, answers, s := shot(class, slices.Sorted(maps.Keys(seen))...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, as %s (-want +got):\n%s", name, class, diff)
			}
			if out := s.Text("ssh to gpu0 failed"); strings.Contains(out, "gpu0") {
				t.Errorf("%s, as %s: a text that no parser reads: %s", name, class, out)
			}
			if diff := cmp.Diff(wantAnswers, answers); diff != "" {
				t.Errorf("%s, as %s (-want +got):\n%s", name, class, diff)
			}
		}
	}
}
