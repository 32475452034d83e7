// Package e2e has the tests of the cluster side on a real Kubernetes cluster with a simulated node. Its
// script run starts them; see README.md for the rows.
package e2e
