// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/docker"
	"github.com/metax-ctk/container-toolkit/internal/holders/inspected"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Dir is where the leases of a host are.
const Dir = "/run/metax-container-toolkit/leases"

// Config says whose leases and where to look.
type Config struct {
	Node gpu.Node
	Root string // directory that stands for the host's "/"
	// HostRoot is the path by which programs of the host name Root, where a container sees it
	// elsewhere; empty for Root.
	HostRoot string
	// Engine and Endpoint are the engine that makes the containers and its socket: docker,
	// containerd, podman. Both are empty for a command that makes none.
	Engine, Endpoint string
	// Ignore names, with commas, who only looks at GPUs.
	Ignore string
	// WaitMax is how long a request may wait, 0 without a bound.
	WaitMax time.Duration
	// GRPC are the sources for containerd and the kubelet, which are asked by gRPC. It is not
	// linked here, because it is slow to start.
	GRPC func(*procfs.Proc, holders.Devices, lease.State) []lease.Source
	// Podman runs podman and returns what it prints; it is run only if this user has a lease
	// of a container that was made and not started. Its error is usage.ErrAbsent on a host
	// without podman.
	Podman func(ctx context.Context, args ...string) ([]byte, error)
	// Stopped runs it in any case, to list all containers with a lease.
	Stopped bool
	// Warn and Note print a line. Looked is called with what the sources came back with.
	Warn, Note func(string)
	Looked     func([]lease.Look)
}

// Keeper is a lease.Keeper with its parts.
type Keeper struct {
	*lease.Keeper
	Ledger  *ledger.Ledger
	Proc    *procfs.Proc
	Devices holders.Devices

	config Config
}

// New returns the keeper for the node.
func New(c Config) (Keeper, error) {
	root, err := hostfs.New(c.Root)
	if err != nil {
		return Keeper{}, err
	}
	// In a tree that cannot be written, what is not there stays away.
	dir, err := root.Place(Dir)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		dir, err = root.Join(Dir), nil
	}
	if err != nil {
		return Keeper{}, err
	}
	gid := group()
	proc := procfs.New("/proc", gid)
	boot, err := proc.BootID()
	if err != nil {
		return Keeper{}, err
	}
	book := ledger.New(dir, boot)
	book.DefaultGID = gid
	hostRoot, err := filepath.EvalSymlinks(cmp.Or(c.HostRoot, root.Dir()))
	if err != nil {
		return Keeper{}, err
	}
	if c.Endpoint != "" {
		c.Endpoint = Resolve(c.Endpoint)
	}
	k := Keeper{Ledger: book, Proc: proc, Devices: devices(c.Node, root), config: c}
	k.Keeper = &lease.Keeper{
		WaitMax: c.WaitMax,
		LeaseID: func(c usage.Client, n int) string { return usage.LeaseID(boot, hostRoot, c, n) },
		Store:   book, Liveness: proc.Liveness, Uptime: proc.Uptime, Now: time.Now,
		Clamped: func(requests []lease.Ticket) { c.Warn(clamped(requests, c.WaitMax)) },
		Ignore:  strings.FieldsFunc(c.Ignore, func(r rune) bool { return r == ',' || r == ' ' }),
		Sources: func(s lease.State) []lease.Source {
			var all []lease.Source
			unstarted := func(l usage.Lease) bool {
				return l.Engine == "podman" && l.Unstarted() && l.User != nil && l.User.UID == uint32(os.Getuid())
			}
			if c.Podman != nil && (c.Stopped || slices.ContainsFunc(s.Leases, unstarted)) {
				all = append(all, inspected.Source{Run: c.Podman, UID: uint32(os.Getuid()), Devices: k.Devices})
			}
			for _, socket := range dockerSockets(c.Engine, c.Endpoint, s) {
				all = append(all, docker.New(socket, k.Devices))
			}
			for _, source := range proc.Sources(k.Devices) {
				all = append(all, source)
			}
			return append(all, c.GRPC(proc, k.Devices, s)...)
		},
	}
	if k.Devices.Real() {
		k.GPUs = k.Devices.All()
	}
	return k, nil
}

// clamped says of requests that they wait no longer than most from now on.
func clamped(requests []lease.Ticket, most time.Duration) string {
	ids := make([]string, len(requests))
	for i, r := range requests {
		ids[i] = r.ID
	}
	return fmt.Sprintf("gpus.wait-max is now %s; these requests wait no longer than that from now: %s", most,
		strings.Join(ids, ", "))
}

// devices are those of the node. CDI names mean GPUs of a simulated node only where a
// CDI spec of this machine says so.
func devices(node gpu.Node, root *hostfs.Root) holders.Devices {
	d := holders.NewDevices(node, root)
	if d.Real() {
		return d
	}
	machine, err := hostfs.New("/")
	if err != nil {
		return d.Nameless()
	}
	for _, dir := range []string{"/etc/cdi", "/var/run/cdi"} {
		names, _ := machine.ReadDir(dir) // without one, no spec
		for _, name := range names {
			text, err := machine.ReadFile(path.Join(dir, name))
			if err == nil && bytes.Contains(text, []byte(root.Join("/dev")+"/")) {
				return d
			}
		}
	}
	return d.Nameless()
}

// Me is the user who runs this program.
func Me() *usage.User {
	u := &usage.User{UID: uint32(os.Getuid())}
	if account, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		u.Name = terminal.Line(account.Username)
	}
	return u
}

// Proc is the view of this machine's processes.
func Proc() *procfs.Proc { return procfs.New("/proc", group()) }

// group is the one that may talk to docker, which may take leases too; -1 where there is none.
func group() int {
	if info, err := os.Stat(DockerSocket); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			return int(st.Gid)
		}
	}
	// Docker is installed and does not run yet.
	if g, err := user.LookupGroup("docker"); err == nil {
		if gid, err := strconv.Atoi(g.Gid); err == nil {
			return gid
		}
	}
	return -1
}
