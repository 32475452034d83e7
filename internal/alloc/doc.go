// Package alloc is the picker: which GPUs of a node a job gets, given which are
// free. The answer is the best set there is by a policy's key, and the same on
// every machine: no clock, no randomness, no map order takes part.
//
// It is pure and knows GPUs only as the vertices of a topology.Graph. Who holds
// which GPU, leases, and what a person typed are the business of others.
//
// The terms, for a set X of GPUs and a class c of link:
//
//   - X fits c if a ring collective over all of X can run on links of class c or
//     better: X has at most one GPU, or is a pair so linked, or has a
//     Hamiltonian cycle of such links.
//   - The class of X is the best c that X fits. PIX and PXB are one class, SWITCH.
//   - The capability of X counts, class by class from the best, how many
//     disjoint sets of 8, of 4 and of 2 GPUs (all powers of two) that fit the
//     class X could still serve at once. The worst class of the node is left
//     out, because every set fits it.
//   - The weight of X sums over its pairs what a link of their class is worth,
//     its locality how near they sit on the host. The cut is the weight between
//     X and the GPUs that stay free.
//
// A policy is an order of these quantities, or of others that it defines; sets
// are compared by the first one in which they differ, and by the order of their
// indices if they differ in none.
//
// Which way the best set is found depends on the graph alone. Up to 16 GPUs a
// table has every set (table, search, packings). More GPUs whose links nest are a
// tree of domains, over which all quantities are sums (hierarchy, tree). Any other
// graph has a closure that nests: in it, two GPUs are joined as the best path
// between them is at its worst link. The answer there is the closure's, made
// better by exchanges of single GPUs. It is good and not proven the best, and its
// class is that of a ring that was found in the graph (irregular, exchange, rings).
package alloc
