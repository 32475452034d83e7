// SPDX-License-Identifier: Apache-2.0

package cluster

import "fmt"

// The cluster's addresses. Every cluster has the same ones in its own network namespace.
const (
	// NodeName is the name of the only node.
	NodeName    = "node-1"
	nodeAddress = "10.10.0.1"
	serviceCIDR = "10.96.0.0/16"
	firstInCIDR = "10.96.0.1" // the Service of the API server
	podCIDR     = "10.88.0.0/16"
	// Registry is the address of the registry, for references to images.
	Registry = "127.0.0.1:5000"
)

// The tokens of the two users that the API server knows.
const (
	adminToken = "admin-token"
	nodeToken  = "node-token"
	tokens     = adminToken + `,admin,admin,system:masters
` + nodeToken + `,system:node:` + NodeName + `,node,system:nodes
`
)

func kubeconfig(token string) string {
	return `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://` + nodeAddress + `:6443", certificate-authority: ` + dir + `/ca.crt}}]
users: [{name: user, user: {token: ` + token + `}}]
contexts: [{name: test, context: {cluster: test, user: user}}]
current-context: test
`
}

const network = `{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "` + podCIDR + `"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}
]}
`

// proxyConfig keeps kube-proxy from setting conntrack limits: those are the machine's.
const proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: ` + dir + `/admin.conf}
mode: iptables
clusterCIDR: ` + podCIDR + `
hostnameOverride: ` + NodeName + `
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`

// auditPolicy records what service accounts do, for the test of their rights.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ["system:serviceaccounts"]}
- {level: None}
`

// kubeletConfig is that of the kubelet, whose pods' cgroups are below that of the cluster. The
// thresholds keep it from evicting pods because of the machine's memory and disks, and its
// status is fresh enough for tests.
func (c *Cluster) kubeletConfig() string {
	newer := ""
	if c.fixtures.AtLeast(engineInConfig) {
		newer += "containerRuntimeEndpoint: unix://" + c.socket() + "\n"
	}
	if c.fixtures.AtLeast("1.31") { // older ones take version 1 without it
		newer += "failCgroupV1: false\n"
	}
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %[1]s/ca.crt}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
cgroupRoot: %[2]s
failSwapOn: false
evictionHard: {memory.available: 1Mi, nodefs.available: 0%%, imagefs.available: 0%%, nodefs.inodesFree: 0%%}
imageGCHighThresholdPercent: 100
localStorageCapacityIsolation: false
makeIPTablesUtilChains: false
oomScoreAdj: 0
clusterDNS: [10.96.0.10]
resolvConf: /etc/resolv.conf
nodeStatusUpdateFrequency: 1s
syncFrequency: 5s
fileCheckFrequency: 2s
registryPullQPS: 0
eventRecordQPS: 0
%[3]s`, dir, c.Cgroup(), newer)
}

// engineInConfig is the first version of Kubernetes whose kubelet reads where its engine is
// from its configuration. Older ones have an option for it.
const engineInConfig = "1.27"

// tunables are the machine's settings that the kubelet insists on, with the values that it
// wants.
var tunables = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}
