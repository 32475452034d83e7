package backup

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// put gives the file a content, or takes it away if that is nil. In a directory of
// drop-ins there is never a file that is not whole, be its name what it may: CRI-O
// reads every one, and does not start if a killed writer left one behind. There the
// file is made in the directory above, unless that is another file system or must not
// be written to.
func (st step) put(data []byte) error {
	if data == nil {
		_, err := atomicfile.Remove(st.target)
		return err
	}
	o := atomicfile.Options{Perm: st.Mode.Perm(), Meta: st.meta}
	if above, ok := aboveDropIns(st.target); ok {
		o.Dir = above
		_, err := atomicfile.Write(st.target, data, o)
		if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EROFS) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		o.Dir = ""
	}
	_, err := atomicfile.Write(st.target, data, o)
	return err
}

// aboveDropIns is the directory above that of path, if that is one of drop-ins.
func aboveDropIns(path string) (above string, ok bool) {
	dir := filepath.Dir(path)
	return filepath.Dir(dir), strings.HasSuffix(dir, ".d")
}

// clearUp removes what a writer of path left that was killed. Nobody is writing.
func clearUp(path string) error {
	left := func(name string) bool { return atomicfile.IsLeft(name, filepath.Base(path)) }
	if above, ok := aboveDropIns(path); ok {
		if err := sweep(above, left); err != nil {
			return err
		}
	}
	return sweep(filepath.Dir(path), left)
}
