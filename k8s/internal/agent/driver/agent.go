// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/keep"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

const moduleDir = "/sys/module/metax"

// retry is the first time after which a step that failed is repeated.
const retry = 5 * time.Second

// Agent keeps the driver of one node as it is wished.
type Agent struct {
	Host       *hostfs.Root
	Payload    string // directory with what Collect took
	Record     string // file of the Record
	PreferHost bool
	Loader     Loader
	Users      func(context.Context) Users
	Loop       keep.Loop
	Log        *slog.Logger
	Now        func() time.Time

	payload *Payload
	invalid error // why there is no payload, as long as its content is the same
	// failed is the last step that failed, by what Decide reports.
	failed report.Failure[report.Report]
	// announced is whether it was reported in an earlier look that the driver will be
	// unloaded.
	announced bool
}

// Run looks again and again until the context ends, and returns whether the driver is ready
// then. A look that has begun goes on, so that the end of a pod does not leave a node without
// a driver.
func (a *Agent) Run(ctx context.Context) (ready bool) {
	if !a.Host.Exists(moduleDir) {
		_ = a.say(report.Report{Mode: gpu.DriverCloud, Reason: Loading, Message: "the driver's payload is being read"})
	}
	return a.Loop.Run(ctx, func(ctx context.Context) (report.Report, bool) { return labelled(a.Look(ctx)), true }).Ready
}

func (a *Agent) say(r report.Report) error { return a.Loop.Say(labelled(r), true) }

// labelled is a report without a version that has characters which a label cannot have.
func labelled(r report.Report) report.Report {
	if len(validation.IsValidLabelValue(r.Version)) > 0 {
		r.Version = ""
	}
	return r
}

// Look looks once, does the next step, and returns what to report. It can be ended at any
// point: the next Look, also of another process, goes on from what it finds.
func (a *Agent) Look(ctx context.Context) report.Report {
	look, err := a.see()
	if err != nil {
		return report.Report{Reason: Unknown, Message: err.Error()}
	}
	step, r := Decide(look)
	if failed, early := a.failed.Report(r, a.Now()); early {
		return failed
	}
	announced := a.announced
	a.announced = step == Replace
	decided := r
	switch {
	case step == Stay && r.Ready && r.Reason == "":
		return a.settle(look, r)
	// the payload's files fit a driver that is the same
	case step == Stay && r.Mode == gpu.DriverNative && !look.matchesPayload():
		if err := restoreHome(a.Host); err != nil {
			r.Message += fmt.Sprintf("; its files stay in /opt/%s: %v", hostHome, err)
		}
		return r
	case step == Stay:
		return r
	case step == Replace:
		// A node keeps the driver that it has if the files of the next one cannot be written.
		if err := unpackHome(a.Host, a.Payload, look.Payload.ID); err != nil {
			a.announced = false
			r.Ready, r.Reason, r.Message = true, FilesFailed, err.Error()+"; driver "+versionText(look.Version)+" stays"
			if !look.loadedFromPayload() {
				r.Mode = gpu.DriverNative
			}
			return a.fail(decided, r)
		}
		blocked, is := a.Users(ctx).Blocked(r)
		if is || !announced {
			return blocked
		}
		if err := a.Loader.Unload(); err != nil {
			r.Reason, r.Message = UnloadFailed, fmt.Sprintf("%s: %v", r.Message, err)
			if errors.Is(err, unix.EAGAIN) {
				r.Reason = InUse
			}
			return r
		}
		a.Log.Info("unloaded", "version", look.Version)
	}
	return a.load(ctx, look)
}

// load loads the payload's module. No driver is loaded.
func (a *Agent) load(ctx context.Context, look Look) report.Report {
	m, _ := look.Payload.moduleFor(look.Kernel)
	look.Loaded, look.Version, look.Srcversion = false, "", ""
	_, decided := Decide(look)
	r := decided
	if err := a.say(r); err != nil { // so that nobody takes the driver for the host's
		r.Reason, r.Message = FilesFailed, err.Error()
		return r
	}
	record := Record{Boot: look.Boot, Payload: look.Payload.ID, Version: m.Version, Srcversion: m.Srcversion}
	err := installHome(a.Host, a.Payload, look.Payload.ID)
	if err == nil {
		err = record.saveTo(a.Record)
	}
	if err != nil {
		r.Reason, r.Message = FilesFailed, err.Error()
		return a.fail(decided, r)
	}
	err = a.Loader.Load(ctx, a.Payload, m)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		reason, next := loadTrouble(err)
		r.Reason, r.Message = reason, fmt.Sprintf("driver %s of the payload is not loaded: %v; %s", versionText(m.Version),
			err, next)
		return a.fail(decided, r)
	}
	a.Log.Info("loaded", "version", m.Version, "payload", look.Payload.ID)
	now, err := a.see()
	if err != nil {
		return report.Report{Reason: Unknown, Message: err.Error()}
	}
	step, r := Decide(now)
	if step == Stay && r.Ready && r.Reason == "" {
		return a.settle(now, r)
	}
	return r
}

// fail records that a step failed for which Decide reported decided, and returns what to
// report now.
func (a *Agent) fail(decided, r report.Report) report.Report {
	a.failed.Add(decided, r, a.Now(), retry)
	return r
}

// settle looks after the files of a loaded driver of the payload.
func (a *Agent) settle(look Look, r report.Report) report.Report {
	if err := installHome(a.Host, a.Payload, look.Payload.ID); err != nil {
		return a.fail(r, report.Report{Mode: r.Mode, Reason: FilesFailed, Message: err.Error(), Version: r.Version})
	}
	a.failed = report.Failure[report.Report]{}
	if err := pruneHomes(a.Host, look.Payload.ID); err != nil { // the loaded driver does not need this
		r.Reason, r.Message = FilesFailed, err.Error()
	}
	return r
}

// see reads the host.
func (a *Agent) see() (Look, error) {
	invalid := a.invalid
	if a.payload == nil && invalid == nil {
		var p Payload
		var failed unix.Errno
		if p, invalid = Read(a.Payload); invalid == nil {
			a.payload = &p
		} else if !errors.As(invalid, &failed) { // what the kernel refuses can work in the next look
			a.invalid = invalid
		}
	}
	look := Look{PreferHost: a.PreferHost, Invalid: invalid, Loaded: a.Host.Exists(moduleDir)}
	if a.payload != nil {
		look.Payload = *a.payload
	}
	boot, err := procfs.New(a.Host.Join("/proc"), -1).BootID()
	if err != nil {
		return look, err
	}
	kernel, err := a.Host.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return look, fmt.Errorf("read the host: %w", err)
	}
	look.Boot, look.Kernel = boot, strings.TrimSpace(string(kernel))
	if look.Loaded {
		look.Version, look.Srcversion = a.word("version"), a.word("srcversion")
	}
	if look.Record, err = readRecord(a.Record); err != nil {
		a.Log.Warn("it is not known which driver was loaded; it counts as the host's", "error", err)
	}
	return look, nil
}

// word is what the kernel says of the loaded module, "" if it does not.
func (a *Agent) word(name string) string {
	text, err := a.Host.ReadFile(moduleDir + "/" + name)
	if word := strings.TrimSpace(string(text)); err == nil && compat.IsWord(word) {
		return word
	}
	return ""
}
