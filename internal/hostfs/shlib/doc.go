// Package shlib reads of a shared library what the dynamic linker would: for
// which machine it is, by which name it goes, and what it needs. It goes by the
// program headers, as the linker does, so a library without sections is one, too.
//
// It reads some kilobytes of a file of any size, and takes nothing in the file for
// true: a hostile one costs an error, not time or memory. debug/elf promises that
// for nothing; it reads whole tables of strings and symbols.
//
// What a library says also has a text form, its facts, in which snapshots keep it.
package shlib
