package occupancy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Grace is how long a lease outlives a client that died without a container: the
// daemon may still be at work on its last request.
const Grace = 2 * time.Second

// idLength is the number of hex digits of a lease's ID.
const idLength = 12

// The commands that take a lease.
const (
	VerbRun    = "run"
	VerbCreate = "create"
	VerbStart  = "start"
	// VerbEnable is metax-ctk sgpu create --enable, which makes no container.
	VerbEnable = "enable"
)

// User is who took a lease.
type User struct {
	UID  uint32 `json:"uid"`
	Name string `json:"name,omitempty"`
}

// String names the user for a message.
func (u User) String() string { return cmp.Or(u.Name, "uid "+strconv.Itoa(int(u.UID))) }

// Lease is the right of one container, there or about to be, to its GPUs; with
// VerbEnable it is that of the client.
type Lease struct {
	ID string `json:"id"`
	// Rev counts the changes of this lease: what was seen of an older one says
	// nothing of a newer.
	Rev  int       `json:"rev"`
	GPUs []gpu.BDF `json:"gpus"`
	// Slices are the parts of them that the container has, by name; none if it has
	// the GPUs as a whole. Such a lease is Shared.
	Slices []string `json:"slices,omitempty"`
	// Shared leases may overlap with others.
	Shared bool `json:"shared,omitempty"`
	// Engine is empty in a rebuilt lease that does not know it, and where there is
	// to be no container.
	Engine string `json:"engine,omitempty"`
	// Endpoint is the daemon's socket, empty for an engine without a daemon.
	Endpoint string `json:"endpoint,omitempty"`
	Verb     string `json:"verb"`
	Client   Client `json:"client"`
	User     *User  `json:"user,omitempty"` // nil where a rebuilt lease does not know
	// Since is for people; nothing is decided by it.
	Since time.Time `json:"since"`
	// Container is the container's ID, from when it was first seen.
	Container string `json:"container,omitempty"`
	// Bound is true once the container was seen created or running under this
	// lease.
	Bound bool `json:"bound,omitempty"`
	// Started is Container.Started when a start took the lease.
	Started string `json:"started,omitempty"`
	// Gone is the uptime at which the client was first found dead without a
	// container, zero before.
	Gone time.Duration `json:"gone,omitempty"`
}

// LeaseID names the nth lease of a client: the same for the same question, and
// no other's while the host is up.
func LeaseID(boot string, c Client, n int) string {
	h := sha256.New()
	for _, part := range []string{boot, strconv.FormatUint(c.PIDNamespace, 10), strconv.Itoa(c.PID), strconv.FormatUint(c.Start, 10), strconv.Itoa(n)} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:idLength/2])
}
