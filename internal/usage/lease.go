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

// ValidID reports whether a label can be the ID of a lease.
func ValidID(id string) bool {
	return len(id) == idLength && strings.Trim(id, "0123456789abcdef") == ""
}

// Client is the process that asked for GPUs: metax-docker, and then the docker
// client that it became. Pid and start time together are used only once while a
// host is up.
type Client struct {
	PID int `json:"pid"`
	// Start is the start time in clock ticks since boot, field 22 of
	// /proc/PID/stat; it survives exec.
	Start uint64 `json:"start"`
	// PIDNamespace is the inode of the namespace that PID counts in.
	PIDNamespace uint64 `json:"pidNamespace"`
}

// Life is what can be said of a Client.
type Life int

// The zero value is the careful one: GPUs of a client that nobody can see stay
// with it.
const (
	Unseen Life = iota // it counts in another pid namespace
	Alive
	Ended
)

// Claimant is a live client whose command line names a lease: what remains of a
// lease that has no container yet when the state file is lost.
type Claimant struct {
	Client
	UID   uint32
	Lease string
	GPUs  []gpu.BDF
}
