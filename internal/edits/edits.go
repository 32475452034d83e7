// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"path"
	"slices"
)

// Edits is what a container gets. A device, a mount and a group occur once.
type Edits struct {
	// Names are the qualified names of the CDI devices with the same edits:
	// "metax-tech.com/gpu=0".
	Names   []string
	Devices []Device
	Mounts  []Mount
	// Groups are the groups that own Devices, ascending. Group 0 is never among them:
	// engines ignore it, and CDI specs with groups need a newer engine.
	Groups []uint32
	// Env are variables, "NAME=value".
	Env []string
	// GPUEnv are the variables of GPUVariables. They are about all GPUs of the container,
	// so a CDI device of one GPU cannot set them. A variable that the user sets wins.
	GPUEnv []string
	// Links are made in the container.
	Links []Link
	// Libraries are directories in the container where its dynamic linker looks for
	// shared libraries, in this order.
	Libraries []string
	// Programs are directories that the container's PATH needs, if it gets no links to the
	// programs in them.
	Programs []string
}

// Device is a device node of the host. It has no numbers: the engine looks them up when
// it injects, so that they are right after a reload of the driver.
type Device struct {
	HostPath, Path string // on the host as the engine sees it, and in the container
	Permissions    string // of "rwm", as cgroups write them
	GID            uint32 // the group that may open the node; 0 if the container needs no group for it
}

// Mount is a directory of the host in the container.
type Mount struct {
	HostPath, Path string // on the host as the engine sees it, and in the container
	Options        []string
}

// ReadOnly reports whether the container cannot write to the directory.
func (m Mount) ReadOnly() bool { return slices.Contains(m.Options, "ro") }

// Link is a symbolic link in the container.
type Link struct {
	Target, Path string
	// Optional is a link that is left out where the image has something at Path.
	Optional bool
}

// Join returns all edits as one. Of two devices, mounts or links at one path the first stays.
func Join(list ...Edits) Edits {
	var all Edits
	for _, e := range list {
		all.Devices = append(all.Devices, e.Devices...)
		all.Mounts = append(all.Mounts, e.Mounts...)
		all.Names = append(all.Names, e.Names...)
		all.Groups = append(all.Groups, e.Groups...)
		all.Env = append(all.Env, e.Env...)
		all.GPUEnv = append(all.GPUEnv, e.GPUEnv...)
		all.Links = append(all.Links, e.Links...)
		all.Libraries = append(all.Libraries, e.Libraries...)
		all.Programs = append(all.Programs, e.Programs...)
	}
	all.Devices = uniqueByPath(all.Devices, func(d Device) string { return d.Path })
	all.Mounts = uniqueByPath(all.Mounts, func(m Mount) string { return m.Path })
	all.Links = uniqueByPath(all.Links, func(l Link) string { return l.Path })
	slices.Sort(all.Groups)
	all.Groups = slices.DeleteFunc(slices.Compact(all.Groups), func(gid uint32) bool { return gid == 0 })
	return all
}

// uniqueByPath returns the first value of each path.
func uniqueByPath[T any](list []T, pathOf func(T) string) []T {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(v T) bool {
		again := seen[pathOf(v)]
		seen[pathOf(v)] = true
		return again
	})
}

// Below returns the edits for an engine that finds the node's files below root.
func (e Edits) Below(root string) Edits {
	e.Devices, e.Mounts = slices.Clone(e.Devices), slices.Clone(e.Mounts)
	for i := range e.Devices {
		e.Devices[i].HostPath = path.Join(root, e.Devices[i].HostPath)
	}
	for i := range e.Mounts {
		e.Mounts[i].HostPath = path.Join(root, e.Mounts[i].HostPath)
	}
	return e
}

// ByName returns the edits for an engine that resolves their CDI names. The groups stay:
// Docker before 29.5 drops those of a CDI spec when --user is given.
func (e Edits) ByName() Edits { return Edits{Names: e.Names, Groups: e.Groups, GPUEnv: e.GPUEnv} }

// ByValue returns the edits for an engine that knows neither their CDI names nor our
// hook. It makes no links: a directory is mounted a second time in the place of a link to
// it, and LinkDir, which would hold the other links, is left out.
func (e Edits) ByValue() Edits {
	var mounts []Mount
	for _, m := range e.Mounts {
		mounts = append(mounts, m)
		for _, l := range e.Links {
			if l.Target == m.Path {
				mounts = append(mounts, Mount{HostPath: m.HostPath, Path: l.Path, Options: m.Options})
			}
		}
	}
	libraries := slices.DeleteFunc(slices.Clone(e.Libraries), func(dir string) bool { return dir == LinkDir })
	e.Names, e.Links, e.Mounts, e.Libraries = nil, nil, mounts, libraries
	return e
}
