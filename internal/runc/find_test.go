// SPDX-License-Identifier: Apache-2.0

package runc

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
	"github.com/metax-ctk/container-toolkit/test/trusted"
)

// childVariable makes the test binary print what Find makes of its arguments.
const childVariable = "LOWLEVEL_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		path, err := Find(os.Args[1:])
		if err != nil {
			path = err.Error()
		}
		os.Stdout.WriteString(path + "\n")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childEnvironment makes the test binary a child. The race detector would have it sleep for a
// second before it ends.
func childEnvironment() []string {
	return append(os.Environ(), childVariable+"=1", "GORACE=atexit_sleep_ms=0")
}

func needRoot(t *testing.T) {
	t.Helper()
	needs.Root(t, "for files of other owners")
}

// program writes an executable file and the directories above it.
func program(t *testing.T, path string) {
	t.Helper()
	testfile.Write(t, path, "#!/bin/sh\n", 0o755)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFindOne(t *testing.T) {
	needRoot(t)
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, dir string) // besides dir/bin/runc
		want    string                         // part of the error; "" means found
	}{
		"plain":                {func(*testing.T, string) {}, ""},
		"set-uid":              {chmod("bin/runc", 0o755|fs.ModeSetuid), ""},
		"its owner's alone":    {chmod("bin/runc", 0o700), ""},
		"not executable":       {chmod("bin/runc", 0o644), "is not executable"},
		"group may write":      {chmod("bin/runc", 0o775), `group or others may write to "DIR/bin/runc" (mode 0775)`},
		"others may write":     {chmod("bin/runc", 0o757), `"DIR/bin/runc" (mode 0757)`},
		"directory of a group": {chmod("bin", 0o775), `group or others may write to "DIR/bin" (mode 0775)`},
		"directory above":      {chmod(".", 0o777|fs.ModeSticky), `group or others may write to "DIR" (mode 1777)`},
		"another's":            {chown("bin/runc", 1234), `"DIR/bin/runc" belongs to user 1234`},
		"another's directory":  {chown("bin", 1234), `"DIR/bin" belongs to user 1234`},
		"nobody's":             {chown("bin/runc", 65534), `"DIR/bin/runc" belongs to user 65534`},
		"missing":              {remove("bin/runc"), `not there: "DIR/bin/runc"`},
		"missing directory":    {remove("bin"), `not there: "DIR/bin/runc"`},
		"a directory":          {func(t *testing.T, dir string) { remove("bin/runc")(t, dir); must(t, os.Mkdir(dir+"/bin/runc", 0o755)) }, "is not a regular file"},
		"a fifo": {func(t *testing.T, dir string) {
			remove("bin/runc")(t, dir)
			must(t, syscall.Mkfifo(dir+"/bin/runc", 0o755))
		}, "is not a regular file"},
		"below a file":        {func(t *testing.T, dir string) { remove("bin")(t, dir); program(t, dir+"/bin") }, "not a directory"},
		"link":                {link("bin/runc", "../real/runc", 0o755), ""},
		"absolute link":       {link("bin/runc", "DIR/real/runc", 0o755), ""},
		"link up and down":    {link("bin/runc", ".././bin/..//real/../real/runc", 0o755), ""},
		"link above the root": {link("bin/runc", "../../../../../../../../../../DIR/real/runc", 0o755), ""},
		"link through a file": {link("bin/runc", "../real/runc/../runc", 0o755), "not a directory"},
		"linked directory":    {link("bin", "real", 0o755), ""},
		"link to a bad file":  {link("bin/runc", "../real/runc", 0o775), `"DIR/real/runc" (mode 0775)`},
		"link to nothing":     {link("bin/runc", "../real/none", 0o755), `not there: "DIR/bin/runc"`},
		"link to itself":      {link("bin/runc", "runc", 0o755), "too many levels"},
		"link on a bad way": {func(t *testing.T, dir string) {
			link("bin/runc", "../bad/../real/runc", 0o755)(t, dir)
			must(t, os.Mkdir(dir+"/bad", 0o755))
			must(t, os.Chmod(dir+"/bad", 0o777))
		}, `group or others may write to "DIR/bad"`},
		"farm":           {func(t *testing.T, dir string) { farm(t, dir, 39) }, ""},
		"farm too large": {func(t *testing.T, dir string) { farm(t, dir, 41) }, "too many levels"},
		"link into another's farm": {func(t *testing.T, dir string) {
			farm(t, dir, 5)
			must(t, os.Lchown(dir+"/farm", 1234, 0))
		}, `"DIR/farm" belongs to user 1234`},
		"ourselves as a copy": {func(t *testing.T, dir string) { copySelf(t, dir+"/bin/runc") }, "is this program itself"},
		"of our size": {func(t *testing.T, dir string) {
			copySelf(t, dir+"/bin/runc")
			f, err := os.OpenFile(dir+"/bin/runc", os.O_WRONLY, 0)
			must(t, err)
			info, err := f.Stat()
			must(t, err)
			_, err = f.WriteAt([]byte{1, 2, 3}, info.Size()-3)
			must(t, err)
			must(t, f.Close())
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := trusted.Dir(t)
			path := dir + "/bin/runc"
			program(t, path)
			tc.prepare(t, dir)
			got, err := Find([]string{path})
			want := strings.ReplaceAll(tc.want, "DIR", dir)
			switch {
			case want == "" && (err != nil || got != path):
				t.Errorf("%q, %v; want the program", got, err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		})
	}
}

// TestFindSelf runs a copy of this test's program in a trusted directory: it must
// refuse itself under any name and find the other program.
func TestFindSelf(t *testing.T) {
	dir := trusted.Dir(t)
	own := dir + "/metax-runtime"
	copySelf(t, own)
	must(t, os.Symlink("metax-runtime", dir+"/link"))
	must(t, os.Link(own, dir+"/hardlink"))
	copySelf(t, dir+"/copy")
	program(t, dir+"/runc")
	for _, name := range []string{"metax-runtime", "link", "hardlink", "copy"} {
		for candidates, want := range map[string]string{
			"":            `refused: "` + dir + "/" + name + `" is this program itself`,
			dir + "/runc": dir + "/runc\n",
		} {
			cmd := exec.Command(own, strings.Fields(dir+"/"+name+" "+candidates)...)
			cmd.Env = childEnvironment()
			out, err := cmd.CombinedOutput()
			must(t, err)
			if !strings.Contains(string(out), want) {
				t.Errorf("%s %s: %q, want %q", name, candidates, out, want)
			}
		}
	}
}

func TestFindOrder(t *testing.T) {
	dir := trusted.Dir(t)
	for _, name := range []string{"one", "two", "three"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	defer func(before []string) { searchDirs = before }(searchDirs)
	searchDirs = []string{dir + "/one", dir + "/two", dir + "/three"}
	program(t, dir+"/three/runc")
	program(t, dir+"/one/crun")
	program(t, dir+"/elsewhere/youki")
	t.Setenv("PATH", dir+"/elsewhere")
	t.Chdir(dir + "/elsewhere")
	for candidates, want := range map[string]string{
		"runc crun":                    dir + "/three/runc",
		"crun runc":                    dir + "/one/crun",
		"youki crun":                   dir + "/one/crun",
		dir + "/elsewhere/youki crun":  dir + "/elsewhere/youki",
		"./youki crun":                 dir + "/one/crun",
		"../elsewhere/youki runc":      dir + "/three/runc",
		dir + "/none/runc runc":        dir + "/three/runc",
		dir + "/two/../one/crun runc":  dir + "/two/../one/crun",
		dir + "/none/../one/crun runc": dir + "/three/runc",
	} {
		if got, err := Find(strings.Fields(candidates)); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %s", candidates, got, err, want)
		}
	}
	must(t, os.Chmod(dir+"/three/runc", 0o644))
	if got, err := Find([]string{"runc", "crun"}); got != dir+"/one/crun" || err != nil {
		t.Errorf("a candidate that is refused ends the search: %q, %v", got, err)
	}
}

func TestNotFound(t *testing.T) {
	dir := trusted.Dir(t)
	defer func(before []string) { searchDirs = before }(searchDirs)
	searchDirs = []string{dir + "/a", dir + "/b"}
	program(t, dir+"/b/runc")
	must(t, os.Chmod(dir+"/b/runc", 0o644))
	_, err := Find([]string{"runc", "", "..", "bin/crun", "a\nb"})
	var missing *NotFoundError
	if !errors.As(err, &missing) {
		t.Fatalf("%v is no NotFoundError", err)
	}
	var tried []string
	for _, a := range missing.Tried {
		tried = append(tried, a.Path)
	}
	if d := cmp.Diff([]string{dir + "/a/runc", dir + "/b/runc", "", "..", "bin/crun", dir + "/a/a\nb", dir + "/b/a\nb"}, tried); d != "" {
		t.Error(d)
	}
	want := `no low-level runtime to run; refused: "DIR/b/runc" is not executable, "" is neither a name nor an absolute path, ` +
		`".." is neither a name nor an absolute path, "bin/crun" is neither a name nor an absolute path; ` +
		`not there: "DIR/a/runc" "DIR/a/a\nb" "DIR/b/a\nb"`
	if d := cmp.Diff(strings.ReplaceAll(want, "DIR", dir), err.Error()); d != "" {
		t.Error(d)
	}
	if _, err := Find(nil); err == nil || err.Error() != "no low-level runtime to run" {
		t.Errorf("without candidates: %v", err)
	}
}

// TestFindInUserNamespace: in a user namespace the host's root shows as nobody and is
// trusted; on the host nobody is a user and is not (TestFindOne).
func TestFindInUserNamespace(t *testing.T) {
	needRoot(t)
	dir := trusted.Dir(t)
	own := dir + "/self"
	copySelf(t, own)
	program(t, dir+"/roots")
	program(t, dir+"/users")
	must(t, os.Chown(dir+"/users", 1000, 1000))
	program(t, dir+"/mapped")
	must(t, os.Chown(dir+"/mapped", 1001, 1001))
	for name, want := range map[string]string{
		"roots": dir + "/roots", "users": dir + "/users", "mapped": "belongs to user 1",
	} {
		cmd := exec.Command(own, dir+"/"+name)
		cmd.Env = childEnvironment()
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			Credential:  &syscall.Credential{NoSetGroups: true},
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 1000, Size: 1}, {ContainerID: 1, HostID: 1001, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 1000, Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
			t.Skip("needs user namespaces")
		}
		must(t, err)
		if !strings.Contains(string(out), want) {
			t.Errorf("%s: %q, want %q", name, out, want)
		}
	}
}

// TestFindAsUser: a user's own files are trusted by that user's processes.
func TestFindAsUser(t *testing.T) {
	needRoot(t)
	dir := trusted.Dir(t)
	own := dir + "/self"
	copySelf(t, own)
	for name, uid := range map[string]int{"own": 1000, "roots": 0, "others": 1001} {
		program(t, dir+"/"+name)
		must(t, os.Chown(dir+"/"+name, uid, 0))
	}
	for name, want := range map[string]string{
		"own": dir + "/own\n", "roots": dir + "/roots\n", "others": "belongs to user 1001",
	} {
		cmd := exec.Command(own, dir+"/"+name)
		cmd.Env = childEnvironment()
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
		out, err := cmd.CombinedOutput()
		must(t, err)
		if !strings.Contains(string(out), want) {
			t.Errorf("%s: %q, want %q", name, out, want)
		}
	}
}

// TestSearchDirs: the directories are absolute and clean, and those of a usual host
// come first.
func TestSearchDirs(t *testing.T) {
	for _, dir := range searchDirs {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
			t.Errorf("%q is not absolute and clean", dir)
		}
	}
	for _, dir := range []string{"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/var/lib/rancher/k3s/data/current/bin", "/var/lib/rancher/rke2/bin"} {
		if !slices.Contains(searchDirs, dir) {
			t.Errorf("%s is not searched", dir)
		}
	}
}

func chmod(path string, mode fs.FileMode) func(*testing.T, string) {
	return func(t *testing.T, dir string) { must(t, os.Chmod(filepath.Join(dir, path), mode)) }
}

func chown(path string, uid int) func(*testing.T, string) {
	return func(t *testing.T, dir string) { must(t, os.Chown(filepath.Join(dir, path), uid, 0)) }
}

func remove(path string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Join(dir, path))) }
}

// link makes real/runc with a mode, and puts a link to it in the place of path.
func link(path, target string, mode fs.FileMode) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		program(t, dir+"/real/runc")
		must(t, os.Chmod(dir+"/real/runc", mode))
		remove(path)(t, dir)
		must(t, os.Symlink(strings.ReplaceAll(target, "DIR", dir), filepath.Join(dir, path)))
	}
}

// farm makes bin/runc the first of so many links through a directory "farm".
func farm(t *testing.T, dir string, links int) {
	t.Helper()
	must(t, os.Mkdir(dir+"/farm", 0o755))
	program(t, dir+"/farm/0")
	for i := 1; i < links; i++ {
		must(t, os.Symlink(string(rune('0'+i-1)), dir+"/farm/"+string(rune('0'+i))))
	}
	remove("bin/runc")(t, dir)
	must(t, os.Symlink("../farm/"+string(rune('0'+links-1)), dir+"/bin/runc"))
}

func copySelf(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(self)
	must(t, err)
	must(t, os.RemoveAll(path))
	must(t, os.WriteFile(path, data, 0o755))
}
