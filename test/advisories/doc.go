// SPDX-License-Identifier: Apache-2.0

// Package advisories has the list of published faults in what the programs link, and the check
// that none is linked.
package advisories
