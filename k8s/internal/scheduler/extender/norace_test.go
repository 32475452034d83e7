// SPDX-License-Identifier: Apache-2.0

//go:build !race

package extender

// most is how much memory TestHostile lets the extender take, in MiB.
const most = 128
