// SPDX-License-Identifier: Apache-2.0

package mount_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/mount"
	"github.com/metax-ctk/container-toolkit/test/oldkernel"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// kernels are this machine's and those of oldkernel.
var kernels = append([]string{""}, oldkernel.Names()...)

// tooOld reports whether a kernel cannot mount into a container that has pivoted.
func tooOld(kernel string) bool {
	return slices.ContainsFunc([]uint32{unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_OPENAT2}, func(call uint32) bool {
		return oldkernel.Refuses(kernel, call)
	})
}

// TestMount: the node opens, the container cannot change anything of the host, and the
// host does not see the mount.
func TestMount(t *testing.T) {
	needRoot(t)
	for _, kernel := range kernels {
		for _, userns := range []bool{false, true} {
			for _, pivot := range []bool{false, true} {
				if pivot && tooOld(kernel) {
					continue // TestMountOld
				}
				t.Run(fmt.Sprintf("%s/userns=%t/pivoted=%t", kernel, userns, pivot), func(t *testing.T) {
					node, dir := host(t)
					before := mounts(t)
					c := start(t, plan{Pivot: pivot, Look: []string{"/dev/dri/renderD128", "/opt/maca", "/opt/maca/lib.so", "/etc/one.so"}}, userns)
					if got := c.hook(t, order{
						Kernel: kernel,
						Nodes:  map[string]string{"/dev/dri/renderD128": node},
						Binds:  map[string]string{"/opt/maca": dir, "/etc/one.so": filepath.Join(dir, "lib.so")},
					}); got != "" {
						t.Fatal(got)
					}
					chmod := "EROFS"
					want := map[string]sight{
						"/dev/dri/renderD128": {"c 226:128", "ro nosuid noexec", "ENXIO", chmod, "", "EPERM"},
						"/opt/maca":           {"dir", "ro nosuid nodev", "", chmod, "EROFS", "EPERM"},
						"/opt/maca/lib.so":    {"file", "ro nosuid nodev", "EROFS", chmod, "", "EPERM"},
						"/etc/one.so":         {"file", "ro nosuid nodev", "EROFS", chmod, "", "EPERM"},
					}
					if diff := cmp.Diff(want, c.look(t)); diff != "" {
						t.Error(diff)
					}
					if diff := cmp.Diff(before, mounts(t)); diff != "" {
						t.Errorf("the machine's mounts: %s", diff)
					}
					var st unix.Stat_t
					at := filepath.Join(c.Rootfs, "opt/maca")
					if err := unix.Stat(at, &st); err != nil {
						t.Fatal(err)
					}
					if owner := map[bool]uint32{true: firstID}[userns]; st.Uid != owner || st.Gid != owner {
						t.Errorf("%s is %d:%d, want the container's root, %d", at, st.Uid, st.Gid, owner)
					}
				})
			}
		}
	}
}

func mounts(t *testing.T) string {
	t.Helper()
	return testfile.Text(t, "/proc/self/mountinfo")
}

// TestMountDeep: mounts below a source are included only if deep, and are then
// read-only.
func TestMountDeep(t *testing.T) {
	needRoot(t)
	for _, kernel := range kernels {
		for _, deep := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/deep=%t", kernel, deep), func(t *testing.T) {
				node, dir := host(t)
				sub := filepath.Join(dir, "sub")
				if err := os.Mkdir(sub, 0o777); err != nil {
					t.Fatal(err)
				}
				if err := unix.Mount("none", sub, "tmpfs", 0, ""); err != nil {
					t.Fatal(err)
				}
				defer unix.Unmount(sub, unix.MNT_DETACH)
				testfile.Write(t, filepath.Join(sub, "deep"), "", 0o666)
				c := start(t, plan{Look: []string{"/opt/maca/sub", "/opt/maca/sub/deep"}}, false)
				_ = node
				if got := c.hook(t, order{Kernel: kernel, Deep: deep, Binds: map[string]string{"/opt/maca": dir}}); got != "" {
					t.Fatal(got)
				}
				seen := c.look(t)
				if got := seen["/opt/maca/sub"].Mkdir; got != "EROFS" {
					t.Errorf("a directory below is made: %s", got)
				}
				want := map[bool]string{true: "file", false: "ENOENT"}[deep]
				if got := seen["/opt/maca/sub/deep"].Kind; got != want {
					t.Errorf("the file below is %s, want %s", got, want)
				}
			})
		}
	}
}

func TestMountOld(t *testing.T) {
	needRoot(t)
	node, _ := host(t)
	for _, kernel := range kernels {
		if !tooOld(kernel) {
			continue // TestMount
		}
		c := start(t, plan{Pivot: true}, false)
		got := c.hook(t, order{Kernel: kernel, Nodes: map[string]string{"/dev/dri/renderD128": node}})
		if !strings.Contains(got, mount.ErrOld.Error()) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: says %q", kernel, got)
		}
	}
}

// TestMountExistingNode: an existing node with this number stays, be it the image's or
// that of the host's /dev in a volume; one with another number is covered.
func TestMountExistingNode(t *testing.T) {
	needRoot(t)
	node, _ := host(t)
	root := rootfs(t, false)
	at := filepath.Join(root, "etc/gpu")
	other := filepath.Join(root, "etc/other")
	if err := unix.Mknod(at, unix.S_IFCHR|0o600, int(unix.Mkdev(226, 128))); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mknod(other, unix.S_IFCHR|0o600, int(unix.Mkdev(226, 129))); err != nil {
		t.Fatal(err)
	}
	c := start(t, plan{Rootfs: root, Look: []string{"/etc/gpu", "/etc/other", "/vol/renderD128"}, Volumes: map[string]string{"/vol": filepath.Dir(node)}}, false)
	if got := c.hook(t, order{Nodes: map[string]string{"/etc/gpu": node, "/etc/other": node, "/vol/renderD128": node}}); got != "" {
		t.Fatal(got)
	}
	seen := c.look(t)
	for path, want := range map[string]string{"/etc/gpu": "", "/etc/other": "ro nosuid noexec", "/vol/renderD128": ""} {
		if seen[path].Kind != "c 226:128" || seen[path].Mount != want {
			t.Errorf("%s is %q, mounted %q; want %q", path, seen[path].Kind, seen[path].Mount, want)
		}
	}
}

func TestMountRefused(t *testing.T) {
	needRoot(t)
	node, dir := host(t)
	volume, memory := t.TempDir(), t.TempDir()
	if err := unix.Mount("none", memory, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(memory, unix.MNT_DETACH)
	for name, tt := range map[string]struct {
		plan  plan
		image func(root string) error
		at    string
		want  error
	}{
		"in a volume":               {plan: plan{Volumes: map[string]string{"/vol": volume}}, at: "/vol/maca", want: mount.ErrVolume},
		"a link into a volume":      {plan: plan{Volumes: map[string]string{"/vol": volume}}, image: link("/vol", "opt/x"), at: "/opt/x/maca", want: mount.ErrVolume},
		"the host's memory":         {plan: plan{Volumes: map[string]string{"/vol": memory}}, at: "/vol/maca", want: mount.ErrVolume},
		"/proc":                     {plan: plan{Volumes: map[string]string{"/proc": "/proc"}}, at: "/proc/self/attr", want: mount.ErrKernelFiles},
		"a link into /proc":         {plan: plan{Volumes: map[string]string{"/proc": "/proc"}}, image: link("/proc/1/attr", "opt/maca"), at: "/opt/maca", want: mount.ErrKernelFiles},
		"shared propagation":        {plan: plan{Shared: true}, at: "/etc", want: mount.ErrShared},
		"new, shared propagation":   {plan: plan{Shared: true}, at: "/opt/maca", want: mount.ErrShared},
		"a file for a directory":    {image: func(root string) error { return os.WriteFile(filepath.Join(root, "opt/maca"), nil, 0o644) }, at: "/opt/maca", want: mount.ErrKind},
		"a file on the way":         {image: func(root string) error { return os.WriteFile(filepath.Join(root, "opt/x"), nil, 0o644) }, at: "/opt/x/maca", want: unix.ENOTDIR},
		"a link that leads nowhere": {image: link("nowhere", "opt/maca"), at: "/opt/maca", want: unix.ENOTDIR},
		"a link that leads round":   {image: link("maca", "opt/maca"), at: "/opt/maca", want: unix.ELOOP},
	} {
		t.Run(name, func(t *testing.T) {
			needRoot(t)
			tt.plan.Rootfs = rootfs(t, false)
			if tt.image != nil {
				if err := tt.image(tt.plan.Rootfs); err != nil {
					t.Fatal(err)
				}
			}
			c := start(t, tt.plan, false)
			got := c.hook(t, order{Binds: map[string]string{tt.at: dir}})
			if !strings.Contains(got, tt.want.Error()) || !strings.Contains(got, tt.at) {
				t.Errorf("says %q, want %v", got, tt.want)
			}
		})
	}
	for _, dir := range []string{volume, memory} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("the volume has %v, %v", left, err)
		}
	}
	c := start(t, plan{}, false)
	if got := c.hook(t, order{Nodes: map[string]string{"/etc": node}}); !strings.Contains(got, mount.ErrKind.Error()) {
		t.Errorf("a node on a directory: %q", got)
	}
}

func link(target, at string) func(root string) error {
	return func(root string) error { return os.Symlink(target, filepath.Join(root, at)) }
}

// TestMountInside: links of the image are followed in the image, and the container's
// own memory file system counts as its own.
func TestMountInside(t *testing.T) {
	needRoot(t)
	node, dir := host(t)
	root := rootfs(t, false)
	testfile.Symlink(t, "/../../etc", filepath.Join(root, "opt/link"))
	c := start(t, plan{Rootfs: root, Tmpfs: []string{"/mem"}, Look: []string{"/etc/maca", "/mem/dri/renderD128"}}, false)
	if got := c.hook(t, order{Nodes: map[string]string{"/mem/dri/renderD128": node}, Binds: map[string]string{"/opt/link/maca": dir}}); got != "" {
		t.Fatal(got)
	}
	seen := c.look(t)
	if seen["/etc/maca"].Kind != "dir" || seen["/mem/dri/renderD128"].Kind != "c 226:128" {
		t.Errorf("sees %+v", seen)
	}
}

func TestSourceRefused(t *testing.T) {
	needRoot(t)
	node, dir := host(t)
	c := start(t, plan{}, false)
	for _, kernel := range kernels {
		for what, o := range map[string]order{
			"no node":          {Nodes: map[string]string{"/dev/x": filepath.Join(dir, "none")}},
			"a file as a node": {Nodes: map[string]string{"/dev/x": filepath.Join(dir, "lib.so")}},
			"a relative path":  {Nodes: map[string]string{"/dev/x": "dev/null"}},
			"a node as a file": {Binds: map[string]string{"/opt/x": node}},
			"no directory":     {Binds: map[string]string{"/opt/x": filepath.Join(dir, "none")}},
		} {
			o.Kernel = kernel
			if got := c.hook(t, o); !strings.HasPrefix(got, "take ") {
				t.Errorf("%s: %s: says %q", kernel, what, got)
			}
		}
	}
}

func TestOpenRefused(t *testing.T) {
	needRoot(t)
	c := start(t, plan{}, false)
	for name, tt := range map[string]struct {
		o    order
		want error
	}{
		"no pid":                {order{Pid: -1}, mount.ErrProcess},
		"our own namespace":     {order{Pid: os.Getpid(), Rootfs: c.Rootfs}, mount.ErrNamespace},
		"no such process":       {order{Pid: 1 << 22}, unix.ENOENT},
		"the machine's root":    {order{Pid: c.cmd.Process.Pid, Rootfs: "/"}, os.ErrInvalid},
		"a relative root":       {order{Pid: c.cmd.Process.Pid, Rootfs: "rootfs"}, os.ErrInvalid},
		"a root that is a link": {order{Pid: c.cmd.Process.Pid, Rootfs: "/proc/self/cwd"}, unix.ENOTDIR},
	} {
		got := run(t, tt.o)
		if tt.want == os.ErrInvalid {
			if !strings.Contains(got, "open the container's root") {
				t.Errorf("%s: %q", name, got)
			}
		} else if !strings.Contains(got, tt.want.Error()) {
			t.Errorf("%s: %q, want %v", name, got, tt.want)
		}
	}
	// This process is older than the container: to it, that pid is a newcomer.
	if p, err := mount.OpenProcess(c.cmd.Process.Pid); err == nil {
		p.Close()
		t.Error("a process younger than the hook is taken")
	}
}

// allAtOnce reports whether a kernel can make a tree of mounts read-only in one step.
func allAtOnce(kernel string) bool {
	return !slices.ContainsFunc([]uint32{unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR}, func(call uint32) bool {
		return oldkernel.Refuses(kernel, call)
	})
}

// TestMountStacked: a mount below the source on which another one lies is read-only, or
// can never be seen.
func TestMountStacked(t *testing.T) {
	needRoot(t)
	for _, kernel := range kernels {
		for name, tt := range map[string]struct {
			stack []string // where file systems are mounted, in order
			want  error    // on kernels that take one mount after the other
		}{
			"on its root":  {[]string{"sub", "sub"}, nil},
			"with another": {[]string{"sub", "sub/x", "sub"}, nil},
			"above it":     {[]string{"a/b", "a"}, mount.ErrHidden},
		} {
			t.Run(kernel+"/"+name, func(t *testing.T) {
				_, dir := host(t)
				for i, at := range tt.stack {
					at = filepath.Join(dir, at)
					testfile.Mkdir(t, at, 0o777)
					if err := unix.Mount("none", at, "tmpfs", 0, ""); err != nil {
						t.Fatal(err)
					}
					defer unix.Unmount(at, unix.MNT_DETACH)
					testfile.Write(t, filepath.Join(at, fmt.Sprint("file", i)), "", 0o666)
				}
				top := "/opt/maca/" + tt.stack[len(tt.stack)-1]
				file := fmt.Sprint(top, "/file", len(tt.stack)-1)
				c := start(t, plan{Look: []string{top, file}}, false)
				got := c.hook(t, order{Kernel: kernel, Deep: true, Binds: map[string]string{"/opt/maca": dir}})
				if tt.want != nil && !allAtOnce(kernel) {
					if !strings.Contains(got, tt.want.Error()) {
						t.Errorf("says %q, want %v", got, tt.want)
					}
					return
				}
				if got != "" {
					t.Fatal(got)
				}
				want := map[string]sight{
					top:  {"dir", "ro nosuid nodev", "", "EROFS", "EROFS", "EPERM"},
					file: {"file", "ro nosuid nodev", "EROFS", "EROFS", "", "EPERM"},
				}
				if diff := cmp.Diff(want, c.look(t)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}
