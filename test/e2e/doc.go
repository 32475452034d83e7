// SPDX-License-Identifier: Apache-2.0

// Package e2e proves the toolkit on real container engines: a process inside a real container
// reports which GPUs it sees and may open. The engines are Debian's, each in a sandbox of its
// own; the node is a simulated one with real device nodes.
//
// Here live the rows of the matrix and what is asserted in each. Start them with ./run, which
// fetches the engines. What needs no engine is tested beside the code it tests.
package e2e
