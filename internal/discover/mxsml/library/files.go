// SPDX-License-Identifier: Apache-2.0

package library

import (
	"errors"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
)

// sources are the driver's files from which libmxsml 2.2.8 has the answer of a function, below
// the GPU's directory in /sys/bus/pci/devices, or below the driver's class.
var sources = map[string]string{
	"mxSmlGetMemoryInfo":       "smi/showmeminfo, smi/showmemuse",
	"mxSmlGetBoardSerial":      "smi/showe2prominfo",
	"mxSmlGetChipSerial":       "smi/showfuseinfo",
	"mxSmlGetDeviceState":      "layout/nodes/*/active",
	"mxSmlGetDeviceVersion":    "smi/showvbios, smi/showdriverversion",
	"mxSmlGetTotalEccErrors":   "smi/ras_show_mem_ecc_info",
	"mxSmlGetMetaXLinkInfo":    "smi/showmetalkspeed, smi/showmetalkwidth",
	"mxSmlGetTemperatureInfo":  "smi/showtemp",
	"mxSmlGetBoardPowerInfo":   "smi/showboardpowerinfo",
	"mxSmlGetBoardPowerLimit":  "smi/capability",
	"mxSmlGetDeviceIpUsage":    "smi/showxcuse",
	"mxSmlGetSgpuInfo":         "sgpu/sgpu*",
	"mxSmlGetDeviceSchedClass": "sgpu/sched_class",
}

// describeError is an error with the files that a function could not read, if it failed for
// that.
func describeError(err error) string {
	var code *mxsml.CodeError
	if errors.As(err, &code) && code.IsFile() && sources[code.Function] != "" {
		return err.Error() + ", reading " + sources[code.Function]
	}
	return err.Error()
}
