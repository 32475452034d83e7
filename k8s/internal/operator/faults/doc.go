// SPDX-License-Identifier: Apache-2.0

// Package faults decides what follows where a GPU is lost to the pods that have it: a taint on
// its node, and the eviction of exactly these pods. Decide is a function of what the nodes'
// device plugins have published, of what was tried before, and of the time; who carries a Plan
// out is package controller.
package faults
