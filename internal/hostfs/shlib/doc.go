// SPDX-License-Identifier: Apache-2.0

// Package shlib reads from a shared library what the dynamic linker would: the machine
// it is for, its name, and what it needs. Like the linker it uses the program headers,
// so it also reads a library without sections.
//
// It reads some kilobytes of a file of any size and trusts nothing in the file: a
// hostile one leads to an error, not to long reads or much memory. debug/elf is not for
// such files, as its documentation says: it may panic or take much memory. It also unpacks
// compressed names without a limit, reads whole tables of strings and symbols, and finds
// nothing in a library without sections.
//
// The facts of a library also have a text form, in which snapshots keep them.
package shlib
