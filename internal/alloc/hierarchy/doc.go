// SPDX-License-Identifier: Apache-2.0

// Package hierarchy groups the GPUs of a node by how well they are linked, and counts
// jobs in the groups as MTF does.
//
// A cluster of a rank (package link) is a largest set of GPUs that paths of links of that
// rank or better join: single-linkage clustering. The MetaXLink domains are the clusters
// whose rank has class MX. A cluster consists of the clusters of the better ranks inside
// it, down to single GPUs; these are its parts. The tree of all clusters is the
// hierarchy, or dendrogram, of the node.
//
// A node nests if the rank of each two GPUs is that of the smallest cluster with both.
// Then the hierarchy says all about the links, and a set of GPUs fits a class exactly if
// one cluster of that class or better contains it. If a node does not nest, its closure
// does: the graph in which the rank of two GPUs is that of their smallest cluster, as if
// the worst link of the best path joined them.
//
// MTF, Kunlunxin's measure of fragmentation, is the least number of jobs of 8, 4, 2 and 1
// GPUs that fill the free GPUs. A buddy is a free GPU or a cluster of 2, 4 or 8 GPUs, all
// of them free; a job takes whole buddies that are parts of one cluster.
package hierarchy
