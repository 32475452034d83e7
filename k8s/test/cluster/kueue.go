// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Kueue is the daemon that decides when a job may start.
const Kueue = "kueue"

const (
	kueueAddress = "127.0.0.1:9443"
	kueueCerts   = dir + "/kueue"
	// kueueMetrics is where Kueue wants a certificate even without metrics.
	kueueMetrics = "/etc/kueue/metrics/certs"
)

// RunKueue runs Kueue, which queues jobs and pods. Beside its program are its custom resources
// in kueue-crds.yaml, and in kueue-webhooks.yaml the webhooks as its chart has them.
func (c *Cluster) RunKueue(ctx context.Context, file string) error {
	path, err := c.copyProgram(file, Kueue)
	if err != nil {
		return err
	}
	crds, err := os.ReadFile(filepath.Join(filepath.Dir(file), "kueue-crds.yaml"))
	if err != nil {
		return err
	}
	webhooks, err := c.kueueWebhooks(filepath.Join(filepath.Dir(file), "kueue-webhooks.yaml"))
	if err != nil {
		return err
	}
	files := map[string]string{"kueue-crds.yaml": string(crds), "kueue-webhooks.yaml": webhooks, "kueue.yaml": kueueConfig}
	for name, text := range files {
		if err := c.WriteFile(dir+"/"+name, text); err != nil {
			return err
		}
	}
	for _, at := range []string{kueueCerts, kueueMetrics} {
		for _, part := range []string{"crt", "key"} {
			text, err := os.ReadFile(c.Path(dir + "/server." + part))
			if err != nil {
				return err
			}
			if err := c.WriteFile(at+"/tls."+part, string(text)); err != nil {
				return err
			}
		}
	}
	if err := c.establishCRDs(ctx, "kueue-system", dir+"/kueue-crds.yaml"); err != nil {
		return err
	}
	if err := c.launch(ctx, program{argv: []string{
		path, "--config=" + dir + "/kueue.yaml", "--kubeconfig=" + dir + "/admin.conf", "--zap-log-level=2",
	}, ready: serves(kueueAddress)}); err != nil {
		return err
	}
	_, err = c.Run(ctx, "kubectl", "create", "-f", dir+"/kueue-webhooks.yaml")
	return err
}

// kueueConfig is that of Kueue's chart, for a program that is no pod and has the cluster's
// certificate.
const kueueConfig = `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
clientConnection: {qps: 50, burst: 100}
featureGates: {VisibilityOnDemand: false}
health: {healthProbeBindAddress: "127.0.0.1:8081"}
integrations: {frameworks: [batch/job, pod]}
internalCertManagement: {enable: false}
leaderElection: {leaderElect: false}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: 9443, certDir: ` + kueueCerts + `}
`

// kueueWebhooks are the webhooks of a file, with the address of the program instead of a
// Service.
func (c *Cluster) kueueWebhooks(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	authority, err := os.ReadFile(c.Path(dir + "/ca.crt"))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for part := range strings.SplitSeq(string(text), "\n---") {
		var object struct {
			APIVersion string           `json:"apiVersion"`
			Kind       string           `json:"kind"`
			Metadata   map[string]any   `json:"metadata"`
			Webhooks   []map[string]any `json:"webhooks"`
		}
		if err := yaml.Unmarshal([]byte(part), &object); err != nil {
			return "", fmt.Errorf("read %s: %w", file, err)
		}
		for _, webhook := range object.Webhooks {
			client, _ := webhook["clientConfig"].(map[string]any)
			service, _ := client["service"].(map[string]any)
			path, _ := service["path"].(string)
			if path == "" {
				return "", fmt.Errorf("%s: the webhook %v has no path of a Service", file, webhook["name"])
			}
			webhook["clientConfig"] = map[string]any{
				"url": "https://" + kueueAddress + path, "caBundle": base64.StdEncoding.EncodeToString(authority),
			}
		}
		changed, err := yaml.Marshal(object)
		if err != nil {
			return "", err
		}
		all.WriteString("---\n" + string(changed))
	}
	return all.String(), nil
}
