// SPDX-License-Identifier: Apache-2.0

// Package e2e has the tests of the cluster side on a real Kubernetes cluster with a simulated
// node. Its script run starts them: those in daily and two of the others by day, all at night.
package e2e
