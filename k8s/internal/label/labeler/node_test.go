// SPDX-License-Identifier: Apache-2.0

package labeler

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/metax-ctk/container-toolkit/k8s/internal/label"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// server is an API server with one node object. It applies labels as the real one does for a
// single manager.
type server struct {
	node     metav1.PartialObjectMetadata
	applied  []string // bodies
	requests []string
	refuse   bool
}

func newServer(t *testing.T) (*server, *Node) {
	s := &server{}
	s.node.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
	s.node.Name = "gpu-1"
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	client, err := metadata.NewForConfig(&rest.Config{Host: listener.URL})
	if err != nil {
		t.Fatal(err)
	}
	return s, &Node{Client: client, Name: "gpu-1", Log: slog.New(slog.DiscardHandler)}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests = append(s.requests, r.Method+" "+r.URL.String()+" "+r.Header.Get("Content-Type"))
	if r.Method == http.MethodPatch {
		if s.refuse {
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		body, _ := io.ReadAll(r.Body)
		s.applied = append(s.applied, string(body))
		var sent metav1.PartialObjectMetadata
		if err := json.Unmarshal(body, &sent); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fields := map[string]any{}
		for name := range sent.Labels {
			fields["f:"+name] = map[string]any{}
		}
		raw, _ := json.Marshal(map[string]any{"f:metadata": map[string]any{"f:labels": fields}})
		s.node.Labels, s.node.Annotations = sent.Labels, sent.Annotations
		s.node.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: r.URL.Query().Get("fieldManager"), FieldsV1: metav1.NewFieldsV1(string(raw))}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.node)
}

func TestNode(t *testing.T) {
	api, node := newServer(t)
	labels := map[string]string{protocol.LabelInstalled: "true", label.GPUCount: "8"}
	for i, want := range []bool{true, false, true} {
		if i == 2 {
			labels = map[string]string{protocol.LabelInstalled: "false"}
		}
		changed, err := node.Write(context.Background(), labels, "")
		if err != nil || changed != want {
			t.Fatalf("write %d: %t, %v", i, changed, err)
		}
	}
	get := "GET /api/v1/nodes/gpu-1?resourceVersion=0 "
	patch := "PATCH /api/v1/nodes/gpu-1?fieldManager=metax-gpu-label&force=true application/apply-patch+yaml"
	if diff := cmp.Diff([]string{get, patch, get, get, patch}, api.requests); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		`{"apiVersion":"v1","kind":"Node","metadata":{"labels":{"metax-tech.com/gpu.count":"8","metax-tech.com/gpu.installed":"true"},"name":"gpu-1"}}`,
		`{"apiVersion":"v1","kind":"Node","metadata":{"labels":{"metax-tech.com/gpu.installed":"false"},"name":"gpu-1"}}`,
	}, api.applied); diff != "" {
		t.Error(diff)
	}
}

// TestNodeReports writes the reports of agents, and removes them.
func TestNodeReports(t *testing.T) {
	api, node := newServer(t)
	labels := map[string]string{protocol.LabelInstalled: "true"}
	for i, reports := range []string{`{"driver":{"ready":true}}`, `{"driver":{"ready":true}}`, ""} {
		changed, err := node.Write(context.Background(), labels, reports)
		if err != nil || changed != (i != 1) || api.node.Annotations[protocol.ReportsAnnotation] != reports {
			t.Errorf("write %d: %t, %v, %q", i, changed, err, api.node.Annotations)
		}
	}
}

// TestNodeReportsAlone writes reports where the labels are not known: those of before stay,
// also those that a program before this one wrote.
func TestNodeReportsAlone(t *testing.T) {
	api, node := newServer(t)
	labels := map[string]string{protocol.LabelInstalled: "true"}
	if _, err := node.Write(context.Background(), labels, ""); err != nil {
		t.Fatal(err)
	}
	again := &Node{Client: node.Client, Name: node.Name, Log: node.Log}
	for i, reports := range []string{`{"driver":{"ready":false}}`, `{"driver":{"ready":false}}`, ""} {
		changed, err := again.Write(context.Background(), nil, reports)
		if err != nil || changed != (i != 1) || api.node.Annotations[protocol.ReportsAnnotation] != reports {
			t.Errorf("write %d: %t, %v, %q", i, changed, err, api.node.Annotations)
		}
		if diff := cmp.Diff(labels, api.node.Labels); diff != "" {
			t.Errorf("write %d: %s", i, diff)
		}
	}
}

// TestNodeRefused: a write that failed is not counted as one that someone else undid.
func TestNodeRefused(t *testing.T) {
	api, node := newServer(t)
	labels := map[string]string{protocol.LabelInstalled: "true"}
	api.refuse = true
	for range 2 * label.Rewrites {
		if _, err := node.Write(context.Background(), labels, ""); err == nil {
			t.Fatal("no error")
		}
	}
	api.refuse = false
	if changed, err := node.Write(context.Background(), labels, ""); err != nil || !changed {
		t.Errorf("%t, %v", changed, err)
	}
}
