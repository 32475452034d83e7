{{/* vendorOnly .: the paths of values of the vendor's chart that are set and have no effect; one that asks for something is refused. */}}
{{- define "metax.vendorOnly" -}}
{{- $root := . -}}
{{- $idle := list -}}
{{- range $path, $entry := .Files.Get "vendor.yaml" | fromYaml -}}
{{- $at := $root.Values -}}
{{- range splitList "." $path -}}
{{- $at = kindIs "map" $at | ternary (get ($at | default dict) .) nil -}}
{{- end -}}
{{- if not (or (kindIs "invalid" $at) (eq (toString $at) "")) -}}
{{- if ne (toJson $at) (toJson $entry.default) -}}
{{- fail (printf "%s: %s; leave it out" $path $entry.reason) -}}
{{- end -}}
{{- $idle = append $idle $path -}}
{{- end -}}
{{- end -}}
{{- join ", " $idle -}}
{{- end }}
