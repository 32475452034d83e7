// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// The forms of Volcano's questions, with what is read of them.
type (
	volcanoTask struct {
		Status int
		Pod    *corev1.Pod
	}
	volcanoNode struct {
		Name  string
		Tasks map[string]volcanoTask
	}
)

// on is a node of Volcano's session with the pods that it has allocated there.
func on(name string, pods ...*corev1.Pod) volcanoNode {
	n := volcanoNode{Name: name, Tasks: map[string]volcanoTask{}}
	for _, p := range pods {
		n.Tasks[p.Name] = volcanoTask{2, p}
	}
	return n
}

// evicting is a node of Volcano's session that evicts pods.
func evicting(name string, pods ...*corev1.Pod) volcanoNode {
	n := on(name, pods...)
	for _, p := range pods {
		n.Tasks[p.Name] = volcanoTask{64, p}
	}
	return n
}

// volcano is a question of Volcano about a pod: prioritize, or predicate about a node alone.
func volcano(t testing.TB, gpus int, nodes ...volcanoNode) string {
	t.Helper()
	task := volcanoTask{1, pod("new", "", gpus, false)}
	text, err := json.Marshal(map[string]any{"task": task, "nodes": nodes})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestVolcano asks as Volcano's plugin extender does.
func TestVolcano(t *testing.T) {
	_, h, _ := serve(t)
	gang := pod("gang", "", 2, false)
	bound, seven := pod("a", "domain", 4, true), pod("c", "one", 7, true) // the cluster has them
	other := pod("c", "one", 7, true)
	other.UID = "another"
	for _, c := range []struct {
		name, verb, body string
		code             int
		want             string
	}{
		{"fits", "predicate", volcano(t, 4, on("domain")), 200, `{"status":"","code":0}`},
		{"too few", "predicate", volcano(t, 4, on("one")), 200, `{"status":"4 GPUs requested, but only 1 of 8 GPUs are free and healthy","code":2}`},
		{"evicted", "predicate", volcano(t, 4, evicting("one", seven)), 200, `{"status":"","code":0}`},
		{"too few evicted", "predicate", volcano(t, 8, evicting("domain", seven)), 200, `{"status":"8 GPUs requested, but only 4 of 8 GPUs are free and healthy","code":2}`},
		{"another is evicted", "predicate", volcano(t, 4, evicting("one", other)), 200, `{"status":"4 GPUs requested, but only 1 of 8 GPUs are free and healthy","code":2}`},
		{"evicted, no preference", "prioritize", volcano(t, 4, evicting("one", seven), on("domain")), 200, `{"nodeScore":{"domain":50000,"one":0}}`},
		{"never", "predicate", volcano(t, 9, on("domain")), 200, `{"status":"9 GPUs requested, but this node has only 8","code":3}`},
		{"no GPU, predicate", "predicate", volcano(t, 0, on("one")), 200, `{"status":"","code":0}`},
		{"a new node", "predicate", volcano(t, 4, on("new")), 200, `{"status":"","code":0}`},
		{"links", "prioritize", volcano(t, 4, on("halves"), on("one"), on("domain"), on("bare"), on("new")), 200, `{"nodeScore":{"bare":0,"domain":50000,"halves":45000,"new":0,"one":0}}`},
		{"no GPU", "prioritize", volcano(t, 0, on("halves")), 200, `{"nodeScore":{"halves":0}}`},
		{"nobody is placed", "prioritize", volcano(t, 2, on("domain"), on("halves")), 200, `{"nodeScore":{"domain":45000,"halves":50000}}`},
		{"a gang", "prioritize", volcano(t, 2, on("domain", gang), on("halves")), 200, `{"nodeScore":{"domain":50000,"halves":45000}}`},
		{"a pod that is bound", "prioritize", volcano(t, 2, on("domain", bound), on("halves")), 200, `{"nodeScore":{"domain":45000,"halves":50000}}`},
		{"a full gang", "predicate", volcano(t, 4, on("domain", gang)), 200, `{"status":"","code":0}`},
		{"no node", "prioritize", volcano(t, 4), 400, "invalid question of Volcano: it has no node"},
		{"kube-scheduler's form", "predicate", question(t, 4, "one"), 400, "invalid question of a scheduler: it has no pod"},
		{"nonsense", "prioritize", "{", 400, "invalid question of a scheduler: it is not JSON"},
		{"too large", "prioritize", volcano(t, 4, on(strings.Repeat("x", 1<<17))), 413, errTooLarge.Error()},
		{"a verb that is not answered", "preemptable", "{}", 404, "404 page not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := c.body
			if c.verb == "predicate" {
				body = strings.Replace(strings.Replace(body, `"nodes":[`, `"node":`, 1), `],"task"`, `,"task"`, 1)
			}
			code, got := ask(h, "volcano/"+c.verb, body)
			if code != c.code || got != c.want {
				t.Errorf("got  %d %s\nwant %d %s", code, got, c.code, c.want)
			}
		})
	}
}

// TestVolcanoRecorded answers what Volcano's own types make: its nodes are not known here.
func TestVolcanoRecorded(t *testing.T) {
	_, h, _ := serve(t)
	for verb, want := range map[string]string{"predicate": `{"status":"","code":0}`, "prioritize": `{"nodeScore":{"free":0,"gang":0}}`} {
		text := testfile.Text(t, "../../protocol/foreign/testdata/volcano-"+verb+".json")
		if code, got := ask(h, "volcano/"+verb, text); code != http.StatusOK || got != want {
			t.Errorf("%s: %d %s", verb, code, got)
		}
	}
}
