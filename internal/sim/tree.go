// SPDX-License-Identifier: Apache-2.0

package sim

import "github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"

// The parts of a host's tree, so that packages that make or change one import only this
// package.
type (
	// Tree is a host's file system as a value.
	Tree = hosttree.Tree
	// Entry is a File, a Dir, a Link, a Device or a Library.
	Entry = hosttree.Entry
	// File is a regular file.
	File = hosttree.File
	// Dir is a directory, which may be empty.
	Dir = hosttree.Dir
	// Link is a symbolic link.
	Link = hosttree.Link
	// Device is a character device.
	Device = hosttree.Device
)

// ErrTree reports a Tree that cannot be written as it stands.
var ErrTree = hosttree.ErrTree
