// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// The schedulers that run beside Kubernetes' own: a pod chooses one by its schedulerName.
const (
	HAMi        = "hami-scheduler"
	Koordinator = "koord-scheduler"
)

// Koordlet is Koordinator's agent of a node.
const Koordlet = "koordlet"

// RunHAMi runs HAMi's scheduler: its program, and a kube-scheduler that asks it, with the
// settings of HAMi's chart.
func (c *Cluster) RunHAMi(ctx context.Context, file string) error {
	path, err := c.copyProgram(file, HAMi)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"hami-devices.yaml": hamiDevices, "hami.yaml": hamiConfig} {
		if err := c.WriteFile(dir+"/"+name, text); err != nil {
			return err
		}
	}
	flags := []string{"--authentication-kubeconfig=" + dir + "/admin.conf", "--authorization-kubeconfig=" + dir + "/admin.conf"}
	for _, p := range []program{
		{name: HAMi, argv: []string{
			"env", "POD_NAMESPACE=kube-system", "POD_NAME=hami", path,
			"--http_bind=" + hamiAddress, "--scheduler-name=" + HAMi, "--metrics-bind-address=127.0.0.1:9395",
			"--node-scheduler-policy=binpack", "--gpu-scheduler-policy=spread", "--device-config-file=" + dir + "/hami-devices.yaml",
			"--leader-elect=false", "--kube-qps=50", "--kube-burst=100", "-v=5",
		}, ready: serves(hamiAddress)},
		{name: "kube-scheduler-" + HAMi, argv: append([]string{"kube-scheduler", "--config=" + dir + "/hami.yaml", "--secure-port=10269"}, flags...), ready: started},
	} {
		if err := c.launch(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// RunKoordinator runs Koordinator's scheduler with the plugins and the gate that it needs for
// the GPUs of other vendors. Its custom resources are in the file koord-crds.yaml beside the
// program.
func (c *Cluster) RunKoordinator(ctx context.Context, file string) error {
	path, err := c.copyProgram(file, Koordinator)
	if err != nil {
		return err
	}
	crds, err := os.ReadFile(filepath.Join(filepath.Dir(file), "koord-crds.yaml"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"koord-crds.yaml": string(crds), "koord.yaml": koordinatorConfig} {
		if err := c.WriteFile(dir+"/"+name, text); err != nil {
			return err
		}
	}
	if err := c.establishCRDs(ctx, "koordinator-system", dir+"/koord-crds.yaml"); err != nil {
		return err
	}
	return c.launch(ctx, program{name: Koordinator, argv: []string{
		path, "--config=" + dir + "/koord.yaml", "--secure-port=10270", "--bind-address=127.0.0.1",
		"--authentication-kubeconfig=" + dir + "/admin.conf", "--authorization-kubeconfig=" + dir + "/admin.conf",
		"--feature-gates=DevicePluginAdaption=true", "-v=3",
	}, ready: serves("127.0.0.1:10270")})
}

// establishCRDs creates a namespace and the custom resources of a file of the node, and waits until
// the API server serves them.
func (c *Cluster) establishCRDs(ctx context.Context, namespace, crds string) error {
	for _, args := range [][]string{{"create", "namespace", namespace}, {"apply", "--server-side", "-f", crds}} {
		if _, err := c.Run(ctx, "kubectl", args...); err != nil {
			return err
		}
	}
	// kubectl gives up where the API server has not yet said anything of one.
	return Eventually(ctx, func(ctx context.Context) error {
		_, err := c.Run(ctx, "kubectl", "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
		return err
	})
}

// RunKoordlet runs koordlet, which makes the Device of the node from the files in a directory
// and does nothing else: what would change the cgroups of pods is off.
func (c *Cluster) RunKoordlet(ctx context.Context, file, infos string) error {
	path, err := c.copyProgram(file, Koordlet)
	if err != nil {
		return err
	}
	const state = "/run/koordlet-state"
	// koordlet looks for the kubelet's pods at the top of each hierarchy, where a kubelet has them
	// that has the machine for itself.
	const link = `mkdir -p "$1"; for at in /sys/fs/cgroup/*/; do ln -s "$at$2" "$1/$(basename "$at")"; done`
	if _, err := c.Run(ctx, "sh", "-ec", link, "sh", state+"/cgroup", c.Cgroup()); err != nil {
		return err
	}
	return c.launch(ctx, program{name: Koordlet, argv: []string{
		"env", "NODE_NAME=" + NodeName, "agent_mode=hostMode", path,
		"--feature-gates=Accelerators=true,BECPUSuppress=false,CPUBurst=false,RdtResctrl=false,NodeTopologyReport=false," +
			"GroupIdentity=false,CPUSetAllocator=false,BatchResource=false", "--enable-nri-runtime-hook=false",
		"--runtime-hooks-addr=" + state + ".sock", "--runtime-hooks-host-endpoint=" + state + ".sock", "--runtime-hooks-config-path=" + state,
		"--cgroup-root-dir=" + state + "/cgroup/", "--enable-node-metric-report=false", "--xpu-device-infos-dir=" + infos, "--addr=" + koordletAddress,
		"--tsdb-path=" + state + "/metrics", "--prediction-checkpoint-filepath=" + state + "/prediction", "--audit-log-dir=" + state + "/audit",
	}, ready: serves(koordletAddress)})
}

const koordletAddress = "127.0.0.1:9316"

// copyProgram copies a program of the machine to the node, and returns its path there.
func (c *Cluster) copyProgram(file, name string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	path := "/usr/local/bin/" + name
	if err := c.WriteFile(path, string(data)); err != nil {
		return "", err
	}
	return path, os.Chmod(c.Path(path), 0o755)
}

// serves is ready when the address of the node takes connections.
func serves(address string) func(context.Context, *Cluster) error {
	return func(ctx context.Context, c *Cluster) error {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		if out, err := c.Command(ctx, "bash", "-c", "</dev/tcp/"+host+"/"+port).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
}

const hamiAddress = "127.0.0.1:8090"

// hamiDevices has HAMi's names of resources; it also wants NVIDIA's.
const hamiDevices = `nvidia: {resourceCountName: nvidia.com/gpu, resourceMemoryName: nvidia.com/gpumem, resourceMemoryPercentageName: nvidia.com/gpumem-percentage,
  resourceCoreName: nvidia.com/gpucores, resourcePriorityName: nvidia.com/priority, deviceSplitCount: 10, deviceMemoryScaling: 1,
  deviceCoreScaling: 1, defaultGPUNum: 1, memoryFactor: 1}
metax: {resourceCountName: metax-tech.com/gpu, resourceVCountName: metax-tech.com/sgpu, resourceVMemoryName: metax-tech.com/vmemory,
  resourceVCoreName: metax-tech.com/vcore, sgpuTopologyAware: false}
`

const hamiConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: ` + dir + `/admin.conf}
profiles: [{schedulerName: ` + HAMi + `}]
extenders:
- urlPrefix: http://` + hamiAddress + `
  filterVerb: filter
  bindVerb: bind
  nodeCacheCapable: true
  weight: 1
  httpTimeout: 30s
  managedResources:
  - {name: metax-tech.com/gpu, ignoredByScheduler: true}
  - {name: metax-tech.com/sgpu, ignoredByScheduler: true}
  - {name: metax-tech.com/vcore, ignoredByScheduler: true}
  - {name: metax-tech.com/vmemory, ignoredByScheduler: true}
`

const koordinatorConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: ` + dir + `/admin.conf}
profiles:
- schedulerName: ` + Koordinator + `
  pluginConfig:
  - name: DeviceShare
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: DeviceShareArgs
      allocator: default
      scoringStrategy: {type: MostAllocated, resources: [{name: koordinator.sh/gpu-memory-ratio, weight: 1}]}
  plugins: {multiPoint: {enabled: [{name: Reservation}, {name: DeviceShare}]}}
`
