// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// The reasons of reports.
const (
	InvalidConfig = "InvalidConfig" // the ConfigMap has a mistake that is about this node
	InUse         = "InUse"         // somebody uses a GPU, or it cannot be seen whether somebody does
	Unsupported   = "Unsupported"   // a GPU cannot do it
	ChangeFailed  = "ChangeFailed"  // the driver did not do it
	LookFailed    = "LookFailed"    // the node could not be read
	StaleSpec     = "StaleSpec"     // the CDI specs could not be written
	UnknownGPU    = "UnknownGPU"    // the node has no such GPU
	IOMMUDisabled = "IOMMUDisabled"
	NoVFIODriver  = "NoVFIODriver" // the kernel module vfio-pci is not loaded
)

// Users returns who uses GPUs, sorted, each as a few words; it fails if that cannot be seen.
type Users func(ctx context.Context, gpus []gpu.BDF) ([]string, error)

// VFs makes virtual functions.
type VFs struct {
	Host   *hostfs.Root
	Bus    Bus
	Users  Users
	Record Record
	Now    func() time.Time

	failed report.Failure[protocol.VFWish]
}

// Step makes each GPU of the node have the wished number of virtual functions: all GPUs, or
// none. ok is false if there is nothing to report: nothing is wished of this node, and nothing
// was changed before.
//
// A step that ended at any point is finished by the next one.
func (v *VFs) Step(ctx context.Context, wish protocol.VFWish) (r report.Report, ok bool) {
	m, err := v.Record.readChanges()
	if err != nil {
		return report.Report{Reason: LookFailed, Message: err.Error()}, true
	}
	if !wish.Named && len(m.Ours) == 0 && len(m.Before) == 0 {
		return report.Report{}, false
	}
	cards, err := readCards(v.Host)
	switch {
	case errors.Is(err, errNoGPU):
		return report.Report{}, false
	case err != nil:
		return unchangedReport(LookFailed, "%v", err), true
	case wish.Problem != "":
		return v.leave(ctx, wish, m, cards), true
	case isSplit(cards, wish.Count) == "":
		return v.done(wish, m, cards)
	}
	if failed, early := v.failed.Report(wish, v.Now()); early {
		return failed, true
	}
	if r := v.check(ctx, wish, cards); r.Reason != "" {
		return r, true
	}
	return v.change(wish, m, cards)
}

// leave leaves the GPUs as they were: a change that was interrupted is undone.
func (v *VFs) leave(ctx context.Context, wish protocol.VFWish, m made, cards []card) report.Report {
	r := unchangedReport(InvalidConfig, "ConfigMap %s: %s", protocol.DriverConfigMap, wish.Problem)
	if len(m.Before) > 0 && v.check(ctx, protocol.VFWish{}, cards).Reason == "" {
		err := v.restore(cards, m.Before)
		if err == nil {
			m.Before = nil
			err = v.Record.writeChanges(m)
		}
		if err != nil {
			r.Message += fmt.Sprintf("; a change that was interrupted could not be undone: %v", err)
		}
	}
	return r
}

// unchangedReport is the report of GPUs that are not changed.
func unchangedReport(reason, format string, a ...any) report.Report {
	return report.Report{Reason: reason, Message: "the GPUs stay as they are: " + fmt.Sprintf(format, a...)}
}

// isSplit says what is not as it should be if each GPU has n virtual functions.
func isSplit(cards []card, n int) string {
	for _, c := range cards {
		if c.count != n || len(c.VFs) != n {
			return fmt.Sprintf("GPU %s has %d virtual functions and says %d, want %d", c.BDF, len(c.VFs), c.count, n)
		}
	}
	return ""
}

// done is the end of a change.
func (v *VFs) done(wish protocol.VFWish, m made, cards []card) (report.Report, bool) {
	m.Before = nil
	if wish.Count == 0 {
		m.Ours = nil
	}
	if err := v.Record.writeChanges(m); err != nil {
		return report.Report{Reason: ChangeFailed, Message: err.Error()}, true
	}
	if !wish.Named {
		return report.Report{}, false
	}
	message := fmt.Sprintf("%d virtual functions on each of %d GPUs", wish.Count, len(cards))
	if wish.Count == 0 {
		message = fmt.Sprintf("%d GPUs without virtual functions", len(cards))
	}
	return report.Report{Ready: true, Message: message}, true
}

// check reports why the GPUs cannot be changed; nothing if they can.
func (v *VFs) check(ctx context.Context, wish protocol.VFWish, cards []card) report.Report {
	var gpus []gpu.BDF
	for _, c := range cards {
		gpus = append(gpus, c.BDF)
		switch {
		case c.SetAside():
			return unchangedReport(Unsupported, "GPU %s is bound to %s, for virtual machines", c.BDF, vfioDriver)
		case c.Mode == gpu.ModeSGPU:
			return unchangedReport(Unsupported, "GPU %s is in slice mode", c.BDF)
		case c.driver == "":
			return unchangedReport(Unsupported, "GPU %s has no driver", c.BDF)
		case c.most < wish.Count:
			return unchangedReport(Unsupported,
				"GPU %s can have %d virtual functions, not %d: card, firmware or driver allow no more", c.BDF, c.most, wish.Count)
		}
	}
	return inUseReport(ctx, v.Users, gpus)
}

// inUseReport reports who uses GPUs; nothing if nobody does.
func inUseReport(ctx context.Context, users Users, gpus []gpu.BDF) report.Report {
	who, err := users(ctx, gpus)
	switch {
	case err != nil:
		return unchangedReport(InUse, "it cannot be seen who uses them: %v", err)
	case len(who) > 0:
		return unchangedReport(InUse, "in use by %s; they change when these have ended", strings.Join(who, ", "))
	}
	return report.Report{}
}

// change splits the GPUs, or makes them what they were before.
func (v *VFs) change(wish protocol.VFWish, m made, cards []card) (report.Report, bool) {
	if len(m.Before) == 0 { // else a change that was interrupted goes on
		m.Before = map[string]int{}
		for _, c := range cards {
			m.Before[c.BDF.String()] = c.count
		}
	}
	owned := slices.Clone(m.Ours)
	for _, c := range cards {
		if !slices.Contains(m.Ours, c.BDF) {
			m.Ours = append(m.Ours, c.BDF)
		}
	}
	if err := v.Record.writeChanges(m); err != nil {
		return unchangedReport(ChangeFailed, "%v", err), true
	}
	err := v.split(cards, wish.Count)
	after, lookErr := readCards(v.Host)
	if err == nil {
		err = lookErr
	}
	if err == nil {
		if why := isSplit(after, wish.Count); why != "" {
			err = errors.New("the driver did not follow: " + why)
		} else {
			return v.done(wish, m, after)
		}
	}
	back := lookErr
	if back == nil {
		back = v.restore(after, m.Before)
	}
	message := fmt.Sprintf("%d virtual functions could not be made: %v; the GPUs are again as they were", wish.Count, err)
	if back != nil {
		message = fmt.Sprintf(
			"%d virtual functions could not be made: %v; and the GPUs could not be made what they were: %v. Restart the node's driver", wish.Count, err, back)
	} else if err := v.Record.writeChanges(made{Ours: owned}); err != nil {
		message += ". " + err.Error()
	}
	failed := report.Report{Reason: ChangeFailed, Message: message +
		fmt.Sprintf(". It is tried again after %s, or when the ConfigMap changes", report.Patience)}
	v.failed.Add(wish, failed, v.Now(), report.Patience) // never sooner: each attempt takes the GPUs away for a moment
	return failed, true
}

// split gives all GPUs a number of virtual functions, until one fails.
func (v *VFs) split(cards []card, n int) error {
	for _, c := range cards {
		if err := v.set(c, n); err != nil {
			return err
		}
	}
	return nil
}

// restore gives each GPU the number that it had, all of them even if one fails.
func (v *VFs) restore(cards []card, before map[string]int) error {
	var errs []error
	for _, c := range cards {
		errs = append(errs, v.set(c, before[c.BDF.String()]))
	}
	return errors.Join(errs...)
}

func (v *VFs) set(c card, n int) (err error) {
	if c.count == n {
		return nil
	}
	if c.count > 0 {
		err = v.Bus.SetVFs(c.BDF, 0)
	}
	if err == nil && n > 0 {
		err = v.Bus.SetVFs(c.BDF, n)
	}
	if err != nil {
		return fmt.Errorf("GPU %s: %w", c.BDF, err)
	}
	return nil
}
