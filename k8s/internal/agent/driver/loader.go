// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Loader loads and unloads the module metax.
type Loader interface {
	// Load loads a module, whose file is in the directory of a payload, with what it depends
	// on.
	Load(ctx context.Context, payload string, m Module) error
	// Unload fails with unix.EAGAIN if the driver is in use. It does not wait.
	Unload() error
}

// Kernel is the kernel that this process runs on. It needs the right to load modules, and the
// host's file system for modules of the host that the driver depends on.
type Kernel struct{ Host *hostfs.Root }

var moduleName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)

// Load loads the module. Modules that it depends on are the host's, and its modprobe loads
// them.
func (k Kernel) Load(ctx context.Context, payload string, m Module) error {
	if len(m.Depends) > 0 {
		args := []string{"--all", "--"}
		for _, name := range m.Depends {
			if !moduleName.MatchString(name) {
				return fmt.Errorf("the module depends on %.80q, which is not the name of a module", name)
			}
			args = append(args, name)
		}
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if _, err := child.Below(k.Host.Dir())(ctx, "/sbin/modprobe", args...); err != nil {
			return fmt.Errorf("load the modules that the driver depends on: %w", err)
		}
	}
	file, err := os.OpenInRoot(payload, m.File)
	if err != nil {
		return err
	}
	defer file.Close()
	return os.NewSyscallError("finit_module", unix.FinitModule(int(file.Fd()), "", 0))
}

// Unload unloads the driver.
func (Kernel) Unload() error {
	return os.NewSyscallError("delete_module", unix.DeleteModule("metax", unix.O_NONBLOCK))
}

// loadTrouble is the reason why a module could not be loaded, and the next step in words.
func loadTrouble(err error) (reason, next string) {
	for _, signature := range []error{unix.EKEYREJECTED, unix.ENOKEY, unix.EKEYEXPIRED, unix.EKEYREVOKED} {
		if errors.Is(err, signature) {
			return SignatureRefused,
				"the kernel takes only modules that are signed by a key that it knows: enrol the key of the driver's maker (mokutil --import), or use a payload that is signed"
		}
	}
	switch {
	case errors.Is(err, unix.EPERM):
		return LoadFailed, "the kernel loads no modules: look for kernel.modules_disabled and lockdown"
	case errors.Is(err, unix.ENOEXEC):
		return LoadFailed, "the module does not fit this kernel: choose a payload for it"
	}
	return LoadFailed, "the log of the kernel on the node (dmesg) says more"
}
