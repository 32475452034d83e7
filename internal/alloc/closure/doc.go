// SPDX-License-Identifier: Apache-2.0

// Package closure picks GPUs on nodes whose links do not nest and that are too large for
// a table. It answers with the best set of the node's closure (package hierarchy), of
// which it is not proven that it is the best set of the node.
//
// The figures of a set are those of the node, not of the closure. The class that it states
// for a set is that of the best ring that it found over the set. The search for a ring goes
// from GPU to GPU, and ends after a number of steps that does not depend on the machine. A
// capability counts the rings found, so there may be more.
package closure
