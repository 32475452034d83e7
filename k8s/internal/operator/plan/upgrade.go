// SPDX-License-Identifier: Apache-2.0

package plan

// upgradeState says how far the nodes are that get a new driver. What is done for that is in
// package rollout.
func upgradeState(in Input) outcome {
	const kind = "DriverUpgrade"
	u, d := in.Operator.Status.DriverUpgrade, in.Operator.Spec.Driver
	switch {
	case u != nil:
		return conditionOutcome(kind, u.Ready, u.Reason, "%s", u.Message)
	case !in.Upgrades && d != nil && d.UpgradePolicy != nil && d.UpgradePolicy.EnableRollout &&
		d.DeployPolicy != "Never" && !in.Operator.Spec.MinimalMode:
		return conditionOutcome(kind, false, NotPermitted,
			"the controller may not upgrade drivers, because the chart was installed with driver.deployPolicy=Never: helm upgrade --reuse-values --set driver.deployPolicy=%s", d.DeployPolicy)
	}
	return outcome{}
}
