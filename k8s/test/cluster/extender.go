// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"strings"
)

// Aware is the scheduler extender of this source tree, which answers at AwareAddress.
const (
	Aware        = "metax-gpu-aware"
	AwareAddress = "127.0.0.1:8180"
)

// AwareTLS are the options of an extender that answers by HTTPS, and only to those who have a
// certificate of the cluster, such as ScheduleTLS.
var AwareTLS = []string{"--tls-cert=" + dir + "/server.crt", "--tls-key=" + dir + "/server.key", "--tls-client-ca=" + dir + "/ca.crt"}

// ScheduleTLS is the tlsConfig of a scheduler that asks such an extender.
const ScheduleTLS = "{caFile: " + dir + "/ca.crt, certFile: " + dir + "/client.crt, keyFile: " + dir + "/client.key}"

// RunAware runs the scheduler extender as a program of the node, with more options.
func (c *Cluster) RunAware(ctx context.Context, options ...string) error {
	return c.launch(ctx, program{argv: append([]string{
		Aware, "--address=" + AwareAddress, "--metrics-address=127.0.0.1:8181", "--kubeconfig=" + dir + "/admin.conf", "--log-dir=",
	}, options...), ready: func(ctx context.Context, c *Cluster) error {
		_, err := c.Run(ctx, "bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/8181; printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3; grep -q '200 OK' <&3`)
		return err
	}})
}

// RunNonsense runs an extender that answers wrongly, at the address.
func (c *Cluster) RunNonsense(ctx context.Context, address string) error {
	return c.launch(ctx, program{argv: []string{"nonsense", address}, ready: serves(address)})
}

// RunInstant runs an extender that answers at once that every node fits, at the address.
func (c *Cluster) RunInstant(ctx context.Context, address string) error {
	return c.launch(ctx, program{argv: []string{"instant", address}, ready: serves(address)})
}

// Reschedule starts Kubernetes' scheduler again with a configuration, such as the chart writes
// it for a cluster of kubeadm, and with more options.
func (c *Cluster) Reschedule(ctx context.Context, config string, options ...string) error {
	if err := c.Daemon("kube-scheduler").Stop(); err != nil {
		return err
	}
	config = strings.ReplaceAll(config, "/etc/kubernetes/scheduler.conf", dir+"/admin.conf")
	if err := c.WriteFile(dir+"/extender.yaml", config); err != nil {
		return err
	}
	return c.launch(ctx, program{argv: append([]string{
		"kube-scheduler", "--config=" + dir + "/extender.yaml",
		"--authentication-kubeconfig=" + dir + "/admin.conf", "--authorization-kubeconfig=" + dir + "/admin.conf",
	}, options...), ready: serves("127.0.0.1:10259")})
}
