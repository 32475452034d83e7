// SPDX-License-Identifier: Apache-2.0

// Package cdispec writes the CDI specs of a Kubernetes node before its device plugin
// registers: the specs of package refresh, and the program metax-hook that they name.
//
// A directory that outlives a reboot has the program and the last node that was found. So the
// specs name the GPUs by the same UUIDs after a reboot, also while the vendor's software does
// not answer yet: the kubelet may start containers with the names that it was given before.
package cdispec
