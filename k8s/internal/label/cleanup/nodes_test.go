// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// api answers requests, and records those that write.
type api struct {
	answers map[string]string // by method, path and query
	writes  []string
	refused bool
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	key := r.Method + " " + r.URL.String()
	if r.Method != http.MethodGet {
		body, _ := io.ReadAll(r.Body)
		a.writes = append(a.writes, key+" "+string(body))
	}
	answer, ok := a.answers[key]
	switch {
	case a.refused:
		w.WriteHeader(http.StatusForbidden)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})
	default:
		io.WriteString(w, answer)
	}
}

func serve(t *testing.T, a *api) *rest.Config {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// TestNodes removes from two pages of Node objects what the programs applied, and nothing
// else.
func TestNodes(t *testing.T) {
	const list = `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {"continue": "`
	const entries = `[{"manager": "metax-gpu-device", "operation": "Apply"}, {"manager": "metax-gpu-device", "operation": "Apply", "subresource": "status"},
		{"manager": "metax-gpu-label", "operation": "Apply"}, {"manager": "metax-gpu-label", "operation": "Update"}, {"manager": "kubelet", "operation": "Apply"}]`
	const patch = "PATCH /api/v1/nodes/a?fieldManager=metax-gpu-device&force=true"
	a := &api{answers: map[string]string{
		"GET /api/v1/nodes?limit=200":               list + `next"}, "items": [{"metadata": {"name": "a", "uid": "u", "managedFields": ` + entries + `}}]}`,
		"GET /api/v1/nodes?continue=next&limit=200": list + `"}, "items": [{"metadata": {"name": "b"}}, {"metadata": {"name": "gone", "uid": "v", "managedFields": [{"manager": "metax-gpu-label", "operation": "Apply"}]}}]}`,
		patch: "{}",
		"PATCH /api/v1/nodes/a/status?fieldManager=metax-gpu-device&force=true": "{}",
		"PATCH /api/v1/nodes/a?fieldManager=metax-gpu-label&force=true":         "{}",
	}}
	for key, answer := range a.answers {
		if answer == "{}" {
			a.answers[key] = `{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}}`
		}
	}
	client, err := metadata.NewForConfig(serve(t, a))
	if err != nil {
		t.Fatal(err)
	}
	nodes := Nodes{Client: client, Log: slog.New(slog.DiscardHandler)}
	if err := nodes.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	body := func(name, uid string) string {
		return ` {"apiVersion":"v1","kind":"Node","metadata":{"name":"` + name + `","uid":"` + uid + `"}}`
	}
	if diff := cmp.Diff([]string{
		patch + body("a", "u"),
		"PATCH /api/v1/nodes/a/status?fieldManager=metax-gpu-device&force=true" + body("a", "u"),
		"PATCH /api/v1/nodes/a?fieldManager=metax-gpu-label&force=true" + body("a", "u"),
		"PATCH /api/v1/nodes/gone?fieldManager=metax-gpu-label&force=true" + body("gone", "v"),
	}, a.writes); diff != "" {
		t.Error(diff)
	}
	a.refused = true
	if err := nodes.Remove(t.Context()); err == nil || !strings.Contains(err.Error(), "list the Nodes") {
		t.Errorf("error is %v", err)
	}
}

// TestEndUpgrade uncordons the node that an upgrade of the driver cordoned, and not the one
// that a person did.
func TestEndUpgrade(t *testing.T) {
	const list = `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "items": [
		{"metadata": {"name": "a", "uid": "u", "resourceVersion": "5", "annotations": {"metax-ctk.io/driver-upgrade": "{\"state\":\"drain\",\"cordoned\":true}"}}},
		{"metadata": {"name": "b", "uid": "v", "resourceVersion": "6", "annotations": {"metax-ctk.io/driver-upgrade": "{\"state\":\"drain\"}"}}},
		{"metadata": {"name": "c"}}]}`
	const node = `{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}}`
	a := &api{answers: map[string]string{"GET /api/v1/nodes?limit=200": list, "PATCH /api/v1/nodes/a": node, "PATCH /api/v1/nodes/b": node}}
	client, err := metadata.NewForConfig(serve(t, a))
	if err != nil {
		t.Fatal(err)
	}
	if err := (Nodes{Client: client, Log: slog.New(slog.DiscardHandler)}).Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{
		`PATCH /api/v1/nodes/a {"metadata":{"annotations":{"metax-ctk.io/driver-upgrade":null},"resourceVersion":"5","uid":"u"},"spec":{"unschedulable":null}}`,
		`PATCH /api/v1/nodes/b {"metadata":{"annotations":{"metax-ctk.io/driver-upgrade":null},"resourceVersion":"6","uid":"v"}}`,
	}, a.writes); diff != "" {
		t.Error(diff)
	}
}

// TestDone has what the API server says of the DaemonSet, and how the answer begins.
func TestDone(t *testing.T) {
	for status, want := range map[string]string{
		`{}`: `DaemonSet "d" has no pods yet`,
		`{"observedGeneration": 1, "desiredNumberScheduled": 3, "numberReady": 1}`: "files stay on 2 of 3 nodes",
		`{"observedGeneration": 1, "desiredNumberScheduled": 3, "numberReady": 3}`: "",
		`{"observedGeneration": 1, "desiredNumberScheduled": 0}`:                   "",
	} {
		a := &api{answers: map[string]string{
			"GET /apis/apps/v1/namespaces/ns/daemonsets/d": `{"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": {"name": "d", "generation": 1}, "status": ` + status + `}`,
		}}
		client, err := dynamic.NewForConfig(serve(t, a))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := Done(t.Context(), client, "ns", "d"); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q", status, got, want)
		}
	}
}

// TestRetry succeeds at the third attempt; where none succeeds, the reason is not the end of
// the time.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 2
		do := func(ctx context.Context) error {
			if left--; left >= 0 {
				return errors.New("away")
			}
			return ctx.Err()
		}
		if err := Retry(t.Context(), do); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left = 1
		err := Retry(ctx, func(ctx context.Context) error {
			err := do(ctx)
			if err == nil {
				cancel()
				err = ctx.Err()
			}
			return err
		})
		if err == nil || err.Error() != "away" {
			t.Errorf("error is %v", err)
		}
	})
}
