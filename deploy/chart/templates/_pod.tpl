{{- define "muster.labels" -}}
{app.kubernetes.io/name: muster, app.kubernetes.io/instance: {{ .Release.Name | quote }}}
{{- end -}}

{{- define "muster.container" -}}
image: {{ required "image: name the image of muster that your nodes can pull" .Values.image | quote }}
workingDir: /var/lib/muster
env:
- {name: MUSTER_REMOTE, value: {{ required "remote: name the repository of your fleet" .Values.remote | quote }}}
- {name: MUSTER_CACHE_DIR, value: /var/lib/muster/cache}
- {name: GIT_TERMINAL_PROMPT, value: "0"}
- {name: GIT_CONFIG_COUNT, value: "1"}
- {name: GIT_CONFIG_KEY_0, value: credential.helper}
- name: GIT_CONFIG_VALUE_0
  value: '!f() { test "$1" != get || git credential-store --file=/run/secrets/git/credentials get; }; f'
{{- with .Values.environmentSecret }}
envFrom:
- secretRef: {name: {{ . | quote }}}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources: {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
- {name: fleet, mountPath: /var/lib/muster}
- {name: tmp, mountPath: /tmp}
- {name: git, mountPath: /run/secrets/git, readOnly: true}
{{- end -}}

{{- define "muster.pod" -}}
metadata:
  labels: {{ include "muster.labels" . }}
spec:
  {{- with .Values.pod }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  serviceAccountName: {{ .Release.Name | quote }}
  automountServiceAccountToken: false
  restartPolicy: {{ eq .Values.mode "watch" | ternary "Always" "Never" }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile: {type: RuntimeDefault}
  initContainers:
  - name: clone
    command: [/bin/sh, -c, 'test -d fleet/.git || exec git clone --quiet -- "$MUSTER_REMOTE" fleet']
    {{- include "muster.container" . | nindent 4 }}
  containers:
  - name: muster
    args:
    - {{ .Values.mode }}
    - --repo=fleet
    - --push
    {{- if eq .Values.mode "watch" }}
    - --serve=0.0.0.0:8080
    - --serve-token=/run/secrets/page/token
    {{- end }}
    {{- range .Values.args }}
    - {{ . | quote }}
    {{- end }}
    {{- include "muster.container" . | nindent 4 }}
    {{- if eq .Values.mode "watch" }}
    - {name: page, mountPath: /run/secrets/page, readOnly: true}
    ports:
    - {name: page, containerPort: 8080}
    # The first run of a large fleet is slow: do not restart it.
    startupProbe:
      httpGet: {path: /healthz, port: page}
      periodSeconds: 5
      failureThreshold: 120
    livenessProbe:
      httpGet: {path: /healthz, port: page}
      periodSeconds: 30
      timeoutSeconds: 5
    readinessProbe:
      httpGet: {path: /readyz, port: page}
    {{- end }}
  volumes:
  - name: fleet
    persistentVolumeClaim: {claimName: {{ .Release.Name | quote }}}
  - name: tmp
    emptyDir: {sizeLimit: 1Gi}
  - name: git
    secret: {secretName: {{ .Values.gitSecret | quote }}, defaultMode: 0440}
  {{- if eq .Values.mode "watch" }}
  - name: page
    secret: {secretName: {{ .Values.pageSecret | quote }}, defaultMode: 0440}
  {{- end }}
{{- end -}}
