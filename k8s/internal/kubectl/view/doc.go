// SPDX-License-Identifier: Apache-2.0

// Package view says what the objects of a cluster mean for a person: which GPUs are free, who
// uses them, how they are linked, and where a pod fits. A view is a value that is printed as
// JSON; its method Text is the table of it.
//
// The GPUs of a node are known one by one if metax-gpu-device writes its annotations. Where
// another plugin serves them, only their number and what pods request are known. The package
// is pure.
package view
