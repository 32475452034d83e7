// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// TestArchive has a node without driver and MXMACA, and a cluster that reaches nothing but a
// private registry. One file brings everything there; one "helm install" later the lean pod of
// the manual has GPUs, driver and MXMACA. Then the images are loaded into the engine, and the
// chart is installed without any registry.
func TestArchive(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.withoutDriver(t)
	n.must(t, "sh", "-c", "rm -r "+cluster.NodeDir+"/opt/maca*")

	// What comes from elsewhere: the pod's image, the vendor's images as files, and the image
	// with the health of GPUs.
	n.create(t, probePod("pulls", 0, "look"))
	n.phase(t, "pulls", corev1.PodSucceeded)
	n.remove(t, "pulls")
	const driver, maca = cluster.Registry + "/test/driver-image:" + oldDriver, macaImages + ":3.8.0.1"
	n.must(t, "sh", "-ec", fmt.Sprintf(`
for image in %s %s %s/gpu-health:%s; do ctr -n k8s.io images pull --plain-http $image >/dev/null; done
ctr -n k8s.io images export --local /tmp/driver.tar %[1]s
ctr -n k8s.io images export --local /tmp/maca.tar %[2]s
busybox gzip /tmp/maca.tar
cp %[5]s/archives/metax-k8s-images.*.run /tmp/part.run
/tmp/part.run add --to /tmp/all.run /tmp/driver.tar
ctr -n k8s.io images remove %[1]s %[2]s`, driver, maca, project, n.version(t), sandbox.BinDir))
	health := []string{"--set", "gpuDevice.health.image.registry=" + project, "--set", "hostRoot=" + cluster.NodeDir}
	if err := n.Daemon("registry").Stop(); err != nil {
		t.Fatal(err)
	}

	if err := n.RunRegistry(within(t)); err != nil {
		t.Fatal(err)
	}
	const login, to = "/tmp/login", cluster.DiskRegistry + "/gpu/metax"
	if out, err := n.Run(within(t), "/tmp/all.run", "push", to); err == nil || !strings.Contains(err.Error(), "push gpu-device:") {
		t.Errorf("without a login it is pushed: %s %v", out, err)
	}
	n.must(t, "sh", "-ec", fmt.Sprintf(`
mkdir %[1]s
printf '{"auths": {"%[2]s": {"auth": "%%s"}}}' "$(printf %[3]s:%[4]s | base64)" >%[1]s/config.json
kubectl create namespace %[5]s
kubectl -n %[5]s create secret generic hub --type=kubernetes.io/dockerconfigjson --from-file=.dockerconfigjson=%[1]s/config.json`,
		login, cluster.DiskRegistry, cluster.DiskUser, cluster.DiskPassword, namespace))
	pushed := n.must(t, "env", "DOCKER_CONFIG="+login, "/tmp/all.run", "push", to, "/tmp/maca.tar.gz")
	_, digest, ok := strings.Cut(pushed, to+"/driver-image:"+oldDriver+"@")
	if !ok || !strings.Contains(pushed, to+"/maca-c500:3.8.0.1@sha256:") || !strings.Contains(pushed, to+"/metax-operator:") {
		t.Fatalf("it pushed %s", pushed)
	}
	digest, _, _ = strings.Cut(digest, "\n")
	n.must(t, "helm", append([]string{
		"install", "oci://" + to + "/metax-operator", "-n", namespace, "--create-namespace", "--generate-name", "--wait", "--set", "registry=" + to,
		"--registry-config", login + "/config.json", "--set", "imagePullSecrets[0].name=hub",
		"--set", "driver.deployPolicy=PreferHost", "--set", "driver.payload.version=" + digest, "--set", "maca.payload.images={maca-c500:3.8.0.1}",
	}, health...)...)
	release := n.release(t)
	n.allowRights(t, release)
	n.driver(t, oldDriver)
	n.allocatable(t, len(n.gpus))
	n.condition(t, "MACAReady=True Deployed")
	n.condition(t, "Ready=True Deployed")
	n.create(t, example(t, "manual.yaml", "manual", "look"))
	n.phase(t, "manual", corev1.PodSucceeded)
	if r := n.report(t, "manual"); len(r.Driver) == 0 {
		t.Error("/opt/mxdriver/bin of the container is empty")
	}
	n.hasMACA(t, "manual", "3.8.0.1")
	n.remove(t, "manual")
	n.uninstall(t, release)

	// Without any registry.
	if err := n.Daemon("docker-registry").Stop(); err != nil {
		t.Fatal(err)
	}
	loaded := n.must(t, "/tmp/all.run", "load")
	if !strings.Contains(loaded, "ghcr.io/metax-ctk/operator-controller:") || strings.Contains(loaded, "/metax-operator:") {
		t.Errorf("it loaded %s", loaded)
	}
	n.must(t, "/tmp/all.run", "charts", "/tmp")
	n.must(t, "helm", append([]string{"install", "loaded", "/tmp/metax-operator-" + n.version(t) + ".tgz", "-n", namespace, "--wait"}, health...)...)
	n.allowRights(t, "loaded")
	n.condition(t, "Ready=True Deployed")
	n.allocatable(t, len(n.gpus))
	n.look(t, "loaded", 1)
	n.remove(t, "loaded")
	n.uninstall(t, "loaded")
}

// version is that of the charts and images.
func (n *node) version(t *testing.T) string {
	t.Helper()
	name := n.must(t, "sh", "-c", "basename "+sandbox.BinDir+"/archives/metax-k8s-images.*.run")
	name = strings.TrimPrefix(name, "metax-k8s-images.")
	return name[:strings.LastIndex(strings.TrimSuffix(strings.TrimSpace(name), ".run"), ".")]
}
