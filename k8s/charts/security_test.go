package charts

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

const tokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// TestPrivileges states for each container whether it is privileged, whether it has the token of the
// service account, and which directories of the host it may write.
func TestPrivileges(t *testing.T) {
	type powers struct {
		Privileged, Token bool
		Writes            []string
	}
	want := map[string]powers{
		"metax-gpu-device/cdi":        {Privileged: true, Writes: []string{"/run/metax-container-toolkit", "/var/lib/metax-container-toolkit", "/var/log/metax", "/var/run/cdi"}},
		"metax-gpu-device/gpu-device": {Token: true, Writes: []string{"/run/metax-container-toolkit/k8s", "/run/metax/device-plugin", "/var/lib/kubelet/device-plugins", "/var/log/metax"}},
		"metax-gpu-device/health":     {Privileged: true, Writes: []string{"/var/log/metax"}},
		"metax-gpu-label/gpu-label":   {Token: true, Writes: []string{"/run/metax-container-toolkit/validation", "/var/log/metax"}},
		"metax-gpu-aware/gpu-aware":   {Token: true},
		"metax-exporter/exporter":     {Writes: []string{"/var/log/metax"}},
		"metax-exporter/health":       {Privileged: true, Writes: []string{"/var/log/metax"}},
		"metax-gpu-cleanup/files":     {Writes: []string{"/run/metax-container-toolkit", "/run/metax/device-plugin", "/var/lib/metax-container-toolkit", "/var/log/metax", "/var/run/cdi"}},
		"metax-gpu-cleanup/stay":      {},
		"metax-gpu-cleanup/nodes":     {Token: true},
	}
	got := map[string]powers{}
	const values = "{dataExporter: {deploy: true}, deployExtenderGPUAware: true, gpuLabel: {validate: true}}"
	pods := []corev1.PodTemplateSpec{as[batchv1.Job](t, objects(t, mustRender(t, "1.34.4", values)), "Job/metax-gpu-cleanup").Spec.Template}
	for _, name := range []string{"metax-gpu-device", "metax-gpu-label", "metax-exporter", "metax-gpu-aware", "metax-gpu-cleanup"} {
		pods = append(pods, daemonset(t, values, name).Spec.Template)
	}
	for _, template := range pods {
		name, pod := template.Labels["app.kubernetes.io/name"], template.Spec
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Errorf("%s: every container gets the token", name)
		}
		if pod.HostNetwork || pod.HostPID || pod.HostIPC {
			t.Errorf("%s shares namespaces with the host", name)
		}
		if pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: seccomp %v", name, pod.SecurityContext.SeccompProfile)
		}
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			s := c.SecurityContext
			privileged := s.Privileged != nil && *s.Privileged
			if !privileged && (s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) != 0) {
				t.Errorf("%s/%s: %+v", name, c.Name, s)
			}
			if s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
				t.Errorf("%s/%s can write to its root", name, c.Name)
			}
			p := powers{Privileged: privileged}
			for _, m := range c.VolumeMounts {
				v := pod.Volumes[slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })]
				if v.HostPath != nil && !m.ReadOnly {
					p.Writes = append(p.Writes, v.HostPath.Path)
				}
				p.Token = p.Token || m.MountPath == tokenDir
			}
			slices.Sort(p.Writes)
			p.Writes = slices.Compact(p.Writes)
			got[name+"/"+c.Name] = p
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
