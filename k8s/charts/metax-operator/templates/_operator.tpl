{{/* nonRoot: the security context of a pod that needs nothing of its host. The group can read the token. */}}
{{- define "metax.nonRoot" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
  {{- with .Values.podSecurity.seLinuxType }}
  seLinuxOptions:
    type: {{ . | quote }}
  {{- end }}
{{- end }}

{{/* controllerPlacement .: where the controller and the jobs of the chart run. */}}
{{- define "metax.controllerPlacement" -}}
{{- $controller := deepCopy .Values.controller -}}
{{- if $controller.controlPlaneOnly -}}
{{- $terms := list (dict "matchExpressions" (list (dict "key" "node-role.kubernetes.io/control-plane" "operator" "Exists"))) -}}
{{- $node := mergeOverwrite (deepCopy (dig "nodeAffinity" dict ($controller.affinity | default dict) | default dict)) (dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms)) -}}
{{- $_ := set $controller "affinity" (set ($controller.affinity | default dict) "nodeAffinity" $node) -}}
{{- end -}}
{{- include "metax.placement" (dict "context" . "component" $controller) -}}
{{- end }}

{{/* values: those of the components, for the controller. */}}
{{- define "metax.componentValues" -}}
{{- $values := pick .Values "registry" "pullPolicy" "imagePullSecrets" "kubeletRootDir" "hostRoot" "nodeSelector" "affinity" "tolerations" "priorityClassName" "podSecurity" "log" "runtime" "driver" "maca" "vfManager" "vfioManager" -}}
{{- range list "gpuDevice" "gpuLabel" "dataExporter" -}}
{{- $_ := set $values . (omit (index $.Values .) "podTemplateSpec" "podTemplateSpecFile" (ternary "" "deploy" (eq . "dataExporter"))) -}}
{{- end -}}
{{- /* The controller does not know the version of Kubernetes; deploy says to it whether there are policies. */ -}}
{{- $_ := set $values "admissionPolicy" (dict "deploy" (eq "true" (include "metax.policies" .))) -}}
{{- $_ := set $values "maca" (omit .Values.maca "podTemplateSpec" "podTemplateSpecFile") -}}
{{- toYaml $values -}}
{{- end }}

{{/* options (list VALUES NAME...): some of a component's values, and what is merged into its pods. */}}
{{- define "metax.options" -}}
{{- $values := first . -}}
{{- $options := dict -}}
{{- range rest . -}}
{{- if hasKey $values . -}}
{{- $_ := set $options . (get $values .) -}}
{{- end -}}
{{- end -}}
{{- with include "metax.podTemplate" $values | fromYaml -}}
{{- $_ := set $options "podTemplateSpec" . -}}
{{- end -}}
{{- toYaml $options -}}
{{- end }}
