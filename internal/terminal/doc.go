// SPDX-License-Identifier: Apache-2.0

// Package terminal defines what may be printed. Names of containers, commands, users
// and files, labels, and output of other programs are untrusted: they may move the
// cursor, change colors or the writing direction, or imitate a line of the toolkit. All
// tables, JSON, warnings and errors of the programs pass through this package.
package terminal
