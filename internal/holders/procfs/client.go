package procfs

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/usage"
	"golang.org/x/sys/unix"
)

// Self returns our own process as a client. It fails with ErrForeign where /proc
// is that of another pid namespace, since nobody could find us again there.
func (p *Proc) Self() (usage.Client, error) { return p.Client(os.Getpid()) }

// Client returns the process as a client. PIDNamespace is always our own: it is
// there that the pid counts, also for a process in a namespace further down.
func (p *Proc) Client(pid int) (usage.Client, error) {
	namespace, err := p.namespace()
	if err != nil {
		return usage.Client{}, err
	}
	var buf [statSize]byte
	s, err := p.stat(pid, buf[:])
	if err != nil {
		return usage.Client{}, err
	}
	return usage.Client{PID: pid, Start: s.start, PIDNamespace: namespace}, nil
}

// Life tells what has become of a client. One that counts in another pid
// namespace is Unseen, and so is one that this user may not look at while its pid
// is in use: whether it is still the same process cannot be known.
func (p *Proc) Life(c usage.Client) usage.Life {
	namespace, err := p.namespace()
	if err != nil || c.PIDNamespace != namespace || c.PID <= 0 {
		return usage.Unseen
	}
	var buf [statSize]byte
	s, err := p.stat(c.PID, buf[:])
	switch {
	case err == nil && (s.start != c.Start || s.ended()):
		return usage.Ended
	case err == nil:
		return usage.Alive
	// A /proc mounted with hidepid has no directory either for processes of other
	// users; a signal is answered all the same.
	case (vanished(err) || refused(err)) && errors.Is(unix.Kill(c.PID, 0), unix.ESRCH):
		return usage.Ended
	}
	return usage.Unseen
}

// statSize has room for what parseStat reads: a name of at most 64 bytes, and 20
// numbers of at most 20 digits.
const statSize = 512

func (p *Proc) stat(pid int, buf []byte) (stat, error) {
	path := p.dir + "/" + strconv.Itoa(pid) + "/stat"
	text, err := readAt(unix.AT_FDCWD, path, buf)
	if err != nil {
		return stat{}, fmt.Errorf("read %s: %w", path, err)
	}
	s, ok := parseStat(text)
	if !ok {
		return stat{}, fmt.Errorf("read %s: no process status: %q", path, text)
	}
	return s, nil
}
