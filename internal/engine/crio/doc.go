// SPDX-License-Identifier: Apache-2.0

// Package crio sets CRI-O up by a file of the toolkit in crio.conf.d. CRI-O reads
// crio.conf and then every file below crio.conf.d, whatever its name, sorted by name. A
// later setting replaces an earlier one; a later table of a runtime replaces the
// earlier one as a whole.
//
// CDI is on in CRI-O since 1.23. CRI-O needs no hook where it has CDI or the runtime.
package crio
