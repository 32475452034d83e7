// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/discover/kmsg"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// KernelLog follows the kernel's log, and counts what the driver says about the GPUs there.
// The counts are kept in a file, so that another run in the same boot goes on where the last
// one ended.
type KernelLog struct {
	state string // path of the file
	log   *slog.Logger
	// levels say which messages are more than notes. Of two for one message, the first counts.
	levels []ErrorLevel

	mu      sync.Mutex
	counts  kernelState
	changed bool
}

// kernelState is what is kept.
type kernelState struct {
	kmsg.Log
	Serious []Serious `json:"serious,omitempty"`
}

const (
	maxState  = 1 << 20
	saveEvery = time.Second
)

// NewKernelLog returns a KernelLog of the boot with the id, with what an earlier run of it has
// kept in the file. An error whose level is another one now has that.
func NewKernelLog(state, boot string, levels []ErrorLevel, log *slog.Logger) *KernelLog {
	k := &KernelLog{state: state, levels: levels, log: log}
	read, err := atomicfile.Read(state, maxState)
	if err == nil {
		err = json.Unmarshal(read.Data, &k.counts)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("the counts of the kernel's log begin anew", "file", state, "error", printableLine(err.Error()))
	}
	if err != nil || k.counts.Boot != boot {
		k.counts = kernelState{Log: kmsg.Log{Boot: boot}}
	}
	return k
}

// Follow reads records of the kernel's log, each by one read, until the context ends or there
// are no more. A GPU counts that node has ever returned.
func (k *KernelLog) Follow(ctx context.Context, f *os.File, node func() gpu.Node) error {
	defer context.AfterFunc(ctx, func() { f.Close() })()
	defer f.Close()
	defer k.save()
	saving := time.NewTicker(saveEvery)
	defer saving.Stop()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-saving.C:
				k.save()
			case <-stop:
				return
			}
		}
	}()
	var known []gpu.GPU
	learn := func() {
		for _, g := range node().GPUs {
			if !slices.ContainsFunc(known, func(k gpu.GPU) bool { return k.BDF == g.BDF }) {
				known = append(known, g)
			}
		}
	}
	for learn(); len(known) == 0 && ctx.Err() == nil; learn() { // what was written before is still there then
		sleepContext(ctx, saveEvery)
	}
	buffer := make([]byte, kmsg.MaxRecord)
	for {
		n, err := f.Read(buffer)
		switch {
		case ctx.Err() != nil, errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, unix.EPIPE): // the kernel has overwritten records; the next one is there
			continue
		case err != nil:
			return fmt.Errorf("read the kernel's log: %w", err)
		}
		learn()
		k.add(string(buffer[:n]), known)
	}
}

// add adds a record, and logs the first of each kind.
func (k *KernelLog) add(record string, known []gpu.GPU) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m, added := k.counts.Add(record, known)
	if !added {
		return
	}
	k.changed = true
	k.keepSerious(m, known)
	if k.counts.IsFirst(m) {
		k.log.Warn("the driver reports an error of a GPU in the kernel's log", "gpu", m.BDF.String(), "module", m.Module,
			"level", m.Level, "eid", m.EID, "text", m.Text)
	}
}

// save writes the file if there is something new.
func (k *KernelLog) save() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.changed {
		return
	}
	text, err := json.Marshal(k.counts)
	if err == nil {
		_, err = atomicfile.Write(k.state, text, atomicfile.Options{Perm: 0o600, NoSync: true})
	}
	if err != nil {
		k.log.Warn("the counts of the kernel's log were not kept", "file", k.state, "error", printableLine(err.Error()))
	}
	k.changed = false
}

// AddTo returns the readings with what the driver said about each GPU of the node, also one
// without a reading.
func (k *KernelLog) AddTo(n gpu.Node, readings []gpu.Reading) []gpu.Reading {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := slices.Clone(readings)
	for _, g := range n.GPUs {
		counters := k.counts.Counters(g.BDF)
		at := slices.IndexFunc(all, func(r gpu.Reading) bool { return r.BDF == g.BDF })
		switch {
		case len(counters) == 0: // nothing to add
		case at < 0:
			all = append(all, gpu.Reading{BDF: g.BDF, Counters: counters})
		default:
			all[at].Counters = append(slices.Clip(all[at].Counters), counters...)
		}
	}
	return all
}
