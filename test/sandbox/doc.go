// SPDX-License-Identifier: Apache-2.0

// Package sandbox gives a container engine a machine of its own: private mount, network and
// pid namespaces over an unpacked root, with its own /dev, /run, /var/lib and cgroup layout.
// Everything it writes lives in memory and dies with the namespaces, so a run leaves nothing
// behind and rows cannot meet.
//
// It knows nothing of any engine, of GPUs or of the product under test.
package sandbox
