// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"strings"
	"testing"
)

// TestRefused has values that cannot be installed, and what the message says.
func TestRefused(t *testing.T) {
	for _, test := range []struct{ values, want string }{
		// Unknown values, by name.
		{"gpuDevices: {}", "additional properties 'gpuDevices' not allowed"},
		{"gpuDevice: {healthyIntervall: 5}", "at '/gpuDevice': additional properties 'healthyIntervall' not allowed"},
		{"gpuDevice: {health: {healthyInterval: 5}}", "at '/gpuDevice/health': additional properties 'healthyInterval' not allowed"},
		{"gpuLabel: {log: {file: x}}", "at '/gpuLabel/log': additional properties 'file' not allowed"},
		{"dataExporter: {podMonitor: {enabled: true}}", "at '/dataExporter/podMonitor': additional properties 'enabled' not allowed"},
		{"podSecurity: {type: spc_t}", "at '/podSecurity': additional properties 'type' not allowed"},

		// Values out of range.
		{"log: {level: warn}", "at '/log/level': value must be one of 'debug', 'info', 'warning', 'error', 'fatal'"},
		{"log: {format: xml}", "at '/log/format'"},
		{"log: {rotationTime: 90m}", "at '/log/rotationTime'"},
		{"log: {maxAge: 0d}", "at '/log/maxAge'"},
		{"log: {dir: log}", "at '/log/dir'"},
		{"log: {dir: /}", "at '/log/dir'"},
		{"gpuDevice: {koordletDir: /}", "at '/gpuDevice/koordletDir'"},
		{"gpuDevice: {log: {level: trace}}", "at '/gpuDevice/log/level'"},
		{"gpuDevice: {healthyInterval: -1}", "at '/gpuDevice/healthyInterval': minimum: got -1, want 0"},
		{"gpuDevice: {healthyInterval: 5s}", "at '/gpuDevice/healthyInterval': got string, want integer"},
		{"gpuDevice: {connectDetectPeriod: 5}", "at '/gpuDevice/connectDetectPeriod'"},
		{"gpuDevice: {cmInit: {config: 'a: ['}}", "gpuDevice.cmInit.config: error converting YAML"},
		{"podTemplateSpecFile: 'a: ['", "podTemplateSpecFile: error converting YAML"},
		{"gpuDevice: {deviceListStrategy: envvar}", "at '/gpuDevice/deviceListStrategy'"},
		{"gpuDevice: {excludeGPUs: ['0,1']}", "at '/gpuDevice/excludeGPUs/0'"},
		{"pullPolicy: Sometimes", "at '/pullPolicy'"},
		{"kubeletRootDir: var/lib/kubelet", "at '/kubeletRootDir'"},
		{"gpuAware: {scoreWeight: true}", "at '/gpuAware/scoreWeight'"},
		{"gpuAware: {scoreWeight: -1}", "at '/gpuAware/scoreWeight'"},
		{"gpuAware: {scoreWeight: '-1'}", "at '/gpuAware/scoreWeight'"},
		{"gpuAware: {extender: {httpTimeout: 1m}}", "at '/gpuAware/extender/httpTimeout'"},
		{"gpuAware: {extender: {ignoredByScheduler: true}}", "at '/gpuAware/extender': additional properties 'ignoredByScheduler' not allowed"},
		{"gpuAware: {policy: first}", "at '/gpuAware/policy'"},
		{"gpuAware: {image: {registry: cr.metax-tech.com/cloud}}", "at '/gpuAware/image/registry'"},
		{"{deployExtenderGPUAware: true, gpuAware: {log: {dir: /var/log/metax}}}", "gpuAware.log.dir: gpu-aware runs without directories of the host"},
		{"admissionPolicy: {schedulers: [\"it's\"]}", "at '/admissionPolicy/schedulers/0'"},
		{"imagePullSecrets: [a]", "at '/imagePullSecrets/0'"},
		{"readers: [{kind: Group}]", "at '/readers/0'"},
		{"readers: [{kind: ServiceAccount, name: a}]", "at '/readers/0'"},

		// The vendor's programs are not the ones that this chart starts.
		{"registry: cr.metax-tech.com/cloud", "at '/registry': value must be 'the registry that you pushed the images of this project to (metax-k8s-images push DOMAIN/PROJECT)"},
		{"registry: cr.metax-tech.com:443/cloud", "at '/registry'"},
		{"registry: ''", "at '/registry'"},
		{"gpuDevice: {image: {registry: cr.metax-tech.com/cloud}}", "at '/gpuDevice/image/registry'"},
		{"gpuDevice: {health: {image: {registry: cr.metax-tech.com/cloud}}}", "at '/gpuDevice/health/image/registry'"},
		{"gpuLabel: {image: {registry: cr.metax-tech.com/cloud}}", "at '/gpuLabel/image/registry'"},
		{"dataExporter: {image: {registry: cr.metax-tech.com/cloud}}", "at '/dataExporter/image/registry'"},

		// Options of the vendor's chart that this version does not have.
		{"topoDiscovery: {deploy: true}", "topoDiscovery.deploy: this version of the chart does not have it"},
		{"gpuScheduler: {deploy: true}", "gpuScheduler.deploy: this version of the chart does not have it"},
		{"gpuDevice: {config: {sgpuHybrid: true}}", "gpuDevice.config.sgpuHybrid: this version of the chart does not have it"},
		{"gpuDevice: {onFatal: taint}", "gpuDevice.onFatal: taint needs the controller of the chart metax-operator"},
		{"gpuDevice: {onFatal: evict}", "gpuDevice.onFatal: evict needs the controller of the chart metax-operator"},
		{"gpuDevice: {errorLevels: [{module: SMI, eid: '0x1', level: fatal}]}", "at '/gpuDevice/errorLevels/0/level'"},
		{"gpuDevice: {errorLevels: [{module: smi, eid: '0x1', level: note}]}", "at '/gpuDevice/errorLevels/0/module'"},
		{"gpuDevice: {onFatal: drain}", "at '/gpuDevice/onFatal'"},
		{"gpuDevice: {config: {mode: best}}", "at '/gpuDevice/config/mode'"},
		{"gpuDevice: {config: {shareNums: 257}}", "at '/gpuDevice/config/shareNums'"},
		{"gpuDevice: {config: {nodes: [{mode: shared}]}}", "at '/gpuDevice/config/nodes/0'"},
		{"gpuDevice: {config: {nodes: [{nodeName: a, nodeSelector: {b: c}}]}}", "at '/gpuDevice/config/nodes/0'"},
		{"gpuDevice: {slicesWithoutLock: 'yes'}", "at '/gpuDevice/slicesWithoutLock'"},
		{"gpuDevice: {config: {deviceAllocationStrategy: other}}", "to choose how GPUs are picked, set gpuDevice.policy"},
	} {
		t.Run(test.values, func(t *testing.T) {
			_, err := render(t, "1.34.4", test.values)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

// TestAccepted has values that look like refused ones.
func TestAccepted(t *testing.T) {
	for _, values := range []string{
		"registry: registry.example.com/metax-tech.com-mirror",
		"registry: notmetax-tech.community/x",
		"global: {a: 1}",
		"gpuAware: {scoreWeight: '5', lossWeight: '1', log: {level: debug}}",
		"gpuAware: {scoreWeight: 2}", // as --set gpuAware.scoreWeight=2 does
		"topoDiscovery: {deploy: false, mode: dragonfly}",
		"gpuDevice: {config: {mode: native, shareNums: 8, sgpuHybrid: false}}",
		"gpuDevice: {config: {mode: sgpu, nodes: [{nodeName: a, mode: shared}, {nodeSelector: {pool: b}, mode: vgpu}]}}",
		"log: {dir: ''}",
	} {
		if _, err := render(t, "1.34.4", values); err != nil {
			t.Errorf("%s: %v", values, err)
		}
	}
}

func TestOldKubernetes(t *testing.T) {
	if _, err := render(t, "1.22.17", ""); err == nil || !strings.Contains(err.Error(), "requires kubeVersion: >=1.23.0-0") {
		t.Error(err)
	}
}
