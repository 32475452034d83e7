// Package crio sets CRI-O up: by a file of the toolkit's own in crio.conf.d. CRI-O
// reads crio.conf and then every file below crio.conf.d, whatever its name, by the
// order of their names; a later setting replaces an earlier one, and so does a
// later table of a runtime as a whole.
//
// CRI-O has CDI switched on since 1.23. It needs no hook where it has CDI or the
// runtime.
package crio
