// SPDX-License-Identifier: Apache-2.0

package mxmaca

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/keep"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// Agent installs what Copiers copied, and keeps the host as it is to be.
type Agent struct {
	Opt     string // /opt of the host
	Proc    string // /proc of the host
	Reports string // directory of the reports
	Policy  Policy
	// Specs writes the CDI specs of the versions that are there.
	Specs func(context.Context) ([]refresh.Written, error)
	Log   *slog.Logger
}

// Prepare empties the directory of the copies and reports that the images are being waited
// for, or why they cannot be copied.
func Prepare(opt, reports string, images []string) error {
	r := report.Report{
		Reason: Pulling, Message: "images with MXMACA are being pulled and copied: " + strings.Join(images, ", ") +
			"; kubectl describe the pod of metax-maca on this node says how far it is",
	}
	failed := emptyStaging(opt)
	if failed != nil {
		failed = fmt.Errorf("make room for copies of MXMACA in %s: %w", parent, failed)
		r.Reason, r.Message = reasonOf(failed), failed.Error()
	}
	_, err := report.Write(reports, report.MACA, r)
	return errors.Join(failed, err)
}

func emptyStaging(opt string) error {
	root, err := os.OpenRoot(opt)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.RemoveAll(stagingDir); err != nil {
		return err
	}
	return root.MkdirAll(stagingDir, 0o755)
}

// Run looks again and again, until the context ends. Then nothing is known of MXMACA any more.
func (a Agent) Run(ctx context.Context, interval time.Duration) error {
	loop := keep.Loop{Write: keep.Files(a.Reports, report.MACA), Log: a.Log, Interval: interval}
	loop.Run(ctx, func(ctx context.Context) (report.Report, bool) { return a.look(ctx), true })
	return report.Remove(a.Reports, report.MACA)
}

// look brings the host up to date and says how it is.
func (a Agent) look(ctx context.Context) report.Report {
	version, err := a.settle(ctx)
	r := report.Report{Ready: err == nil, Version: version}
	if err != nil {
		r.Reason, r.Message = reasonOf(err), strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return r
}

// settle installs what was copied, and returns the version that containers get: that of the
// first image. An error is why not everything is as it is to be; what can be done is done
// nevertheless.
func (a Agent) settle(ctx context.Context) (version string, err error) {
	root, err := os.OpenRoot(a.Opt)
	if err != nil {
		return "", err
	}
	defer root.Close()
	s := store{root}
	staged, err := s.readStaged()
	if err != nil {
		return "", err
	}
	errs := []error{a.empty(s)} // after a kill
	wished := map[string]bool{}
	for i, payload := range staged {
		err := a.install(s, payload)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		wished[payload.Version] = true
		if i == 0 {
			version = payload.Version
		}
	}
	// Before the link leads to a version, engines know it.
	errs = append(errs, a.specs(ctx))
	if version != "" {
		if err := s.linkVersion(version); err != nil {
			errs, version = append(errs, err), ""
		}
	}
	errs = append(errs, a.clean(ctx, s, wished), a.specs(ctx))
	return version, errors.Join(errs...)
}

func (a Agent) install(s store, payload Staged) error {
	err := error(nil)
	if payload.Reason != "" {
		err = &Error{payload.Reason, errors.New(payload.Message)}
	} else {
		err = s.installVersion(payload.dir, payload.Version)
	}
	if err != nil {
		return &Error{reasonOf(err), fmt.Errorf("image %s: %w", payload.Image, err)}
	}
	return nil
}

func (a Agent) specs(ctx context.Context) error {
	written, err := a.Specs(ctx)
	for _, w := range written {
		if w.Changed {
			a.Log.Info("CDI spec", "file", w.Path, "result", w.String())
		}
	}
	return err
}

// clean removes the versions that the policy does not keep.
func (a Agent) clean(ctx context.Context, s store, wished map[string]bool) error {
	all, err := s.installedVersions()
	if err != nil || a.Policy.Order == Never || len(all) <= a.Policy.Threshold {
		return err
	}
	used, err := versionsInUse(a.Proc, a.Opt)
	if err != nil {
		return err
	}
	var versions []Version
	for _, i := range all {
		versions = append(versions,
			Version{i.version, i.at, wished[i.version] || used[i.version] || s.isLinkedVersion(i.version)})
	}
	for _, name := range a.Policy.Expired(versions) {
		if err := s.moveToTrash(name); err != nil {
			return err
		}
	}
	if err := a.specs(ctx); err != nil { // from now on no container gets them
		return err
	}
	return a.empty(s)
}

// empty removes the versions that were discarded, and puts back those that a container got
// meanwhile.
func (a Agent) empty(s store) error {
	discarded, err := s.trashedVersions()
	if err != nil {
		return err
	}
	if len(discarded) > 0 {
		used, err := versionsInUse(a.Proc, a.Opt)
		if err != nil {
			return err
		}
		for _, version := range discarded {
			if used[version] {
				err = s.putBack(version)
			} else if err = s.deleteTrashed(version); err == nil {
				a.Log.Info("removed a version of MXMACA that nobody uses", "version", version)
			}
			if err != nil {
				return err
			}
		}
	}
	return s.removeLeftovers()
}
