// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Volcano is the schedulerName of pods for Volcano, and VolcanoScheduler the daemon that
// places them.
const (
	Volcano          = "volcano"
	VolcanoScheduler = "vc-scheduler"
)

// RunVolcano runs Volcano's scheduler by a configuration and with more options, its controllers
// and its webhook, which are beside the scheduler's program, as are its custom resources in
// volcano-crds.yaml.
func (c *Cluster) RunVolcano(ctx context.Context, file, config string, options ...string) error {
	paths := map[string]string{}
	for _, name := range []string{VolcanoScheduler, "vc-controller-manager", "vc-webhook-manager"} {
		path, err := c.copyProgram(filepath.Join(filepath.Dir(file), name), name)
		if err != nil {
			return err
		}
		paths[name] = path
	}
	crds, err := os.ReadFile(filepath.Join(filepath.Dir(file), "volcano-crds.yaml"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"volcano-crds.yaml": string(crds), "volcano-webhooks.yaml": volcanoWebhooks(), "volcano.yaml": config} {
		if err := c.WriteFile(dir+"/"+name, text); err != nil {
			return err
		}
	}
	if err := c.establishCRDs(ctx, "volcano-system", dir+"/volcano-crds.yaml"); err != nil {
		return err
	}
	if _, err := c.Run(ctx, "kubectl", "create", "-f", dir+"/volcano-webhooks.yaml"); err != nil {
		return err
	}
	common := []string{"--kubeconfig=" + dir + "/admin.conf"}
	for _, p := range []program{
		{argv: append([]string{
			paths["vc-webhook-manager"], "--webhook-url=https://" + volcanoWebhookAddress, "--listen-address=127.0.0.1", "--port=8543",
			"--tls-cert-file=" + dir + "/server.crt", "--tls-private-key-file=" + dir + "/server.key", "--ca-cert-file=" + dir + "/ca.crt",
			"--enabled-admission=" + strings.Join(volcanoAdmissions, ","),
		}, common...), ready: serves(volcanoWebhookAddress)},
		{argv: append([]string{paths["vc-controller-manager"], "--leader-elect=false", "-v=2"}, common...), ready: started},
		{argv: slices.Concat([]string{paths[VolcanoScheduler], "--scheduler-conf=" + dir + "/volcano.yaml", "--leader-elect=false", "-v=3"}, common, options), ready: func(ctx context.Context, c *Cluster) error {
			state, err := c.Run(ctx, "kubectl", "get", "queues.scheduling.volcano.sh", "default", "-o", "jsonpath={.status.state}")
			if err == nil && state != "Open" { // the webhook takes no job before
				err = fmt.Errorf("the queue default is %q", state)
			}
			return err
		}},
	} {
		if err := c.launch(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

const volcanoWebhookAddress = "127.0.0.1:8543"

// volcanoAdmissions are the paths of the webhook that Volcano's own objects pass.
var volcanoAdmissions = []string{"/jobs/mutate", "/jobs/validate", "/podgroups/mutate", "/queues/mutate", "/queues/validate"}

// volcanoWebhooks has the objects that Volcano's webhook completes with its certificate.
func volcanoWebhooks() string {
	var text strings.Builder
	for _, path := range volcanoAdmissions {
		resource, verb, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		kind, operations := "Mutating", "CREATE"
		if verb == "validate" {
			kind, operations = "Validating", "CREATE, UPDATE"
		}
		fmt.Fprintf(&text, `---
apiVersion: admissionregistration.k8s.io/v1
kind: %sWebhookConfiguration
metadata: {name: volcano-admission-service-%s-%s}
webhooks:
- name: %s-%s.volcano.sh
  admissionReviewVersions: [v1]
  sideEffects: NoneOnDryRun
  clientConfig: {url: "https://%s%s"}
  rules: [{apiGroups: [batch.volcano.sh, scheduling.volcano.sh], apiVersions: ["*"], operations: [%s], resources: [%s]}]
`, kind, resource, verb, verb, resource, volcanoWebhookAddress, path, operations, resource)
	}
	return text.String()
}
