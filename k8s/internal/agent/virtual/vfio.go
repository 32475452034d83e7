// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// VFIO gives GPUs to vfio-pci, and takes back those that it gave.
type VFIO struct {
	Host   *hostfs.Root
	Bus    Bus
	Users  Users
	Record Record
	// UUIDs returns those of the GPUs that are known, by address.
	UUIDs func(context.Context) map[gpu.BDF]gpu.UUID
}

// Step binds the wished GPUs to vfio-pci, and gives the others that it bound itself back. ok
// is false if there is nothing to report: no GPU is wished, and this agent has bound no GPU.
//
// GPUs are changed one by one: one that cannot be changed does not keep the others from it.
func (v VFIO) Step(ctx context.Context, wish protocol.VFIOWish) (r report.Report, ok bool) {
	m, err := v.Record.readChanges()
	wished := wish.GPUs
	switch {
	case err != nil:
		return report.Report{Reason: LookFailed, Message: err.Error()}, true
	case wish.Problem != "" && (wish.Named || len(m.Ours) > 0):
		return unchangedReport(InvalidConfig, "ConfigMap %s: %s", protocol.VFIOConfigMap, wish.Problem), true
	case len(wished) == 0 && len(m.Ours) == 0:
		return report.Report{}, false
	}
	cards, err := readCards(v.Host)
	switch {
	case errors.Is(err, errNoGPU):
		return report.Report{}, false
	case err != nil:
		return unchangedReport(LookFailed, "%v", err), true
	}
	gpus, unknown := v.find(ctx, cards, wished)
	if len(unknown) > 0 {
		return unchangedReport(UnknownGPU, "this node has no GPU %s: name an index, a PCI address or a UUID of it",
			strings.Join(unknown, ", ")), true
	}
	var bad []report.Report
	for _, c := range cards {
		named, bound := slices.Contains(gpus, c.BDF), c.driver == vfioDriver
		var r report.Report
		switch {
		case named && !bound:
			r = v.bind(ctx, c, &m)
		case !named && slices.Contains(m.Ours, c.BDF):
			r = v.free(ctx, c, &m)
		}
		if r.Reason != "" {
			bad = append(bad, r)
		}
	}
	switch {
	case len(bad) > 0:
		messages := make([]string, len(bad))
		for i, b := range bad {
			messages[i] = b.Message
		}
		return report.Report{Reason: bad[0].Reason, Message: strings.Join(slices.Compact(messages), "; ")}, true
	case len(wished) == 0:
		return report.Report{}, false
	}
	return report.Report{
		Ready:   true,
		Message: fmt.Sprintf("%d GPUs are bound to %s: %s", len(gpus), vfioDriver, formatAddresses(gpus)),
	}, true
}

// find returns the GPUs with these names.
func (v VFIO) find(ctx context.Context, cards []card, wished []string) (gpus []gpu.BDF, unknown []string) {
	uuids := v.UUIDs(ctx)
	for _, name := range wished {
		at := slices.IndexFunc(cards, func(c card) bool {
			return name == strconv.Itoa(c.Index) || strings.EqualFold(name, c.BDF.String()) || uuids[c.BDF].Equal(name)
		})
		if at < 0 {
			unknown = append(unknown, strconv.Quote(name))
		} else if b := cards[at].BDF; !slices.Contains(gpus, b) {
			gpus = append(gpus, b)
		}
	}
	return gpus, unknown
}

// bind gives a GPU to vfio-pci, or leaves it with its driver.
func (v VFIO) bind(ctx context.Context, c card, m *made) report.Report {
	if groups, err := v.Host.ReadDir("/sys/kernel/iommu_groups"); err != nil || len(groups) == 0 {
		return report.Report{
			Reason:  IOMMUDisabled,
			Message: "the IOMMU of this node is off, so that no GPU can be given to a virtual machine: switch it on in the firmware, and by the kernel option intel_iommu=on or amd_iommu=on",
		}
	}
	switch {
	case !v.Host.Exists("/sys/bus/pci/drivers/" + vfioDriver):
		return report.Report{Reason: NoVFIODriver, Message: "this node has no driver " + vfioDriver +
			": load it (sudo modprobe vfio-pci), and for the next boot by a file of /etc/modules-load.d"}
	case c.count > 0 || len(c.VFs) > 0:
		return report.Report{Reason: Unsupported, Message: fmt.Sprintf("GPU %s has virtual functions", c.BDF)}
	case c.Mode == gpu.ModeSGPU:
		return report.Report{Reason: Unsupported, Message: fmt.Sprintf("GPU %s is in slice mode", c.BDF)}
	}
	if r := v.refuse(ctx, c); r.Reason != "" {
		return r
	}
	if !slices.Contains(m.Ours, c.BDF) {
		m.Ours = append(m.Ours, c.BDF)
	}
	err := v.Record.writeChanges(*m)
	if err == nil {
		err = v.Bus.Bind(c.BDF, vfioDriver)
	}
	if err == nil {
		err = v.boundTo(c.BDF, true)
	}
	if err == nil {
		return report.Report{}
	}
	message := fmt.Sprintf("GPU %s could not be given to %s: %v", c.BDF, vfioDriver, err)
	back := v.Bus.Bind(c.BDF, "")
	if back == nil {
		back = v.boundTo(c.BDF, false)
	}
	if back == nil {
		back = v.forget(c.BDF, m)
	}
	if back != nil {
		message += fmt.Sprintf(", and could not be given back to its own driver: %v", back)
	}
	return report.Report{Reason: ChangeFailed, Message: message}
}

// free gives a GPU back to its own driver.
func (v VFIO) free(ctx context.Context, c card, m *made) report.Report {
	var err error
	if c.driver == vfioDriver || c.driver == "" { // the latter after an end in the middle
		if r := v.refuse(ctx, c); r.Reason != "" {
			return r
		}
		if err = v.Bus.Bind(c.BDF, ""); err == nil {
			err = v.boundTo(c.BDF, false)
		}
	}
	if err == nil {
		err = v.forget(c.BDF, m)
	}
	if err != nil {
		return report.Report{
			Reason:  ChangeFailed,
			Message: fmt.Sprintf("GPU %s could not be given back to its own driver: %v", c.BDF, err),
		}
	}
	return report.Report{}
}

// refuse reports who uses a GPU; nothing if nobody does.
func (v VFIO) refuse(ctx context.Context, c card) report.Report {
	r := inUseReport(ctx, v.Users, []gpu.BDF{c.BDF})
	if r.Reason != "" {
		r.Message = fmt.Sprintf("GPU %s: %s", c.BDF, r.Message)
	}
	return r
}

func (v VFIO) forget(b gpu.BDF, m *made) error {
	m.Ours = slices.DeleteFunc(m.Ours, func(o gpu.BDF) bool { return o == b })
	return v.Record.writeChanges(*m)
}

// boundTo fails unless a GPU is bound to vfio-pci, or to another driver.
func (v VFIO) boundTo(b gpu.BDF, vfio bool) error {
	cards, err := readCards(v.Host)
	if err != nil {
		return err
	}
	for _, c := range cards {
		if c.BDF == b && c.driver != "" && (c.driver == vfioDriver) == vfio {
			return nil
		}
	}
	return errors.New("the driver did not take it")
}
