// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"
)

// The options with which Kubernetes 1.36 knows the objects of gangs, and places their pods
// together. All of it is alpha, and off otherwise.
var (
	WorkloadAPI   = []string{"--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1alpha2=true"}
	WorkloadGangs = []string{"--feature-gates=GenericWorkload=true,GangScheduling=true"}
)

// RestartAPI starts the API server again with more options, and waits until it answers.
func (c *Cluster) RestartAPI(ctx context.Context, options ...string) error {
	const name = "kube-apiserver"
	if err := c.Daemon(name).Kill(); err != nil { // it would wait for those who watch
		return err
	}
	for _, p := range c.programs() {
		if p.argv[0] == name {
			p.argv, p.ready = append(p.argv, options...), apiReady
			return c.launch(ctx, p)
		}
	}
	return fmt.Errorf("start %s again: it is none of the cluster's programs", name)
}

// Control starts the controller manager again with some controllers alone, such as without the
// one that says of nodes without a kubelet that they are not ready.
func (c *Cluster) Control(ctx context.Context, controllers ...string) error {
	if err := c.Daemon("kube-controller-manager").Stop(); err != nil {
		return err
	}
	return c.launch(ctx, program{argv: []string{
		"kube-controller-manager", "--kubeconfig=" + dir + "/admin.conf", "--leader-elect=false",
		"--service-account-private-key-file=" + dir + "/accounts.key", "--root-ca-file=" + dir + "/ca.crt",
		"--kube-api-qps=200", "--kube-api-burst=400", "--controllers=" + strings.Join(controllers, ","),
	}, ready: started})
}
