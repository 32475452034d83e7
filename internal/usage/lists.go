// SPDX-License-Identifier: Apache-2.0

package usage

import "github.com/metax-ctk/container-toolkit/internal/gpu"

// OpenList is the kernel's list of the open files of a GPU's DRM device.
type OpenList struct {
	GPU gpu.BDF `json:"gpu"`
	// ID is the inode of the list. A device that the driver makes anew has another list.
	ID uint64 `json:"id"`
}

// OpenLists is what a look at processes learned from the kernel's lists.
type OpenLists struct {
	// Instead is true where lists were read instead of the files of processes: a GPU is in
	// use if it is in InUse.
	Instead bool
	InUse   []gpu.BDF // ascending
	// Confirmed are the lists that had entries when a process was seen with the GPU open.
	Confirmed []OpenList
	// Contradicted is true where a list was empty while a process had the GPU open.
	Contradicted bool
	// Empty are the lists without entries. Unnamed are those that had entries before and after
	// a complete look, which saw no process with the GPU open.
	Empty, Unnamed []OpenList
}
