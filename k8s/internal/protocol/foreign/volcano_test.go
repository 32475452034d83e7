// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// words are what the tests compare of a question: the pod, and each node with the pods that are
// placed on it.
func (a VolcanoArgs) words() string {
	words := []string{a.Pod.Name}
	for _, n := range a.Nodes {
		word := n.Name
		for _, pod := range n.Placed {
			word += "+" + pod.Name
		}
		for _, pod := range n.Leaving {
			word += "-" + pod.Name
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestVolcanoArgs(t *testing.T) {
	task := func(status, name string) string {
		return `{"Job":"j","Status":` + status + `,"LastTransaction":{"Status":2},"Pod":{"metadata":{"name":"` + name + `"}}}`
	}
	ask := func(rest string) string { return `{"task":` + task("1", "p") + rest + `}` }
	const invalid = "invalid question of a scheduler: "
	for name, c := range map[string]struct{ text, want string }{
		"predicate":          {ask(`,"node":{"Name":"a","Node":{"x":[{"Name":"b"}]},"Tasks":{}}`), "p a"},
		"prioritize":         {ask(`,"nodes":[{"Name":"a"},{"Name":"b","Others":null}]`), "p a b"},
		"allocated":          {ask(`,"nodes":[{"Name":"a","Tasks":{"u":` + task("2", "one") + `,"v":` + task("8", "two") + `,"w":` + task("16", "three") + `}}]`), "p a+one+two+three"},
		"running":            {ask(`,"node":{"Name":"a","Tasks":{"u":` + task("32", "x") + `,"v":` + task("4", "pipelined") + `,"w":` + task(`"2"`, "y") + `}}`), "p a"},
		"leaving":            {ask(`,"node":{"Name":"a","Tasks":{"u":` + task("64", "x") + `,"v":` + task("2", "y") + `}}`), "p a+y-x"},
		"any order":          {`{"nodes":[{"Tasks":null,"Name":"a"}],"task":{"Pod":{"metadata":{"name":"p"}},"Status":1}}`, "p a"},
		"the last one":       {ask(`,"nodes":[{"Name":"a"}],"nodes":[{"Name":"b"}]`), "p b"},
		"no node":            {ask(""), "p"},
		"null":               {ask(`,"nodes":null`), "p"},
		"a node that is not": {ask(`,"node":null`), "p "},
		"quotes":             {ask(`,"node":{"Node":{"a":"\"}\\","b":"\\\\"},"Name":"a\"b"}`), `p a"b`},
		"white space":        {" {\t\"task\" : " + task("1", "p") + " , \"node\" : { \"Name\" : \"a\" } }\n", "p a"},
		"what nobody reads":  {ask(`,"node":{"Name":"a","Node":{"x":01e}}`), "p a"},
		"no pod":             {`{"nodes":[{"Name":"a"}]}`, invalid + "it has no pod"},
		"no pod in the task": {`{"task":{"Status":1,"Pod":null}}`, invalid + "it has no pod"},
		"null at last":       {`{"task":{"Pod":{}},"task":null}`, invalid + "it has no pod"},
		"many containers":    {ask(`,"nodes":[{"Tasks":{` + strings.Repeat(`"":{"Status":2,"Pod":{"spec":{"containers":[`+strings.Repeat("{},", 999)+`{}]}}},`, 20) + `"":{"Status":2,"Pod":{"spec":{"containers":[{}]}}}}}]`), invalid + "nodes: Pod: spec: containers: more than 20000 of all pods"},
		"kube-scheduler's":   {`{"Pod":{},"NodeNames":["a"]}`, invalid + "it has no pod"},
		"empty":              {"", invalid + "it is not JSON"},
		"a rest":             {ask("") + "}", invalid + "it is not JSON"},
		"cut":                {strings.TrimSuffix(ask(`,"nodes":[{"Name":"a"`), "}"), invalid + `nodes: it is not JSON`},
		"cut in a string":    {`{"task":{"Pod":{"a":"\"`, invalid + `task: it is not JSON`},
		"no colon":           {`{"task" 1}`, invalid + "it is not JSON"},
		"a name is missing":  {`{1:2}`, invalid + "it is not JSON"},
		"no comma":           {`{"a":1 "b":2}`, invalid + "it is not JSON"},
		"a pod that is not":  {`{"task":{"Pod":{"metadata":tru}}}`, invalid + `task: it is not JSON`},
		"another form":       {`[]`, invalid + "want an object"},
		"not nodes":          {ask(`,"nodes":"a"`), invalid + `nodes: want a list`},
		"not a node":         {ask(`,"nodes":["a"]`), invalid + `nodes: want an object`},
		"not a name":         {ask(`,"node":{"Name":1}`), invalid + `node: want a string`},
		"not a pod":          {`{"task":{"Pod":[]}}`, invalid + `task: Pod: want an object`},
		"a long name":        {ask(`,"node":{"Name":"` + strings.Repeat("x", 254) + `"}`), invalid + `node: a name is longer than 253 bytes`},
		"many nodes":         {ask(`,"nodes":[` + strings.Repeat("{},", 5000) + "{}]"), invalid + `nodes: more than 5000 nodes`},
		"many pods":          {ask(`,"nodes":[{"Tasks":{` + strings.Repeat(`"":{"Status":2,"Pod":{}},`, 5000) + `"":{"Status":2,"Pod":{}}}}]`), invalid + `nodes: more than 5000 pods are placed or evicted`},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := ParseVolcanoArgs([]byte(c.text), nil, "x")
			got := fmt.Sprint(err)
			if err == nil {
				got = a.words()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestVolcanoRecorded reads questions of Volcano's scheduler (ed72c7c) as its own types make
// them of a pod, a node, and another node on which the session has allocated a pod of the same
// gang.
func TestVolcanoRecorded(t *testing.T) {
	for name, want := range map[string]string{"predicate": "next free", "prioritize": "next free gang+first"} {
		text := testfile.Read(t, "testdata/volcano-"+name+".json")
		a, err := ParseVolcanoArgs(text, nil, "metax-tech.com/gpu", "metax-ctk.io/policy")
		if err != nil {
			t.Fatal(err)
		}
		q := a.Pod.Spec.Containers[0].Resources.Limits["metax-tech.com/gpu"]
		if a.words() != want || q.Value() != 4 || a.Pod.Annotations["metax-ctk.io/policy"] != "binpack" || a.Pod.Spec.SchedulerName != "volcano" {
			t.Errorf("%s: %s, %s, %+v", name, a.words(), q.String(), a.Pod)
		}
	}
}

// TestVolcanoSeen: with the nodes of earlier questions, whose memory is used again by then, a
// question is read as without them.
func TestVolcanoSeen(t *testing.T) {
	task := func(status, name string) string {
		return `{"Status":` + status + `,"Pod":{"metadata":{"name":"` + name + `"}}}`
	}
	ask := func(nodes string) string { return `{"task":` + task("1", "p") + `,"nodes":[` + nodes + `]}` }
	a, b := `{"Name":"a","Tasks":{"u":`+task("2", "x")+`,"v":`+task("64", "y")+`}}`, `{"Name":"b","Tasks":{}}`
	many := `{"Name":"m","Tasks":{` + strings.Repeat(`"":`+task("2", "z")+`,`, maxNodes-1) + `"":` + task("2", "z") + `}}`
	crowd := func(name string) string {
		pod := `"":{"Status":2,"Pod":{"spec":{"containers":[` + strings.Repeat("{},", maxContainers-1) + `{}]}}}`
		return `{"Name":"` + name + `","Tasks":{` + strings.Repeat(pod+",", 10) + pod + `}}`
	}
	var seen VolcanoSeen
	for i, c := range []struct {
		text string
		kept int // nodes that were not read again
	}{
		{ask(a + "," + b), 0},
		{ask(a + "," + b), 2},
		{ask(b + "," + a + "," + many[:len(many)-len(task("2", "z"))-5] + "}}"), 2},
		{ask(`{"Name":"b","Tasks":{"u":` + task("2", "x") + `}},` + a), 1},
		{ask(`{"Name":"b","Tasks":{"u":` + task("2", "new") + `}},` + a), 1},
		{ask(a + "," + a + `,{"Name":"c"}`), 2},
		{ask(` ` + a + ` ,` + a[:len(a)-1] + `,"Name":"other"}`), 1},
		{ask(a + "x"), 1},
		{ask(a[:len(a)-1]), 0},
		{ask(`{"Tasks":{},"Name":"a"},{"Name":"a`), 0},
		{ask(many), 0},
		{ask(many), 1},
		{ask(many + "," + many), 2},
		{ask(many + "," + a), 1},
		{ask(crowd("k")), 0},
		{ask(crowd("k") + "," + crowd("l")), 0},
		{ask(crowd("l")), 0},
	} {
		outcome := func(seen VolcanoSeen) (string, VolcanoArgs) {
			text := []byte(c.text)
			got, err := ParseVolcanoArgs(text, seen, "x")
			for i := range text {
				text[i] = '"'
			}
			if err != nil {
				return err.Error(), got
			}
			return got.words(), got
		}
		want, _ := outcome(nil)
		known := seen
		got, args := outcome(seen)
		if got != want {
			t.Errorf("%d: got  %s\nwant %s", i, got, want)
		}
		kept := 0
		for _, n := range args.Nodes {
			for _, k := range known {
				if k.Name == n.Name && len(k.Placed) == len(n.Placed) && (len(n.Placed) == 0 || k.Placed[0] == n.Placed[0]) {
					kept++
				}
			}
		}
		if args.Pod != nil {
			if kept != c.kept {
				t.Errorf("%d: %d nodes were kept, want %d", i, kept, c.kept)
			}
			seen = args.Seen
		}
	}
}

// TestVolcanoMemory: what is skipped or refused costs no memory.
func TestVolcanoMemory(t *testing.T) {
	const end = `,"task":{"Pod":{}}}`
	for name, text := range map[string]string{
		"nodes":      `{"nodes":[{"Name":"a","Node":{"x":[` + strings.Repeat(`{"y":"z"},`, 200_000) + `{}]}}]` + end,
		"tasks":      `{"nodes":[{"Tasks":{` + strings.Repeat(`"":{"Status":32,"Pod":{}},`, 80_000) + `"":null}}]` + end,
		"containers": `{"node":{},"task":{"Pod":{"spec":{"containers":[` + strings.Repeat("{},", 700_000) + `{}]}}}}`,
		"quotes":     `{"x":"` + strings.Repeat(`\"`, 1_000_000) + `"` + end,
		"escapes":    `{"x":"` + strings.Repeat(`\\`, 1_000_000) + `"` + end,
		"names":      `{"` + strings.Repeat(`\n`, 1_000_000) + `":1` + end,
		"status":     `{"nodes":[{"Tasks":{"":{"Status":"` + strings.Repeat("x", 3_000_000) + `"}}}]` + end,
		"depth":      `{"x":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + end,
	} {
		question := []byte(text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ParseVolcanoArgs(question, nil, "metax-tech.com/gpu", "a")
		runtime.ReadMemStats(&after)
		if (err != nil) != (name == "containers") {
			t.Errorf("%s: %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
			t.Errorf("%s: %d KiB for a question of %d KiB", name, used>>10, len(text)>>10)
		}
	}
}

func FuzzParseVolcanoArgs(f *testing.F) {
	for _, name := range []string{"predicate", "prioritize"} {
		text, err := os.ReadFile("testdata/volcano-" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"task":{"Status":1,"Pod":{"spec":{"containers":[{"resources":{"limits":{"metax-tech.com/gpu":"4"}}}]}}},"nodes":[{"Name":"a","Tasks":{"u":{"Status":2,"Pod":{}}}},null]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := ParseVolcanoArgs(text, nil, "metax-tech.com/gpu", "a")
		switch {
		case err != nil && !errors.Is(err, ErrExtender):
			t.Error(err)
		case err == nil && (a.Pod == nil || len(a.Nodes) > maxNodes):
			t.Errorf("%+v", a)
		case err == nil:
			if again, err := ParseVolcanoArgs(text, a.Seen, "metax-tech.com/gpu", "a"); err != nil || again.words() != a.words() {
				t.Errorf("%v: %s became %s", err, a.words(), again.words())
			}
		}
	})
}
