// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/users"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Sources is where the users of a driver are looked for.
type Sources struct {
	Host *hostfs.Root
	// Devices is where the nodes of the GPUs are that processes open: "/" of this process, or
	// a simulated host.
	Devices *hostfs.Root
	Plugins *hostfs.Root        // the kubelet's directory of device plugins
	Kubelet podresources.Client // of the pods
	Proc    *procfs.Proc        // of all processes of the host
	Leases  string              // directory of the leases of the node tool
}

// Look returns what uses the driver now.
func (s Sources) Look(ctx context.Context) Users {
	ctx, cancel := context.WithTimeout(ctx, users.Patience)
	defer cancel()
	var u Users
	s.plugins(&u)
	s.pods(ctx, &u)
	s.leases(&u)
	s.processes(ctx, &u)
	s.counts(&u)
	return u
}

// unknown adds what could not be found out.
func (u *Users) unknown(what string, err error) {
	u.Unknown = append(u.Unknown, fmt.Sprintf("%s, which are not known (%v)", what, err))
}

func (s Sources) plugins(u *Users) {
	names, err := s.Plugins.ReadDir("/")
	if err != nil {
		u.unknown("device plugins", err)
	}
	if slices.ContainsFunc(names, func(n string) bool {
		return strings.HasPrefix(n, protocol.Device) && path.Ext(n) == ".sock" && answers(s.Plugins.Join(n))
	}) {
		u.Plugin = append(u.Plugin, protocol.Device)
	}
}

// answers reports whether somebody listens on a socket. One of a plugin that was killed stays,
// and refuses.
func answers(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err == nil {
		conn.Close()
	}
	return !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist)
}

func (s Sources) pods(ctx context.Context, u *Users) {
	containers, err := s.Kubelet.List(ctx)
	if err != nil {
		u.unknown("pods with GPUs", err)
	}
	u.Pods = users.Pods(containers, func(resource, _ string) bool {
		return strings.HasPrefix(resource, protocol.LabelPrefix) && resource != protocol.VFIOResource
	})
}

func (s Sources) leases(u *Users) {
	boot, err := s.Proc.BootID()
	if err != nil {
		u.unknown("leases", err)
		return
	}
	record := ledger.New(s.Leases, boot)
	record.Guest = true
	state, err := record.Read()
	if err != nil {
		u.unknown("leases", err)
	}
	for _, l := range state.Leases {
		if l.Engine == usage.Kubernetes { // a pod
			continue
		}
		text := "lease " + l.ID
		if l.User != nil {
			text += " of " + l.User.String()
		}
		u.Leases = append(u.Leases, text)
	}
}

func (s Sources) processes(ctx context.Context, u *Users) {
	n, err := node.Selector{Root: s.Host.Dir()}.Load(ctx)
	if err != nil {
		u.unknown("processes that use a GPU", err)
		return
	}
	if u.Processes, err = users.Processes(ctx, s.Proc, holders.NewDevices(n, s.Devices)); err != nil {
		u.unknown("processes that use a GPU", err)
	}
}

func (s Sources) counts(u *Users) {
	// Neither exists in a kernel that unloads no modules; it says so when it is asked to.
	names, _ := s.Host.ReadDir(moduleDir + "/holders")
	for _, name := range names {
		u.Modules = append(u.Modules, "kernel module "+name)
	}
	if text, err := s.Host.ReadFile(moduleDir + "/refcnt"); err == nil {
		u.Count, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
}
