// Package exchange picks GPUs on nodes whose links do not nest and that are too large for
// a table. No fast exact method is known for them; the answers are good and not proven to
// be the best.
//
// It begins with the best set of the node's closure (package hierarchy), and with a set
// over which it finds a ring of a better class than that one has. It improves both by
// exchanging one GPU for another as long as that makes the set better, and answers with
// the best set that it saw.
//
// The class that it states for a set is that of the best ring that it found over the set.
// The search for a ring goes from GPU to GPU, and ends after a number of steps that does
// not depend on the machine. A capability counts the rings found, so there may be more.
package exchange
