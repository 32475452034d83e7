{{/* awareAddress .: where kube-scheduler asks; nothing if the Service has no address yet, before the first upgrade. */}}
{{- define "metax.awareAddress" -}}
{{- $aware := .Values.gpuAware -}}
{{- $service := lookup "v1" "Service" $aware.namespace "metax-gpu-aware" | default dict -}}
{{- $ip := $aware.service.clusterIP | default (dig "spec" "clusterIP" "" $service) -}}
{{- $scheme := ternary "https" "http" (ne $aware.tls.secret "") -}}
{{- if $aware.extender.urlPrefix -}}
{{- $aware.extender.urlPrefix -}}
{{- else if $ip -}}
{{- printf "%s://%s:8080" $scheme (ternary (printf "[%s]" $ip) $ip (contains ":" $ip)) -}}
{{- end -}}
{{- end }}

{{/* schedulerConfig (dict "context" . "second" BOOL): the configuration of kube-scheduler with the extender. */}}
{{- define "metax.schedulerConfig" -}}
{{- $extender := .context.Values.gpuAware.extender -}}
# MetaX's manual has v1beta3, which kube-scheduler knew from 1.23 to 1.28.
apiVersion: kubescheduler.config.k8s.io/{{ ternary "v1" "v1beta3" (semverCompare ">=1.25-0" .context.Capabilities.KubeVersion.Version) }}
kind: KubeSchedulerConfiguration
{{- if .second }}
leaderElection:
  leaderElect: true
  resourceNamespace: {{ .context.Values.gpuAware.namespace }}
  resourceName: metax-gpu-scheduler
profiles:
  - schedulerName: metax-gpu-scheduler
{{- else }}
clientConnection:
  kubeconfig: /etc/kubernetes/scheduler.conf
leaderElection:
  leaderElect: true
{{- end }}
extenders:
  - urlPrefix: {{ include "metax.awareAddress" .context }}
    enableHTTPS: {{ hasPrefix "https:" (include "metax.awareAddress" .context) }}
    filterVerb: filter
    prioritizeVerb: prioritize
    weight: {{ $extender.weight }}
    nodeCacheCapable: {{ $extender.nodeCacheCapable }}
    # true: without gpu-aware, pods are placed by the scheduler alone.
    ignorable: {{ $extender.ignorable }}
    httpTimeout: {{ $extender.httpTimeout }}
    # Only pods with GPUs are asked about. ignoredByScheduler must stay false: the scheduler counts the GPUs.
    managedResources:
      - name: metax-tech.com/gpu
        ignoredByScheduler: false
{{- end }}

{{/* volcanoPlugin .: an item of the plugins in Volcano's volcano-scheduler.conf. */}}
{{- define "metax.volcanoPlugin" -}}
{{- $extender := .Values.gpuAware.extender -}}
- name: extender
  arguments:
    extender.urlPrefix: {{ include "metax.awareAddress" . }}/volcano
    # A question for each node and pod. With hundreds of nodes, leave it out: then gpu-aware refuses no node.
    extender.predicateVerb: predicate
    extender.prioritizeVerb: prioritize
    extender.httpTimeout: {{ $extender.httpTimeout }}
    # true: without gpu-aware, pods are placed by Volcano alone.
    extender.ignorable: {{ $extender.ignorable }}
    # Only pods with GPUs are asked about.
    extender.managedResources:
      - metax-tech.com/gpu
{{- end }}
