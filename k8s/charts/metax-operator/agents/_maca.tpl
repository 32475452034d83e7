{{/*
maca (dict "context" . "name" NAME "family" FAMILY): the DaemonSet that installs MXMACA on nodes with GPUs of a family.
One init container runs in each payload image, but what runs is this project's program. Its mount is the last and the
deepest, because engines mount by depth: a link of the image at a mount's path could otherwise let another directory
cover the program. The controller removes the init containers of other families. The agent needs DAC_OVERRIDE for files
of any mode.
*/}}
{{- define "metax.maca" -}}
{{- $root := .context }}
{{- $values := $root.Values.maca }}
{{- $own := "/metax-container-toolkit" }}
{{- $memory := include "metax.goMemory" $values.resources | fromYamlArray }}
{{- $images := list }}
{{- range $values.payload.images }}
  {{- $images = append $images (ternary . (printf "%s/%s" ($values.payload.registry | default $root.Values.registry | trimSuffix "/") .) (regexMatch "^[^/]*[.:][^/]*/" .)) }}
{{- end }}
{{- $prepare := list "maca" "prepare" "--opt=/host/opt" (printf "--program=%s/program/bin/metax-operator" $own) }}
{{- $copies := list }}
{{- range $i, $image := $images }}
  {{- $prepare = append $prepare (printf "--image=%s" $image) }}
  {{- $copies = append $copies (dict
    "name" (printf "payload-%d" $i)
    "image" $image
    "imagePullPolicy" $root.Values.pullPolicy
    "workingDir" "/"
    "command" (list (printf "%s/program/bin/metax-operator" $own))
    "args" (list "maca" "copy" (printf "--image=%s" $image) (printf "--opt=%s/opt" $own) (printf "--dir=%s/staging/%d" $own $i) (printf "--max-gib=%v" $values.maxGiB))
    "env" (concat (list (dict "name" "GODEBUG" "value" "")) $memory)
    "securityContext" (dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL") "add" (list "DAC_READ_SEARCH")))
    "resources" $values.resources
    "volumeMounts" (list
      (dict "name" "opt" "mountPath" (printf "%s/opt" $own) "readOnly" true)
      (dict "name" "staging" "mountPath" (printf "%s/staging" $own))
      (dict "name" "program" "mountPath" (printf "%s/program/bin" $own) "readOnly" true))) }}
{{- end }}
{{- $first := dict
  "name" "prepare"
  "image" (include "metax.image" (dict "context" $root "image" $values.image) | trimAll "\"")
  "imagePullPolicy" $root.Values.pullPolicy
  "command" (list "/metax-operator")
  "args" $prepare
  "env" $memory
  "securityContext" (include "metax.locked" $root | fromYaml).securityContext
  "resources" $values.resources
  "volumeMounts" (list
    (dict "name" "reports" "mountPath" "/run/metax-container-toolkit/operator")
    (dict "name" "opt" "mountPath" "/host/opt")
    (dict "name" "program" "mountPath" (printf "%s/program/bin" $own))) }}
{{- include "metax.agent" (dict "context" $root "name" .name "command" "maca"
  "values" (merge (dict "nodeSelector" (merge (dict "metax-tech.com/gpu.family" .family) $values.nodeSelector)) $values)
  "args" (list (printf "--engine-root=%s" $root.Values.hostRoot) (printf "--cleanup-policy=%s" $values.cleanupConfig.cleanupPolicy) (printf "--threshold=%v" $values.cleanupConfig.threshold))
  "securityContext" (dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL") "add" (list "DAC_OVERRIDE")))
  "initContainers" (prepend $copies $first)
  "mounts" (list
    (dict "name" "opt" "mountPath" "/host/opt")
    (dict "name" "proc" "mountPath" "/host/proc" "readOnly" true)
    (dict "name" "cdi" "mountPath" "/var/run/cdi")
    (dict "name" "run" "mountPath" "/run/metax-container-toolkit")
    (dict "name" "lib" "mountPath" "/var/lib/metax-container-toolkit"))
  "volumes" (list
    (dict "name" "program" "emptyDir" dict)
    (dict "name" "opt" "hostPath" (dict "path" (include "metax.host" (list $root "/opt")) "type" "DirectoryOrCreate"))
    (dict "name" "staging" "hostPath" (dict "path" (include "metax.host" (list $root "/opt/.metax-maca/staging")) "type" "DirectoryOrCreate"))
    (dict "name" "proc" "hostPath" (dict "path" "/proc" "type" "Directory"))
    (dict "name" "cdi" "hostPath" (dict "path" "/var/run/cdi" "type" "DirectoryOrCreate"))
    (dict "name" "run" "hostPath" (dict "path" "/run/metax-container-toolkit" "type" "DirectoryOrCreate"))
    (dict "name" "lib" "hostPath" (dict "path" "/var/lib/metax-container-toolkit" "type" "DirectoryOrCreate")))) }}
{{- end }}
