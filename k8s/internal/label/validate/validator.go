// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Validator validates one node again and again.
type Validator struct {
	Host       *hostfs.Root
	EngineRoot string // directory below which the engine finds the files of the host
	Client     dynamic.Interface
	Node       string // name of the Node object, of which the verb get is needed
	File       string // exists while the node is ready and somebody looks
	Log        *slog.Logger

	passed *prometheus.GaugeVec
	last   map[string]string // messages by check, which are not logged twice
}

// Register registers the metric of the checks.
func (v *Validator) Register(r prometheus.Registerer) {
	v.passed = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "metax_gpu_label_validation",
		Help: "1 if the node passed the check, 0 if not; absent on a node without a GPU.",
	}, []string{"check"})
	r.MustRegister(v.passed)
}

// Look validates the node, which is as discovered, and returns its labels: none if it has no
// GPU. It writes or removes the file. It fails if the Node cannot be read or the file cannot
// be written.
func (v *Validator) Look(ctx context.Context, n gpu.Node) (map[string]string, error) {
	if len(n.GPUs) == 0 {
		if v.passed != nil {
			v.passed.Reset()
		}
		return nil, v.mark(false)
	}
	capacity, err := v.capacity(ctx)
	if err != nil {
		return nil, err
	}
	checks := []Check{Driver(n), Spec(n, v.Host, v.EngineRoot), Plugin(capacity)}
	v.tell(checks)
	return Labels(checks), v.mark(firstReason(checks) == "")
}

// capacity is that of the Node object.
func (v *Validator) capacity(ctx context.Context) (map[string]string, error) {
	// Version 0 is what the API server has in memory; a look every minute need not be newer.
	node, err := v.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).Get(ctx, v.Node,
		metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("read node %q: %w", v.Node, err)
	}
	capacity, _, err := unstructured.NestedStringMap(node.Object, "status", "capacity")
	return capacity, err
}

// tell counts the checks, and logs what is new.
func (v *Validator) tell(checks []Check) {
	now := map[string]string{}
	for _, c := range checks {
		if v.passed != nil {
			passed := 0.0
			if c.Reason == "" {
				passed = 1
			}
			v.passed.WithLabelValues(c.Name).Set(passed)
		}
		now[c.Name] = c.Message
		before, known := v.last[c.Name]
		switch {
		case known && before == c.Message: // said before
		case c.Reason == "":
			v.Log.Info("the node passed a check", "check", c.Name)
		default:
			v.Log.Warn("the node did not pass a check: "+c.Message, "check", c.Name, "reason", c.Reason)
		}
	}
	v.last = now
}

// End removes the file, because nobody looks any more.
func (v *Validator) End() {
	if err := v.mark(false); err != nil {
		v.Log.Warn("the file of a ready node stays", "error", err)
	}
}

// mark makes the file, or removes it.
func (v *Validator) mark(ready bool) error {
	if ready {
		_, err := atomicfile.Write(v.File, nil, atomicfile.Options{Perm: 0o644})
		return err
	}
	if err := os.Remove(v.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
