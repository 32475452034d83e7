// SPDX-License-Identifier: Apache-2.0

// Package key is the vocabulary of the picker: what a solver is asked, what it answers,
// and the key by which a policy compares sets of GPUs. Solvers, and how an answer is
// explained, are packages beside this one.
//
// The terms, for a set X of GPUs and a link class c (MX, SWITCH, PHB, NODE, SYS, unknown;
// package topology defines them, and PIX and PXB are both SWITCH):
//
//   - A ring over X is a closed walk that visits each GPU of X once. Collectives such as
//     all-reduce run along one. X fits c if it has at most one GPU, is a pair with a link
//     of class c or better, or has a ring of such links (a Hamiltonian cycle).
//   - The class of X is the best c that X fits.
//   - The capability of X says which jobs X could serve next: for each link class, from
//     the best, and each power of two that X has room for, from the largest, how many
//     disjoint subsets of that size fit the class. The worst class of the node is left
//     out unless it is the only one, because every set fits it.
//   - The weight of X is the sum of the weights of the links between its GPUs (package
//     link), and its locality the sum of how near each two sit on the host.
//   - The rest is the free GPUs that X leaves, and the cut is the weight of the links
//     between X and the rest.
//   - Jobs is the change of MTF, a measure of fragmentation that Kunlunxin defines: the
//     number of jobs of 8, 4, 2 and 1 GPUs that fill the rest, minus that before the pick
//     (package hierarchy).
//
// A key is a list of such quantities, called components. Two sets are compared by the
// first component in which they differ. If they differ in none, the set with the lower
// GPU numbers is better.
package key
