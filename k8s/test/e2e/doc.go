// SPDX-License-Identifier: Apache-2.0

// Package e2e has the tests of the cluster side on a real Kubernetes cluster with a simulated
// node. Its script run starts them; its head says which rows wait for the night.
package e2e
