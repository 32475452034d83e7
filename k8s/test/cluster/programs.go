// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

const proxySocket = "/run/api.sock"

// program is a daemon of the node. Its name is that of the file unless it says otherwise.
type program struct {
	name  string
	argv  []string
	ready func(context.Context, *Cluster) error
}

// programs are the daemons in the order in which they start. Those whose clients try again
// until they answer are not waited for.
func (c *Cluster) programs() []program {
	kubelet := []string{
		"kubelet", "--config=" + dir + "/kubelet.yaml", "--kubeconfig=" + dir + "/kubelet.conf",
		"--hostname-override=" + NodeName, "--node-ip=" + nodeAddress, "--cert-dir=/var/lib/kubelet/pki",
	}
	if !c.fixtures.AtLeast(engineInConfig) {
		kubelet = append(kubelet, "--container-runtime-endpoint=unix://"+c.socket())
	}
	return []program{
		{argv: []string{
			"etcd", "--data-dir=/var/lib/etcd", "--unsafe-no-fsync",
			"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
			"--listen-peer-urls=http://127.0.0.1:2380",
		}, ready: started},
		{argv: []string{
			"kube-apiserver",
			"--etcd-servers=http://127.0.0.1:2379", "--advertise-address=" + nodeAddress, "--service-cluster-ip-range=" + serviceCIDR,
			"--tls-cert-file=" + dir + "/server.crt", "--tls-private-key-file=" + dir + "/server.key",
			"--client-ca-file=" + dir + "/ca.crt", "--token-auth-file=" + dir + "/tokens.csv",
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + dir + "/accounts.key", "--service-account-signing-key-file=" + dir + "/accounts.key",
			"--kubelet-preferred-address-types=InternalIP",
			"--kubelet-client-certificate=" + dir + "/client.crt", "--kubelet-client-key=" + dir + "/client.key",
			"--audit-policy-file=" + dir + "/audit.yaml", "--audit-log-path=" + AuditLog,
		}, ready: started},
		{name: "registry", argv: []string{"registry", Registry, sandbox.BinDir}, ready: said("ready")},
		{name: "api-proxy", argv: []string{"kubectl", "proxy", "--unix-socket=" + proxySocket}, ready: apiReady},
		{argv: []string{
			"kube-controller-manager", "--kubeconfig=" + dir + "/admin.conf", "--leader-elect=false",
			"--service-account-private-key-file=" + dir + "/accounts.key", "--root-ca-file=" + dir + "/ca.crt",
			"--controllers=*,-nodeipam,-route,-cloud-node-lifecycle",
		}, ready: started},
		{argv: []string{
			"kube-scheduler", "--kubeconfig=" + dir + "/admin.conf", "--leader-elect=false",
			"--authentication-kubeconfig=" + dir + "/admin.conf", "--authorization-kubeconfig=" + dir + "/admin.conf",
		}, ready: started},
		{argv: []string{"kube-proxy", "--config=" + dir + "/proxy.yaml"}, ready: started},
		{argv: kubelet, ready: nodeReady},
	}
}

// AuditLog is the file of the node where the API server records what service accounts do: one
// event of audit.k8s.io/v1 as JSON in each line.
const AuditLog = "/var/log/audit.log"

// started is ready at once.
func started(context.Context, *Cluster) error { return nil }

// said is ready when the registry's log has the line.
func said(line string) func(context.Context, *Cluster) error {
	return func(_ context.Context, c *Cluster) error {
		if log := c.Daemon("registry").Tail(1); !strings.HasPrefix(log, line) {
			return fmt.Errorf("its last line is %q", log)
		}
		return nil
	}
}

// listens is ready when the socket takes connections.
func listens(socket string) func(context.Context, *Cluster) error {
	return func(ctx context.Context, c *Cluster) error {
		connection, err := new(net.Dialer).DialContext(ctx, "unix", c.Path(socket))
		if err != nil {
			return err
		}
		return connection.Close()
	}
}

func apiReady(ctx context.Context, c *Cluster) error {
	var code int
	c.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).StatusCode(&code)
	if code != http.StatusOK {
		return fmt.Errorf("the API server answers /readyz with %d", code)
	}
	return nil
}

// nodeReady wants a kubelet that answers, a node that takes pods, and the account that they
// run as.
func nodeReady(ctx context.Context, c *Cluster) error {
	// After a restart of the kubelet, the node's object is still the one from before.
	kubelet := c.Client.CoreV1().RESTClient().Get().Resource("nodes").Name(NodeName).SubResource("proxy").Suffix("healthz")
	if err := kubelet.Do(ctx).Error(); err != nil {
		return err
	}
	node, err := c.Client.CoreV1().Nodes().Get(ctx, NodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return errors.New(condition.Message)
		}
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key != corev1.TaintNodeUnschedulable { // a test may have cordoned it
			return fmt.Errorf("the node has the taint %s", taint.Key)
		}
	}
	_, err = c.Client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err
}
