// SPDX-License-Identifier: Apache-2.0

package smi

const tableHead = `|------------------+-----------------+---------------------+----------------------|
| Board       Name | GPU   Persist-M | Bus-id              | GPU-Util      sGPU-M |
| Pwr:Usage/Cap    | Temp       Perf | Memory-Usage        | GPU-State            |
|==================+=================+=====================+======================|
`

const tableEnd = `
+---------------------------------------------------------------------------------+
| Process:                                                                        |
|  GPU                    PID         Process Name                 GPU Memory     |
|                                                                  Usage(MiB)     |
|=================================================================================|
|  no process found                                                               |
+---------------------------------------------------------------------------------+
`

const usage = `mx-smi of a simulated node: no driver is asked, readings are made up.

  mx-smi                     a table of the GPUs
  mx-smi -L, --list          the GPUs, one a line, with their UUIDs
  mx-smi topo -m             the link of each pair of GPUs
  mx-smi topo -n             the same with the network cards
  mx-smi --show-hwinfo       model, memory capacity and serial number
  mx-smi --show-memory       memory in KB
  mx-smi --show-sn           serial numbers
  mx-smi --show-version      versions of VBIOS and driver
  mx-smi --show-usage, --show-temperature, --show-board-power
                             readings of an idle GPU
  mx-smi sgpu -i GPU ...     --enable, --disable, --set-sched-class 0|1|2,
                             --create [--vram 4G --compute 5 --alias X -n 1],
                             --remove ID: change the slices of a host tree
  mx-smi -v, --version       the version of the tool
  mx-smi -h, --help          this text
`
