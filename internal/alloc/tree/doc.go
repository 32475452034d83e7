// SPDX-License-Identifier: Apache-2.0

// Package tree picks GPUs on nodes of any size that nest (package hierarchy), exactly. On
// such a node all components of a key are sums over the clusters of what the numbers of
// chosen and of remaining GPUs in each cluster give. So the best choice of n GPUs from a
// cluster is made of best choices from its parts (a max-plus convolution, by dynamic
// programming).
//
// The terms:
//
//   - The dendrogram is the hierarchy as a binary tree: the parts of a cluster are halved
//     again and again. Its vertices are single GPUs and pairs of halves.
//   - A GPU's state is in use, free, required or excluded.
//   - A demand is what the search requires of all pairs of a set: a least link class, and
//     a scope. The best class is found by trying the classes as demands, best first.
//   - A shape is what matters of a vertex and the states of its GPUs: the tree of its free
//     GPUs without their numbers. Equal vertices share one shape, and all that is computed
//     for it. A view has the shape of each vertex under one demand, for the last question.
//   - A value is the key of a set as far as one vertex determines it, packed into a few
//     words that can be added. A layout says where in the words each component is.
//   - The curve of a shape has, for each number of GPUs, the best set of that size and its
//     value: one entry for each number, and for MTF one for each number and pool.
//   - The pool of a set, for MTF, is the remaining GPUs of a cluster that lie in whole
//     buddies. Where the cluster ends, they become jobs, or a larger buddy. Eight of them
//     are always one job, so a curve needs the pool's size modulo 8 only.
//
// Shapes and curves are kept from one question to the next, as far as they need little
// memory. After a change of one GPU, only the vertices above it are computed again.
package tree
