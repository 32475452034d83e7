{{/* hostMounts .: what tells the GPUs of the host, read-only below /host. */}}
{{- define "metax.hostMounts" -}}
- {name: host-sys, mountPath: /host/sys, readOnly: true}
- {name: host-dev, mountPath: /host/dev, readOnly: true}
- {name: host-opt, mountPath: /host/opt, readOnly: true}
{{- end }}

{{- define "metax.hostVolumes" -}}
- {name: host-sys, hostPath: {path: {{ include "metax.host" (list . "/sys") | quote }}, type: Directory}}
- {name: host-dev, hostPath: {path: {{ include "metax.host" (list . "/dev") | quote }}, type: Directory}}
- {name: host-opt, hostPath: {path: {{ include "metax.host" (list . "/opt") | quote }}, type: DirectoryOrCreate}}
- {name: run, hostPath: {path: /run/metax-container-toolkit, type: DirectoryOrCreate}}
{{- end }}

{{/*
reader (dict "context" . "log" VALUES "slices" BOOL): the container that runs the vendor's library and mx-smi. It
is privileged, because they open the devices; so it gets no token, and answers on a socket only. With
slices, it also makes and removes slices of GPUs, and writes the CDI specs again when somebody removed them.
*/}}
{{- define "metax.reader" -}}
{{- $logDir := include "metax.logDir" . -}}
- name: health
  image: {{ include "metax.image" (dict "context" .context "image" .context.Values.gpuDevice.health.image) }}
  imagePullPolicy: {{ .context.Values.pullPolicy }}
  command: [/metax-gpu-device]
  args:
    - health
    - --root=/host
    - --socket=/run/metax-health/health.sock
    - --interval={{ .context.Values.gpuDevice.healthyInterval }}s
    {{- range .context.Values.gpuDevice.errorLevels }}
    - --error-level={{ .module }}:{{ .eid }}={{ .level }}
    {{- end }}
    {{- if .slices }}
    - --slices
    - --keep-specs
    - --engine-root={{ .context.Values.hostRoot }}
    - --hook-dir=/var/lib/metax-container-toolkit
    {{- end }}
    {{- include "metax.logFlags" . | nindent 4 }}
  securityContext:
    privileged: true
    readOnlyRootFilesystem: true
  env:
    {{- include "metax.goMemory" .context.Values.gpuDevice.health.resources | nindent 4 }}
  resources:
    {{- toYaml .context.Values.gpuDevice.health.resources | nindent 4 }}
  volumeMounts:
    {{- if and .slices (ne .context.Values.hostRoot "/") }}
    # The slices of a simulated node are files; those of a real one are made through /sys of the container.
    {{- include "metax.hostMounts" .context | replace "/host/sys, readOnly: true" "/host/sys" | nindent 4 }}
    {{- else }}
    {{- include "metax.hostMounts" .context | nindent 4 }}
    {{- end }}
    - {name: host-opt, mountPath: /opt, readOnly: true}
    {{- if .slices }}
    - {name: cdi, mountPath: /var/run/cdi}
    - {name: run, mountPath: /run/metax-container-toolkit}
    - {name: lib, mountPath: /var/lib/metax-container-toolkit}
    {{- end }}
    - {name: health, mountPath: /run/metax-health}
    - {name: tmp, mountPath: /tmp}
    {{- if $logDir }}
    - {name: log, mountPath: {{ $logDir | quote }}}
    {{- end }}
{{- end }}
