// SPDX-License-Identifier: Apache-2.0

// Package usage has the values that say who uses which GPU: leases, containers and
// processes, the holders that follow from them, and what is asked of a source and what
// a source saw. The packages internal/lease and internal/holders share them.
//
// GPUs are named by BDF throughout, which is what stays the same while a host runs.
// Times that decide anything are the uptime of the host, which no clock setting moves.
package usage
