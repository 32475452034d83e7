// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Check finds what engines accept in a spec until a container fails to start, or for good:
// paths that are not absolute and clean, control characters, hooks that inherit the
// environment of an image; and on the host, device nodes and mounts that are not there,
// pinned device numbers that are not the host's, hooks that users other than root may
// change.
//
// The engine sees the file system of host below engineRoot (see Options.EngineRoot). A nil
// host leaves out the checks that need it.
func Check(spec *specs.Spec, host *hostfs.Root, engineRoot string) []Problem {
	var found problems
	for _, s := range editScopes(spec) {
		s.checkForm(&found)
		if host != nil {
			s.checkHost(&found, engineView{host, engineRoot})
		}
	}
	return found
}

func (s scope) checkForm(found *problems) {
	checkText := func(field string, values ...string) {
		for _, v := range values {
			if !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
				found.add(CodeText, s.device, fmt.Sprintf("%s %q", field, v), "contains control characters or is not UTF-8")
			}
		}
	}
	checkPath := func(field, p string) {
		if !path.IsAbs(p) || path.Clean(p) != p {
			found.add(CodePath, s.device, fmt.Sprintf("%s %q", field, p),
				`not a clean absolute path (no ".", "..", "//" or "/" at the end)`)
		}
		checkText(field, p)
	}
	for _, n := range s.DeviceNodes {
		checkPath("device node", n.Path)
		checkPath("device node", cmp.Or(n.HostPath, n.Path))
	}
	for _, m := range s.Mounts {
		checkPath("mount of", m.HostPath)
		checkPath("mount to", m.ContainerPath)
		checkText("mount option", m.Options...)
		checkText("mount type", m.Type)
	}
	for _, h := range s.Hooks {
		checkPath("hook", h.Path)
		checkText("hook argument", h.Args...)
		checkText("hook environment", h.Env...)
		if len(h.Env) == 0 {
			found.add(CodeHookEnv, s.device, h.Path, "a hook without env runs with the environment of the image")
		}
	}
	checkText("environment", s.Env...)
}

// engineView is the host's file system as an engine sees it.
type engineView struct {
	host *hostfs.Root
	root string
}

// find returns the path on the host of a path of the spec.
func (view engineView) find(p string) (string, bool) {
	if view.root == "" || view.root == "/" {
		return p, true
	}
	rest, ok := strings.CutPrefix(p, path.Clean(view.root))
	return cmp.Or(rest, "/"), ok && (rest == "" || rest[0] == '/')
}

func (s scope) checkHost(found *problems, view engineView) {
	at := func(p string, check func(host *hostfs.Root, p string)) {
		if on, ok := view.find(p); ok {
			check(view.host, on)
		} else {
			found.add(CodeOutside, s.device, p, "not below %s", view.root)
		}
	}
	for _, n := range s.DeviceNodes {
		at(cmp.Or(n.HostPath, n.Path), func(host *hostfs.Root, p string) { s.checkNode(found, n, host, p) })
	}
	for _, m := range s.Mounts {
		at(m.HostPath, func(host *hostfs.Root, p string) {
			if !host.Exists(p) {
				found.add(CodeMount, s.device, m.HostPath, "there is nothing to mount")
			}
		})
	}
	for _, h := range s.Hooks {
		s.checkHook(found, h, view)
	}
}

func (s scope) checkNode(found *problems, n *specs.DeviceNode, host *hostfs.Root, p string) {
	name := cmp.Or(n.HostPath, n.Path)
	dev, err := host.Device(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		found.add(CodeNode, s.device, name, "no such device node")
		return
	case errors.Is(err, hostfs.ErrNotDevice):
		found.add(CodeNode, s.device, name, "not a character device")
		return
	case err != nil:
		found.add(CodeNode, s.device, name, "%v", err)
		return
	}
	if e, err := host.Lstat(p); err == nil && e.Mode&fs.ModeSymlink != 0 {
		found.add(CodeNode, s.device, name, "a symbolic link, which engines do not follow")
	}
	if n.Type != "" && n.Type != "c" && n.Type != "u" {
		found.add(CodeNumbers, s.device, name, "type %q is pinned, the host has a character device", n.Type)
	}
	if (n.Major != 0 || n.Minor != 0) && (n.Major != int64(dev.Major) || n.Minor != int64(dev.Minor)) {
		found.add(CodeNumbers, s.device, name, "numbers %d:%d are pinned, the host has %d:%d", n.Major, n.Minor, dev.Major,
			dev.Minor)
	}
}

// checkHook looks at a program, which belongs to the engine and not to the node: one that
// is not below the engine's root is this machine's own. It may belong to root, and to the
// owner of the node's root directory: who made a simulated node also built its hook.
func (s scope) checkHook(found *problems, h *specs.Hook, view engineView) {
	host := view.host
	p, ok := view.find(h.Path)
	if !ok {
		var err error
		if host, err = hostfs.New("/"); err != nil {
			found.add(CodeHook, s.device, h.Path, "%v", err)
			return
		}
		p = h.Path
	}
	file, err := host.Stat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		found.add(CodeHook, s.device, h.Path, "no such file")
	case err != nil:
		found.add(CodeHook, s.device, h.Path, "%v", err)
	case !file.Mode.IsRegular() || file.Mode.Perm()&0o111 == 0:
		found.add(CodeHook, s.device, h.Path, "not an executable file")
	case !view.host.Protected(file):
		found.add(CodeHook, s.device, h.Path, "users other than root may change it (owner %d, mode %04o)", file.UID,
			file.Mode.Perm()).Writable = true
	}
}
