// SPDX-License-Identifier: Apache-2.0

//go:build race

package extender

// most is how much memory TestHostile lets the extender take, in MiB: the race detector's own
// is several times that of the program.
const most = 512
