// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
	"github.com/metax-ctk/container-toolkit/k8s/internal/slicefile"
)

// Files are the directories of one host that the programs write to, as this process sees them.
// A directory that is missing, or "", has nothing to remove.
type Files struct {
	Run, Lib, CDI string
	Logs          []string // directories of log files
	Features      string   // the features file of Node Feature Discovery
	Koordlet      string   // the directory where koordlet reads devices
	Slices        slicefile.Dir
	// List returns the containers that the kubelet gave devices.
	List func(context.Context) ([]podresources.Container, error)
	Log  *slog.Logger
}

const (
	hookName = "metax-hook"
	// leaseDir exists below Run where the node tool is installed. Then the record of the node
	// and the lock are its as well, and requestName makes it write the specs anew.
	leaseDir    = "leases"
	requestName = "refresh"
)

// Remove removes the files. If a pod has GPUs, or if that is not known, the CDI specs and
// metax-hook stay: when another plugin takes over, the kubelet starts its containers again
// with the CDI names that it was given.
func (f Files) Remove(ctx context.Context) error {
	errs := []error{
		f.remove(f.Lib, "node.json"), f.remove(f.Run, "k8s"), f.remove(f.Run, "validation"),
		f.remove(f.Run, path.Base(report.Dir)),
	}
	tool := f.exists(f.Run, leaseDir)
	if !tool {
		errs = append(errs, f.remove(f.Run, "node.json"), f.remove(f.Run, "cdi.lock"))
	}
	if reason := f.needed(ctx); reason != "" {
		f.Log.Warn("the CDI specs and metax-hook stay on this node", "reason", reason)
	} else {
		errs = append(errs, f.removeSpecs(tool))
	}
	for _, dir := range f.Logs {
		errs = append(errs, logging.Remove(dir, protocol.Device, protocol.Label, protocol.Exporter, protocol.Runtime,
			protocol.Driver, protocol.Operator))
	}
	if f.Features != "" {
		errs = append(errs, f.remove(filepath.Split(f.Features)))
	}
	if f.Koordlet != "" {
		errs = append(errs, f.remove(f.Koordlet, foreign.KoordletFile), f.remove(f.Koordlet, foreign.KoordletTemporary))
	}
	errs = append(errs, f.Slices.Set(nil, func(s protocol.SliceFile) bool { return allocate.IsOwnAlias(s.Alias) }))
	return errors.Join(errs...)
}

// needed returns why the CDI specs are still needed, "" if they are not.
func (f Files) needed(ctx context.Context) string {
	list, err := f.List(ctx)
	if err != nil {
		return "it is not known which pods have GPUs: " + err.Error()
	}
	for _, c := range list {
		if len(c.Devices[protocol.Resource]) > 0 {
			return fmt.Sprintf("pod %s/%s has GPUs", c.Namespace, c.Pod)
		}
	}
	return ""
}

// removeSpecs removes the CDI specs, and metax-hook if no spec is left that runs it. A spec
// that runs another metax-hook was written by somebody else.
func (f Files) removeSpecs(tool bool) error {
	var errs []error
	hook := path.Join(protocol.HookDir, hookName)
	var removed, needed bool
	for _, class := range []string{cdi.DefaultClass, cdi.SoftwareClass, cdi.SliceClass} {
		name := path.Base(cdi.Path(cdi.DefaultVendor, class, cdi.JSON))
		hooks, err := f.hooks(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // nothing needs the hook
		case err != nil:
			needed = true
			f.Log.Warn("a CDI spec stays on this node, because it cannot be read", "error", err.Error())
		case slices.ContainsFunc(hooks, func(h string) bool { return h != hook }):
			needed = needed || slices.Contains(hooks, hook)
			f.Log.Info("a CDI spec stays on this node, because another program wrote it", "file", name)
		default:
			removed = true
			errs = append(errs, f.remove(f.CDI, name))
		}
	}
	if removed && tool {
		errs = append(errs, f.request())
	}
	if !needed {
		errs = append(errs, f.remove(f.Lib, hookName))
	}
	return errors.Join(errs...)
}

// hooks are the programs that a spec runs.
func (f Files) hooks(name string) (all []string, err error) {
	root, err := os.OpenRoot(f.CDI)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, cdi.MaxSpec+1))
	if err != nil {
		return nil, err
	}
	spec, err := cdi.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	for _, h := range spec.ContainerEdits.Hooks {
		all = append(all, h.Path)
	}
	for _, d := range spec.Devices {
		for _, h := range d.ContainerEdits.Hooks {
			all = append(all, h.Path)
		}
	}
	return all, nil
}

// request makes the node tool write the specs anew.
func (f Files) request() error {
	root, err := os.OpenRoot(f.Run)
	if err == nil {
		defer root.Close()
		err = root.WriteFile(requestName, nil, 0o644)
	}
	if err != nil {
		return fmt.Errorf("request the specs of metax-ctk: %w", err)
	}
	return nil
}

// remove removes a file, or a directory with what is in it. It does not leave dir by links.
func (f Files) remove(dir, name string) error {
	if !f.exists(dir, name) {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer root.Close()
		err = root.RemoveAll(name)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", filepath.Join(dir, name), err)
	}
	f.Log.Info("removed", "file", filepath.Join(dir, name))
	return nil
}

func (f Files) exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}
