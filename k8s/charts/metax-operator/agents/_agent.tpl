{{/*
agent (dict "context" . "name" NAME "command" COMMAND "values" VALUES "args" LIST "mounts" LIST "volumes" LIST
"updateStrategy" DICT "securityContext" DICT "initContainers" LIST "turn" LIST "nodeName" BOOL "podUID" BOOL
"hostPID" BOOL): the DaemonSet of an agent, a command of metax-operator on the nodes with a GPU. It is root on its host,
unless there is a securityContext, and has no token: what it says goes by a file to metax-gpu-label. The controller
renders the files of this directory; Helm does not. With turn, the agent first runs once with these arguments more, and
its pod is not ready before that has ended.
*/}}
{{- define "metax.agent" -}}
{{- $me := dict "context" .context "component" .name }}
{{- $log := dict "context" .context "log" .values.log }}
{{- $logDir := include "metax.logDir" $log }}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ .name }}
  namespace: {{ .context.Release.Namespace }}
  labels:
    {{- include "metax.labels" $me | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "metax.selector" $me | nindent 6 }}
  updateStrategy:
    {{- toYaml (.updateStrategy | default (dict "type" "RollingUpdate" "rollingUpdate" (dict "maxUnavailable" "10%"))) | nindent 4 }}
  template:
    metadata:
      labels:
        {{- include "metax.podLabels" $me | nindent 8 }}
    spec:
      automountServiceAccountToken: false
      {{- include "metax.placement" (dict "context" .context "component" (merge (dict "nodeSelector" (merge (dict "metax-tech.com/gpu.installed" "true") (.values.nodeSelector | default dict))) .values)) | nindent 6 }}
      {{- include "metax.podSecurity" .context | nindent 6 }}
      {{- if .hostPID }}
      hostPID: true
      {{- end }}
      {{- if or .initContainers .turn }}
      initContainers:
        {{- with .initContainers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- if .turn }}
        {{- include "metax.agentContainer" (dict "agent" . "name" "turn" "more" .turn) | nindent 8 }}
        {{- end }}
      {{- end }}
      containers:
        {{- include "metax.agentContainer" (dict "agent" . "name" .command) | nindent 8 }}
      volumes:
        - {name: reports, hostPath: {path: /run/metax-container-toolkit/operator, type: DirectoryOrCreate}}
        {{- with .volumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- if $logDir }}
        - {name: log, hostPath: {path: {{ $logDir | quote }}, type: DirectoryOrCreate}}
        {{- end }}
{{- end }}

{{/* agentContainer (dict "agent" AGENT "name" NAME "more" LIST): a container of metax.agent. */}}
{{- define "metax.agentContainer" -}}
{{- $agent := .agent }}
{{- $log := dict "context" $agent.context "log" $agent.values.log }}
{{- $logDir := include "metax.logDir" $log }}
- name: {{ .name }}
  image: {{ include "metax.image" (dict "context" $agent.context "image" $agent.values.image) }}
  imagePullPolicy: {{ $agent.context.Values.pullPolicy }}
  command: [/metax-operator]
  args:
    - {{ $agent.command }}
    - --reports-dir=/run/metax-container-toolkit/operator
    {{- range concat ($agent.args | default list) (.more | default list) }}
    - {{ . | quote }}
    {{- end }}
    {{- include "metax.logFlags" $log | nindent 4 }}
  env:
    {{- include "metax.goMemory" $agent.values.resources | nindent 4 }}
    {{- if $agent.nodeName }}
    - name: NODE_NAME
      valueFrom:
        fieldRef:
          fieldPath: spec.nodeName
    {{- end }}
    {{- if $agent.podUID }}
    - name: POD_UID
      valueFrom:
        fieldRef:
          fieldPath: metadata.uid
    {{- end }}
  securityContext:
    {{- toYaml ($agent.securityContext | default (dict "privileged" true "readOnlyRootFilesystem" true)) | nindent 4 }}
  resources:
    {{- toYaml $agent.values.resources | nindent 4 }}
  volumeMounts:
    - {name: reports, mountPath: /run/metax-container-toolkit/operator}
    {{- with $agent.mounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- if $logDir }}
    - {name: log, mountPath: {{ $logDir | quote }}}
    {{- end }}
{{- end }}
