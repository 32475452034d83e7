// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// idLength is the number of hex digits of a lease's ID.
const idLength = 12

// The commands that take a lease.
const (
	VerbRun    = "run"
	VerbCreate = "create"
	VerbStart  = "start"
	// VerbEnable is metax-ctk sgpu create --enable, which makes no container.
	VerbEnable = "enable"
	// VerbAllocate is the kubelet's call to the device plugin, for a container of a pod.
	VerbAllocate = "allocate"
)

// User is the user of the host who took a lease.
type User struct {
	UID  uint32 `json:"uid"`
	Name string `json:"name,omitempty"`
}

// String names the user for a message.
func (u User) String() string { return cmp.Or(u.Name, "uid "+strconv.Itoa(int(u.UID))) }

// Lease is the record that one container, which may not exist yet, may use its GPUs; with
// VerbEnable, that the client may.
type Lease struct {
	ID string `json:"id"`
	// Rev counts the changes of this lease: a look that began before a change does not
	// apply after it.
	Rev  int       `json:"rev"`
	GPUs []gpu.BDF `json:"gpus"`
	// Slices are the names of the slices of these GPUs that the container has; empty if it
	// has whole GPUs. A lease with slices is Shared.
	Slices []string `json:"slices,omitempty"`
	// Shared leases may overlap with others.
	Shared bool `json:"shared,omitempty"`
	// Engine is empty in a rebuilt lease that does not know it, and for VerbEnable.
	Engine string `json:"engine,omitempty"`
	// Endpoint is the daemon's socket, empty for an engine without a daemon.
	Endpoint string `json:"endpoint,omitempty"`
	Verb     string `json:"verb"`
	Client   Client `json:"client"`
	User     *User  `json:"user,omitempty"` // nil in a rebuilt lease that does not know it
	// Since is for people; no decision depends on it.
	Since time.Time `json:"since"`
	// Container is the container's ID, from when it was first seen.
	Container string `json:"container,omitempty"`
	// Bound is true once the container was seen created or running under this lease.
	Bound bool `json:"bound,omitempty"`
	// Started is Container.Started when a start took the lease.
	Started string `json:"started,omitempty"`
	// Renewed is the uptime at which the device plugin last said that the pod has the GPUs;
	// only leases of Kubernetes have it.
	Renewed time.Duration `json:"renewed,omitempty"`
	// Gone is the uptime at which the client was first found dead without a container, zero
	// before.
	Gone time.Duration `json:"gone,omitempty"`
}

// Unstarted reports whether the lease is of a container that podman or nerdctl has made and
// nobody has started: it has no process.
func (l Lease) Unstarted() bool { return l.ByClient() && l.Verb == VerbCreate }

// ByClient reports whether the client makes and starts the container itself, as podman and
// nerdctl do, so that no daemon continues when the client has ended. Such a lease needs no
// grace; its beginning would have to be recorded in the state file, which a reader cannot
// do.
func (l Lease) ByClient() bool { return l.Engine == "podman" || l.Engine == "containerd" }

// LeaseID returns the ID of the nth lease of a client on the node below root: always the
// same, and unique while the host is up.
func LeaseID(boot, root string, c Client, n int) string {
	return hashID(boot, root, strconv.FormatUint(c.PIDNamespace, 10), strconv.Itoa(c.PID), strconv.FormatUint(c.Start, 10),
		strconv.Itoa(n))
}

// PodLeaseID returns the ID of the lease for these devices of the kubelet, which are
// ascending. At one time, one container has them.
func PodLeaseID(boot string, devices []string) string {
	return hashID(append([]string{boot, Kubernetes}, devices...)...)
}

func hashID(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:idLength/2])
}

// ValidID reports whether a label can be the ID of a lease.
func ValidID(id string) bool {
	return len(id) == idLength && strings.Trim(id, "0123456789abcdef") == ""
}
