// SPDX-License-Identifier: Apache-2.0

package figure

// Busy is what a start costs beside other processes.
type Busy struct {
	// Containers are those that run, and Processes and Descriptors all that the machine has.
	Containers  int `json:"containers"`
	Processes   int `json:"processes"`
	Descriptors int `json:"descriptors"`
	// Start is the time of metax-docker run --dry-run, and StartCPU its processor time.
	Start    Summary `json:"start"`
	StartCPU Summary `json:"startCPU"`
	// Look is the processor time of one look at all processes, and Loop that of a program
	// in C which only lists the same descriptors and reads where each leads.
	Look Summary `json:"look"`
	Loop Summary `json:"loop"`
}
