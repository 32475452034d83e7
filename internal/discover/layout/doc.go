// SPDX-License-Identifier: Apache-2.0

// Package layout reads what the driver itself says about its GPUs: the directory layout of its
// class in sysfs, with one directory for each processor, GPU, virtual function and slice. It
// has the UUID, the health and the links of each GPU in small text files, which cost
// microseconds and start no program. Their form is that which the vendor's library accepts; no
// hardware was seen. So each file is optional: what is missing, cannot be read or is not
// understood is unknown, and package discover asks its next source.
//
// The package knows nothing of PCI functions; package discover compares the two.
package layout
