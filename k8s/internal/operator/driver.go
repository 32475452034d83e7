package operator

import (
	"fmt"
	"strings"
)

// driverState reports on the driver of the nodes. It deploys nothing: only the driver that a node has is used.
func driverState(in Input) outcome {
	const kind = "DriverReady"
	d := in.Operator.Spec.Driver
	switch {
	case in.Operator.Spec.MinimalMode:
		return outcome{}
	case d == nil || d.DeployPolicy == "Never":
	case d.DeployPolicy == "Always" || d.DeployPolicy == "PreferCloud":
		return said(kind, false, NotBuilt, "this version installs no driver, so driver.deployPolicy=%s cannot be met: use PreferHost and install the driver on the nodes", d.DeployPolicy)
	case d.FwUpgradePolicy != "" && d.FwUpgradePolicy != "Never":
		return said(kind, false, NotBuilt, "this version writes no firmware: set driver.fwUpgradePolicy to Never")
	}
	if n := len(in.Nodes.NoDriver); n > 0 {
		return said(kind, false, Incomplete, "%d of %d nodes with a GPU have no driver: %s. Install it there; this version does not", n, in.Nodes.GPU, some(in.Nodes.NoDriver))
	}
	return said(kind, true, Host, "%d nodes with a GPU have a driver", in.Nodes.GPU)
}

// some are the first names of a list.
func some(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
