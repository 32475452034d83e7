// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/metax-ctk/container-toolkit/test/golden"
)

// byHelm are the labels and annotations that only Helm's own objects have.
var byHelm = regexp.MustCompile(`(?m)^ +(app\.kubernetes\.io/managed-by|helm\.sh/[a-z-]+): .*\n|^  annotations:\n( +helm\.sh/[a-z-]+: .*\n)+`)

const plain = `# MetaX GPUs in Kubernetes 1.30 and newer, without Helm: kubectl apply -f metax-gpu-extensions.yaml
`

const namespace = `# Made from the chart metax-gpu-extensions with its default values; do not edit it.
---
apiVersion: v1
kind: Namespace
metadata:
  name: metax-gpu-extensions
  labels:
    # The pods mount directories of the host, and two containers are privileged.
    pod-security.kubernetes.io/enforce: privileged
    pod-security.kubernetes.io/audit: privileged
    pod-security.kubernetes.io/warn: privileged
`

const cleanup = `# Removes what metax-gpu-extensions left on the nodes, without Helm, after it was deleted:
#   kubectl apply -f metax-gpu-extensions-cleanup.yaml
#   kubectl wait -n metax-gpu-extensions --for=condition=complete --timeout=5m job/metax-gpu-cleanup
#   kubectl delete -f metax-gpu-extensions-cleanup.yaml
`

// TestPlainManifest keeps the manifests for kubectl equal to the chart.
func TestPlainManifest(t *testing.T) {
	r := mustRender(t, "1.34.4", "")
	var hooks strings.Builder
	for _, hook := range r.Hooks {
		if slices.Contains(hook.Events, release.HookPostDelete) {
			hooks.WriteString("---\n" + hook.Manifest + "\n")
		}
	}
	for name, text := range map[string]string{
		extensions + ".yaml":         plain + namespace + strings.TrimPrefix(r.Manifest, "\n"),
		extensions + "-cleanup.yaml": cleanup + namespace + hooks.String(),
	} {
		text = byHelm.ReplaceAllString(text, "")
		if strings.Contains(strings.ReplaceAll(text, "without Helm", ""), "elm") {
			t.Errorf("%s mentions Helm", name)
		}
		golden.Equal(t, name, text)
	}
}
