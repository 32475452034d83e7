// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"bytes"
	"errors"
	"fmt"
	"path"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// Place is where a distribution puts its containerd.
type Place struct {
	Name string
	// Path is the file that containerd reads. It exists where the distribution is
	// installed and was started once.
	Path string
	// DropIns is the directory of drop-ins. For k3s it is that of version 2 files; that of
	// version 3 has -v3 in its name.
	DropIns string
	// Socket is containerd's socket. Units are the systemd units that run it, of which
	// a node has one.
	Socket string
	Units  []string
	layout Layout
}

// Socket is where containerd listens unless told otherwise.
const Socket = "/run/containerd/containerd.sock"

// Places are the installations of containerd that `auto` looks for.
func Places() []Place {
	rancher := func(name string, units ...string) Place {
		dir := "/var/lib/rancher/" + name + "/agent/etc/containerd/"
		return Place{
			Name: name, Path: dir + "config.toml", DropIns: dir + "config.toml.d",
			Socket: "/run/k3s/containerd/containerd.sock", Units: units, layout: Template,
		}
	}
	return []Place{
		{
			Name: "containerd", Path: DefaultPath, DropIns: path.Dir(DefaultDropIn),
			Socket: Socket, Units: []string{"containerd"},
		},
		rancher("k3s", "k3s", "k3s-agent"),
		rancher("rke2", "rke2-server", "rke2-agent"),
		{
			Name: "k0s", Path: "/etc/k0s/containerd.toml", DropIns: "/etc/k0s/containerd.d",
			Socket: "/run/k0s/containerd.sock", Units: []string{"k0sworker", "k0scontroller"}, layout: Merged,
		},
	}
}

// ErrNotStarted reports a distribution that has not made its configuration.
var ErrNotStarted = errors.New("does not exist")

// Input returns the paths and the layout for an installation, given the content of the
// file at Path. k3s and rke2 generate Path at each start: newer releases with an import
// of a directory of drop-ins, older ones only from a template. k0s does not overwrite a
// file without its mark. Without a file, those of k3s and rke2 are ErrNotStarted.
func (p Place) Input(text []byte) (Input, error) {
	in := Input{Path: p.Path, DropInPath: path.Join(p.DropIns, path.Base(DefaultDropIn)), Layout: p.layout}
	switch {
	case text == nil && p.layout == Template:
		return Input{}, fmt.Errorf(
			"%s %w: %s writes it when it starts, so it is not installed here, or was not started yet. With another --data-dir: --config DIR/agent/etc/containerd/config.toml", p.Path, ErrNotStarted, p.Name)
	case text == nil:
		return in, nil
	}
	s, err := parseConfig(File{p.Path, text})
	if err != nil {
		return Input{}, err
	}
	switch p.layout {
	case Merged:
		if !bytes.Contains(text, []byte("k0s_managed=true")) {
			in.Layout = DropIns
		}
	case Template:
		v3 := ""
		if s.version >= 3 {
			v3 = "-v3"
		}
		dir := path.Dir(p.Path)
		in.DropInPath = path.Join(dir, "config"+v3+".toml.d", path.Base(DefaultDropIn))
		if anyImports([]source{s}, engine.Version{}, in.DropInPath) {
			in.Layout = DropIns
			break
		}
		in.Path = path.Join(dir, "config"+v3+".toml.tmpl")
	case DropIns: // as it is
	}
	return in, nil
}
