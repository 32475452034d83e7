package charts

import (
	"regexp"
	"strings"
	"testing"
)

// byHelm are the labels that only Helm's own objects have.
var byHelm = regexp.MustCompile(`(?m)^ +(app\.kubernetes\.io/managed-by|helm\.sh/chart): .*\n`)

const namespace = `# MetaX GPUs in Kubernetes 1.30 and newer, without Helm: kubectl apply -f metax-gpu-extensions.yaml
# Made from the chart metax-gpu-extensions with its default values; do not edit it.
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

// TestPlainManifest keeps the manifest for kubectl equal to the chart.
func TestPlainManifest(t *testing.T) {
	manifest := byHelm.ReplaceAllString(mustRender(t, "1.34.4", "").Manifest, "")
	if strings.Contains(manifest, "elm") {
		t.Error("the plain manifest mentions Helm")
	}
	golden(t, extensions+".yaml", namespace+strings.TrimPrefix(manifest, "\n"))
}
