// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// Koordlet writes the GPUs of a node into a file for koordlet. It is for one goroutine.
type Koordlet struct {
	Dir string // foreign.KoordletDir
	Log *slog.Logger

	node   gpu.Node
	minors []int                          // by GPU of node
	links  map[int][]foreign.KoordletLink // the same; nil before the first Set
	said   string                         // the last error
}

// Set writes the file if it differs. An error is logged once; the next Set tries again.
func (k *Koordlet) Set(f Facts) {
	minors := minorsOf(f)
	if k.links == nil || !slices.Equal(k.minors, minors) || !reflect.DeepEqual(k.node, f.Node) {
		graph, _ := topology.New(f.Node)
		k.node, k.minors, k.links = f.Node, minors, foreign.KoordletLinks(graph, minors)
	}
	said := ""
	if err := k.write(koordletGPUs(f, minors, k.links)); err != nil {
		said = err.Error()
	}
	if said != "" && said != k.said {
		k.Log.Warn("Koordinator does not know the newest state of the GPUs; trying again", "error", said)
	}
	k.said = said
}

func (k *Koordlet) write(gpus []foreign.KoordletGPU) error {
	text, err := json.MarshalIndent(gpus, "", " ")
	if err != nil {
		return err
	}
	temporary := filepath.Join(k.Dir, foreign.KoordletTemporary)
	if err := atomicfile.MakeDir(temporary, 0o700); err != nil {
		return err
	}
	removeLeft(temporary)
	_, err = atomicfile.Write(filepath.Join(k.Dir, foreign.KoordletFile), append(text, '\n'),
		atomicfile.Options{Perm: 0o644, Dir: temporary})
	return err
}

// leftTime is the age from which a temporary file is not that of the plugin which takes over
// or hands over at an update.
const leftTime = time.Minute

// removeLeft removes what killed writers left. What cannot be removed costs space only.
func removeLeft(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && atomicfile.IsTemporary(e.Name(), foreign.KoordletFile) && time.Since(info.ModTime()) > leftTime {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// koordletGPUs returns the GPUs that Koordinator may give: those with a UUID that are not
// excluded and have no virtual functions. One that is in use outside Kubernetes is unhealthy,
// because Koordinator chooses by itself and knows no other reason not to give a GPU.
func koordletGPUs(f Facts, minors []int, links map[int][]foreign.KoordletLink) []foreign.KoordletGPU {
	list := []foreign.KoordletGPU{}
	for _, g := range f.Node.GPUs {
		at := indexOf(f.State, g)
		if at < 0 || g.UUID == "" || len(g.VFs) > 0 {
			continue
		}
		k := foreign.NewKoordletGPU(g, minors[g.Index])
		k.Topology.P2PLinks = links[g.Index]
		c := f.State.GPUs[at]
		switch {
		case c.Health != health.Healthy:
			k.Status = foreign.KoordletStatus{ErrCode: foreign.KoordletReason(c.Code), ErrMessage: c.Reason}
		case slices.Contains(f.Outside, g.Index):
			k.Status = foreign.KoordletStatus{ErrCode: "InUse", ErrMessage: "it is in use outside Kubernetes"}
		}
		list = append(list, k)
	}
	// Whether Koordinator takes the links of all GPUs depends on whether the first has any.
	slices.SortStableFunc(list, func(a, b foreign.KoordletGPU) int {
		return min(1, len(b.Topology.P2PLinks)) - min(1, len(a.Topology.P2PLinks))
	})
	return list
}

// minorsOf returns the numbers by which Koordinator knows the GPUs of the Node: their indices
// as long as none is missing. The number of a GPU does not change when another falls off the
// bus, because Koordinator counts by it what the pods have.
func minorsOf(f Facts) []int {
	minors := make([]int, len(f.Node.GPUs))
	for _, g := range f.Node.GPUs {
		minors[g.Index] = g.Index
		for _, c := range f.State.GPUs {
			if c.Index < 0 && c.BDF.Compare(g.BDF) < 0 {
				minors[g.Index]++
			}
		}
	}
	return minors
}
