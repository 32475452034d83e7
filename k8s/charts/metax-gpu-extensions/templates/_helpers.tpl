{{/* labels (dict "context" . "component" NAME): what every object carries. */}}
{{- define "metax.labels" -}}
{{ include "metax.selector" . }}
app.kubernetes.io/part-of: metax-gpu-extensions
app.kubernetes.io/version: {{ .context.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .context.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .context.Chart.Name (.context.Chart.Version | replace "+" "_") }}
{{- end }}

{{/* podLabels (dict "context" . "component" NAME): without the version, so that only what changes restarts. */}}
{{- define "metax.podLabels" -}}
{{ include "metax.selector" . }}
app.kubernetes.io/part-of: metax-gpu-extensions
{{- end }}

{{/* selector (dict "context" . "component" NAME): the labels that find the pods. They never change. */}}
{{- define "metax.selector" -}}
app.kubernetes.io/name: {{ .component }}
app.kubernetes.io/instance: {{ .context.Release.Name }}
{{- end }}

{{/* image (dict "context" . "image" VALUES): a version that is a digest is pinned. */}}
{{- define "metax.image" -}}
{{- $version := .image.version | default .context.Chart.AppVersion -}}
{{- $separator := ternary "@" ":" (hasPrefix "sha256:" $version) -}}
{{- printf "%s/%s%s%s" (.image.registry | default .context.Values.registry | default "" | trimSuffix "/") .image.name $separator $version | quote -}}
{{- end }}

{{/* host (list . PATH): a path of the host, below hostRoot. */}}
{{- define "metax.host" -}}
{{- $root := index . 0 -}}
{{- printf "%s%s" (trimSuffix "/" $root.Values.hostRoot) (index . 1) -}}
{{- end }}

{{/* logFlags (dict "context" . "log" VALUES): the component's options over the global ones. */}}
{{- define "metax.logFlags" -}}
{{- $log := mergeOverwrite (deepCopy .context.Values.log) (.log | default dict) -}}
- --log-dir={{ $log.dir }}
- --log-level={{ $log.level }}
- --log-format={{ $log.format }}
- --log-rotation-time={{ $log.rotationTime }}
- --log-max-age={{ $log.maxAge }}
{{- end }}

{{/* logDir (dict "context" . "log" VALUES): the directory of the log files, or nothing. */}}
{{- define "metax.logDir" -}}
{{- (mergeOverwrite (deepCopy .context.Values.log) (.log | default dict)).dir -}}
{{- end }}

{{/* placement (dict "context" . "component" VALUES): where the pods run, and what they outrank. */}}
{{- define "metax.placement" -}}
priorityClassName: {{ .context.Values.priorityClassName | quote }}
nodeSelector:
  {{- toYaml (merge (deepCopy (.component.nodeSelector | default dict)) (.context.Values.nodeSelector | default dict)) | nindent 2 }}
affinity:
  {{- toYaml (.component.affinity | default .context.Values.affinity | default dict) | nindent 2 }}
tolerations:
  {{- toYaml (.component.tolerations | default .context.Values.tolerations | default list) | nindent 2 }}
imagePullSecrets:
  {{- toYaml .context.Values.imagePullSecrets | nindent 2 }}
{{- end }}

{{/* policies .: "true" where the cluster has the policies of admission.yaml. */}}
{{- define "metax.policies" -}}
{{- if and .Values.admissionPolicy.deploy (semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version) -}}true{{- end -}}
{{- end }}

{{/* tellsPods .: "true" where gpu-device writes annotations of pods: under a policy, or because a value needs it. */}}
{{- define "metax.tellsPods" -}}
{{- $device := .Values.gpuDevice -}}
{{- $config := toYaml (list $device.config (($device.cmInit | default dict).config | default dict)) -}}
{{- if or (include "metax.policies" .) $device.kunlunxinDevices $device.sGPUHybridMode (regexMatch `(?i)mode["']?: *["']?sgpu` $config) -}}true{{- end -}}
{{- end }}

{{/* tokenNote .: for NOTES, what a stolen token of one node's agents can do. */}}
{{- define "metax.tokenNote" -}}
{{- $tells := include "metax.tellsPods" . -}}
{{- if include "metax.policies" . -}}
The tokens of gpu-device and gpu-label: the policies of this release tie them to their own node. Without these, RBAC would let them patch every Node, nodes/status{{ if $tells }} and pods/status{{ end }}.
{{- else -}}
{{- if .Values.admissionPolicy.deploy -}}
Kubernetes {{ .Capabilities.KubeVersion.Version }} has no ValidatingAdmissionPolicy (1.30).
{{- else -}}
admissionPolicy.deploy is false.
{{- end }} So a user who may create pods can keep slices from others, by pods with nodeName or an unknown schedulerName; and a token of gpu-device or gpu-label that is stolen from one node can patch labels, annotations, taints and status of every Node{{ if $tells }}, and labels, annotations and status of every pod{{ end }}; it cannot change what a pod runs.
{{- end -}}
{{- end }}

{{/* podSecurity .: root for the directories of the host, and nothing besides. */}}
{{- define "metax.podSecurity" -}}
securityContext:
  runAsUser: 0
  runAsGroup: 0
  seccompProfile:
    type: RuntimeDefault
  {{- with .Values.podSecurity.seLinuxType }}
  seLinuxOptions:
    type: {{ . | quote }}
  {{- end }}
{{- end }}

{{/* locked: the security context of a container that needs no privilege. */}}
{{- define "metax.locked" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/*
goMemory RESOURCES: an entry of env, by which Go's garbage collector keeps the program below its limit of memory. A
tenth is for what is not Go's.
*/}}
{{- define "metax.goMemory" -}}
{{- $limit := dig "limits" "memory" "" (. | default dict) | toString -}}
{{- if regexMatch "^[0-9]+[MG]i$" $limit -}}
{{- $unit := ternary 1024 1 (hasSuffix "Gi" $limit) -}}
- {name: GOMEMLIMIT, value: {{ printf "%dMiB" (div (mul (regexFind "^[0-9]+" $limit | int) $unit 9) 10) }}}
{{- else -}}
- {name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory}}}
{{- end -}}
{{- end }}

{{/* token: the volume with the token of the service account, for the one container that may use it. */}}
{{- define "metax.token" -}}
- name: token
  projected:
    defaultMode: 0400
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 3607
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
      - downwardAPI:
          items:
            - path: namespace
              fieldRef:
                fieldPath: metadata.namespace
{{- end }}

{{/* afterDelete WEIGHT: the annotations of an object that exists only while helm uninstall cleans up. */}}
{{- define "metax.afterDelete" -}}
helm.sh/hook: post-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
{{- end }}

{{/* subjects LIST: the subjects of a binding. */}}
{{- define "metax.subjects" -}}
{{- range . }}
- kind: {{ .kind }}
  name: {{ .name | quote }}
  {{- if eq .kind "ServiceAccount" }}
  namespace: {{ .namespace | quote }}
  {{- else }}
  apiGroup: rbac.authorization.k8s.io
  {{- end }}
{{- end }}
{{- end }}

{{/*
daemonSet (dict "context" . "component" VALUES "manifest" YAML): the manifest, with podTemplateSpec of this component, else
that of all, merged into its pods. The labels by which it finds them stay.
*/}}
{{- define "metax.daemonSet" -}}
{{- $overlays := list -}}
{{- with include "metax.podTemplate" .component | fromYaml | default (include "metax.podTemplate" .context.Values | fromYaml) -}}
{{- $overlays = append $overlays . -}}
{{- end -}}
{{- if $overlays -}}
{{- $set := fromYaml .manifest -}}
{{- range append $overlays (dict "metadata" (dict "labels" $set.spec.selector.matchLabels)) -}}
{{- include "metax.mergeInto" (list $set.spec.template .) -}}
{{- end -}}
{{- toYaml $set -}}
{{- else -}}
{{- .manifest -}}
{{- end -}}
{{- end }}

{{/* podTemplate VALUES: podTemplateSpecFile, the text of a file, else podTemplateSpec. */}}
{{- define "metax.podTemplate" -}}
{{- include "metax.object" (list "podTemplateSpecFile" (.podTemplateSpecFile | default .podTemplateSpec | default dict)) -}}
{{- end }}

{{/* object (list NAME VALUE): a value that is an object, or the text of a file with one. */}}
{{- define "metax.object" -}}
{{- $value := index . 1 -}}
{{- if kindIs "string" $value -}}
{{- $value = fromYaml $value -}}
{{- with $value.Error -}}
{{- fail (printf "%s: %s" (index $ 0) .) -}}
{{- end -}}
{{- end -}}
{{- toYaml $value -}}
{{- end }}

{{/* mergeInto (list BASE OVER): maps are merged, lists are appended, anything else is replaced. */}}
{{- define "metax.mergeInto" -}}
{{- $base := index . 0 -}}
{{- range $key, $value := index . 1 -}}
{{- $had := get $base $key -}}
{{- if and (kindIs "map" $had) (kindIs "map" $value) -}}
{{- include "metax.mergeInto" (list $had $value) -}}
{{- else if and (kindIs "slice" $had) (kindIs "slice" $value) -}}
{{- $_ := set $base $key (concat $had $value) -}}
{{- else -}}
{{- $_ := set $base $key $value -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/*
edited (dict "context" . "component" NAME "name" NAME "namespace" NAMESPACE "data" DATA "default" DATA): two ConfigMaps.
NAME-values is what the values say. NAME is what people edit, whose keys hold instead; no data of it is stated, so that no
upgrade and no rollback takes an edit back. What an older version of the chart stated goes with an upgrade, so it has to
be kept first, unless it is the default. Kept, it is left out here once; then Helm takes it as its own again.
*/}}
{{- define "metax.edited" -}}
{{- $me := pick . "context" "component" -}}
{{- $values := printf "%s-values" .name -}}
{{- $stated := lookup "v1" "ConfigMap" .namespace .name -}}
{{- if lookup "v1" "ConfigMap" .namespace $values -}}
{{- $stated = dict -}}
{{- end -}}
{{- $kept := eq (dig "metadata" "annotations" "helm.sh/resource-policy" "" ($stated | default dict)) "keep" -}}
{{- if $stated -}}
{{- range $key, $text := $stated.data -}}
{{- if and (not $kept) (ne (trim $text) (trim (get $.default $key))) -}}
{{- fail (printf "ConfigMap %s of namespace %s says %s, and this upgrade would take that back once. Keep it, and upgrade again: kubectl annotate configmap -n %s %s helm.sh/resource-policy=keep" $.name $.namespace $key $.namespace $.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $values }}
  namespace: {{ .namespace }}
  labels:
    {{- include "metax.labels" $me | nindent 4 }}
data:
  {{- range $key, $value := .data }}
  {{ $key }}: {{ kindIs "string" $value | ternary $value (toYaml $value) | toJson }}
  {{- end }}
{{- if not $kept }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels:
    {{- include "metax.labels" $me | nindent 4 }}
  annotations:
    kubernetes.io/description: {{ printf "Keys of data here hold instead of those of ConfigMap %s. No upgrade changes them." $values | quote }}
{{- end }}
{{- end }}
