package procfs

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// closed returns the GPUs of a process that shows no open file, given why. The
// threads of a process share their files; only where the first of them ends
// and others go on, the files have to be looked for there. A kernel thread has
// none, and refuses nothing that could be seen.
func (w *walk) closed(name string, why error) ([]gpu.BDF, error) {
	s, ok := w.stat(name)
	switch {
	case !ok || s.flags&kernelThread != 0:
		return nil, nil
	case !s.ended() && s.flags&exiting == 0:
		return nil, why
	case s.threads < 2:
		return nil, nil
	}
	dir, err := openAt(w.dir, name+"/task", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	var threads []string
	if err := eachName(dir, w.names[:], func(thread string) bool {
		threads = append(threads, thread)
		return true
	}); err != nil {
		return nil, err
	}
	var found []gpu.BDF
	var errs []error
	for _, thread := range threads {
		var err error
		found, _, err = w.files(name+"/task/"+thread+"/fd", found)
		errs = append(errs, err)
	}
	return found, errors.Join(errs...)
}

// files appends the GPUs of the open files in a directory of descriptors, and
// returns how many it came upon.
func (w *walk) files(path string, found []gpu.BDF) (_ []gpu.BDF, open int, _ error) {
	dir, err := openAt(w.dir, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return found, 0, err
	}
	defer unix.Close(dir)
	var denied error
	err = eachName(dir, w.names[:], func(name string) bool {
		open++
		n, err := unix.Readlinkat(dir, name, w.link[:])
		if err != nil {
			// Root without the right to trace sees the names, but not more.
			if refused(err) {
				denied = err
			}
			return denied == nil
		}
		found = append(found, w.meant(dir, name, w.link[:n])...)
		return w.ctx.Err() == nil // there may be a million
	})
	if denied != nil {
		err = denied
	}
	return found, open, err
}

// meant returns the GPUs that an open file means, told by its device number, or
// on a simulated node by its path. Files outside of /dev are left alone: asking
// for one on a network that hangs would hang us.
func (w *walk) meant(dir int, name string, link []byte) []gpu.BDF {
	devices := w.question.Devices
	if devices.Real() {
		// Daemons have /dev/null open three times.
		if !bytes.HasPrefix(link, []byte("/dev/")) || string(link) == "/dev/null" {
			return nil
		}
		if st, ok := describe(dir, name); ok && st.Mode&unix.S_IFMT == unix.S_IFCHR {
			if bdf, ok := devices.Number(number(st)); ok {
				return []gpu.BDF{bdf}
			}
		}
		return nil
	}
	if !bytes.Contains(link, []byte("/dev/")) {
		return nil
	}
	found := devices.Path(string(bytes.TrimSuffix(link, []byte(" (deleted)"))))
	if len(found) == 0 {
		return nil
	}
	// A directory means all that is below it, but who has it open uses none of it.
	if st, ok := describe(dir, name); !ok || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return nil
	}
	return found
}
