{{/*
virtual (dict "context" . "name" NAME "command" COMMAND "values" VALUES "config" CONFIGMAP "args" LIST): the agent that
changes the PCI functions of GPUs as a ConfigMap says. The controller adds an annotation when that changes, so that
the pods start again and read it at once.
*/}}
{{- define "metax.virtual" -}}
{{- $root := ternary "/" "/host" (eq .context.Values.hostRoot "/") }}
{{- $at := trimSuffix "/" $root }}
{{- $mounts := list
  (dict "name" "config" "mountPath" (printf "/etc/%s" .config) "readOnly" true)
  (dict "name" "values" "mountPath" (printf "/etc/%s-values" .config) "readOnly" true)
  (dict "name" "host-dev" "mountPath" (printf "%s/dev" $at))
  (dict "name" "host-opt" "mountPath" (printf "%s/opt" $at) "readOnly" true)
  (dict "name" "run" "mountPath" "/run/metax-container-toolkit")
  (dict "name" "cdi" "mountPath" "/var/run/cdi")
  (dict "name" "lib" "mountPath" "/var/lib/metax-container-toolkit")
  (dict "name" "pod-resources" "mountPath" "/var/lib/kubelet/pod-resources" "readOnly" true) }}
{{- $volumes := list
  (dict "name" "config" "configMap" (dict "name" .config "optional" true))
  (dict "name" "values" "configMap" (dict "name" (printf "%s-values" .config) "optional" true))
  (dict "name" "host-dev" "hostPath" (dict "path" (include "metax.host" (list .context "/dev")) "type" "Directory"))
  (dict "name" "host-opt" "hostPath" (dict "path" (include "metax.host" (list .context "/opt")) "type" "DirectoryOrCreate"))
  (dict "name" "cdi" "hostPath" (dict "path" "/var/run/cdi" "type" "DirectoryOrCreate"))
  (dict "name" "lib" "hostPath" (dict "path" "/var/lib/metax-container-toolkit" "type" "DirectoryOrCreate"))
  (dict "name" "run" "hostPath" (dict "path" "/run/metax-container-toolkit" "type" "DirectoryOrCreate"))
  (dict "name" "pod-resources" "hostPath" (dict "path" (printf "%s/pod-resources" (trimSuffix "/" .context.Values.kubeletRootDir)) "type" "DirectoryOrCreate")) }}
{{- /* The /sys of a privileged container is that of its host; that of a simulated node is a directory. */ -}}
{{- if ne $root "/" }}
{{- $mounts = concat $mounts (list (dict "name" "host-sys" "mountPath" "/host/sys") (dict "name" "run" "mountPath" "/host/run/metax-container-toolkit")) }}
{{- $volumes = append $volumes (dict "name" "host-sys" "hostPath" (dict "path" (include "metax.host" (list .context "/sys")) "type" "Directory")) }}
{{- end }}
{{- include "metax.agent" (dict "context" .context "name" .name "command" .command "values" .values
  "args" (concat (list (printf "--root=%s" $root) (printf "--engine-root=%s" .context.Values.hostRoot)) .args) "mounts" $mounts "volumes" $volumes "nodeName" true "hostPID" true
  "updateStrategy" (dict "type" "RollingUpdate" "rollingUpdate" (dict "maxUnavailable" "100%"))) }}
{{- end }}
