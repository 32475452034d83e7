// SPDX-License-Identifier: Apache-2.0

// Package capture takes snapshots of a host, and bug reports: the files that discovery,
// the search for MXMACA, the check of CDI specs and doctor read, what programs say of
// GPUs and engines, and a few files that help a person. It is a list, and nothing beside
// it is looked at.
//
// Links are kept as links. What one leads to is taken only if it is on the list itself, and
// the content of a file never if a link leads out of the place where the file should be. What
// cannot be read is noted, and the rest goes on.
package capture
