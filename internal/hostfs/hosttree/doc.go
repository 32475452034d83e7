// SPDX-License-Identifier: Apache-2.0

// Package hosttree is a host's file system as a value: a Tree, its text form, and its
// form on disk. Simulated and captured hosts use it, and so do the tests of other
// packages.
//
// A Tree holds data and no code, and hosttree does not know what the files mean.
// Package hostfs reads a tree on disk.
package hosttree
