{{/* The name that all objects begin with; 40 characters leave room for suffixes and ordinals.
     A Service's begins with a letter: releases that do not have the chart's name in front. */}}
{{- define "lockstep.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if not (regexMatch "^[a-z]" .Release.Name) -}}
{{- printf "%s-%s" $name .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" (.Release.Name | trunc (int (sub 39 (len $name))) | trimSuffix "-") $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "lockstep.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | quote }}
app.kubernetes.io/instance: {{ .Release.Name | trunc 63 | quote }}
{{- end -}}

{{/* The labels of the nodes' pods alone; jobs have another component. */}}
{{- define "lockstep.nodeSelector" -}}
{{ include "lockstep.selector" . }}
app.kubernetes.io/component: "node"
{{- end -}}

{{- define "lockstep.labels" -}}
{{ include "lockstep.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- range $k, $v := .Values.commonLabels }}
{{ $k }}: {{ $v | quote }}
{{- end }}
{{- end -}}

{{- define "lockstep.headless" -}}{{ include "lockstep.fullname" . }}-nodes{{- end -}}
{{- define "lockstep.domain" -}}{{ include "lockstep.headless" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}{{- end -}}
{{- define "lockstep.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}{{ default (include "lockstep.fullname" .) .Values.serviceAccount.name }}{{- else -}}{{ default "default" .Values.serviceAccount.name }}{{- end -}}
{{- end -}}
{{- define "lockstep.secret" -}}{{ default (printf "%s-auth" (include "lockstep.fullname" .)) .Values.auth.existingSecret }}{{- end -}}
{{- define "lockstep.clusterSecret" -}}{{ default (printf "%s-peers" (include "lockstep.fullname" .)) .Values.clusterSecret.existingSecret }}{{- end -}}
{{- define "lockstep.tlsSecret" -}}{{ default (printf "%s-tls" (include "lockstep.fullname" .)) .Values.tls.existingSecret }}{{- end -}}
{{- define "lockstep.image" -}}
{{- $repo := .Values.image.repository -}}
{{- if .Values.image.registry }}{{ $repo = printf "%s/%s" .Values.image.registry $repo }}{{ end -}}
{{- if .Values.image.digest }}{{ printf "%s@%s" $repo .Values.image.digest }}{{ else }}{{ printf "%s:%s" $repo (default .Chart.AppVersion .Values.image.tag) }}{{ end -}}
{{- end -}}

{{/* Directives that the chart sets itself; include is its word for existingConfigMap. */}}
{{- define "lockstep.ownDirectives" -}}
port peer-port cluster-port admin-port bind dir join bootstrap bootstrap-expect replace rejoin node-name peer-address requirepass cluster-secret cluster-secret-file protected-mode cluster-announce-ip cluster-announce-hostname cluster-announce-port cluster-announce-tls-port cluster-announce-bus-port cluster-preferred-endpoint-type learner tls-port tls-cluster tls-replication tls-admin tls-cert-file tls-key-file tls-ca-cert-file tls-auth-clients tls-peer-name logfile include
{{- if .Values.auth.usersSecret }} aclfile{{ end }}
{{- end -}}

{{/* Refuses a directive that the chart sets itself, in any case of letters, as lockstepd reads
     names. Given are the values' root, the directive's name, and where it stands. */}}
{{- define "lockstep.refuseOwn" -}}
{{- if has (lower .name) (splitList " " (include "lockstep.ownDirectives" .root | trim)) }}
{{- fail (printf "%s is set by the chart itself%s" .where (ternary " (auth.usersSecret)" "" (eq (lower .name) "aclfile"))) }}
{{- end }}
{{- end -}}

{{/* lockstep.conf */}}
{{- define "lockstep.conf" -}}
{{- if .Values.existingConfigMap }}
{{- print "# Of the ConfigMap " .Values.existingConfigMap ":\n" }}
{{- print "include /etc/lockstep/existing/*.conf\n" }}
{{- end -}}
bind *
{{- if .Values.tls.enabled }}
port 0
tls-port 6379
tls-cluster yes
tls-cert-file /etc/lockstep/tls/tls.crt
tls-key-file /etc/lockstep/tls/tls.key
tls-ca-cert-file /etc/lockstep/tls/ca.crt
tls-auth-clients {{ .Values.tls.authClients }}
{{- if .Values.tls.admin }}
tls-admin yes
{{- end }}
tls-peer-name {{ include "lockstep.domain" . }}
{{- else }}
port 6379
{{- end }}
peer-port 16379
admin-port 8080
dir /data
protected-mode no
cluster-secret-file /etc/lockstep/secret/cluster-secret
join {{ include "lockstep.domain" . }}:16379
replace yes
rejoin yes
cluster-preferred-endpoint-type hostname
shutdown-delay-ms 5000
{{- if .Values.auth.usersSecret }}
aclfile /etc/lockstep/users/users.acl
{{- end }}
{{- range $k, $v := .Values.config }}
{{- include "lockstep.refuseOwn" (dict "root" $ "name" $k "where" (print "config." $k)) }}
{{- if or (contains "\n" (toString $v)) (contains "\n" $k) }}{{ fail (printf "config.%s has more than one line" $k) }}{{ end }}
{{ $k }} {{ if and (kindIs "float64" $v) (eq (float64 (int64 $v)) $v) }}{{ int64 $v }}{{ else if kindIs "bool" $v }}{{ ternary "yes" "no" $v }}{{ else if eq (toString $v) "" }}""{{ else }}{{ $v }}{{ end }}
{{- end }}
{{- range $line := splitList "\n" (.Values.extraConfig | trim) }}
{{- $word := regexFind "^[^ \t]+" (trim $line) | lower | replace "\"" "" | replace "'" "" }}
{{- include "lockstep.refuseOwn" (dict "root" $ "name" $word "where" (print "extraConfig: " $word)) }}
{{- if $line }}
{{ $line }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What is given to lockstepd beside its file must leave alone what the chart sets. */}}
{{- define "lockstep.checkExtras" -}}
{{- range .Values.extraArgs }}
{{- $name := regexReplaceAll "^--([^= ]*).*$" (toString .) "${1}" | lower }}
{{- if hasPrefix "--" (toString .) }}
{{- include "lockstep.refuseOwn" (dict "root" $ "name" $name "where" (print "extraArgs: --" $name)) }}
{{- end }}
{{- end }}
{{- range .Values.extraEnv }}
{{- $name := .name | trimPrefix "LOCKSTEP_" | lower | replace "_" "-" }}
{{- if hasPrefix "LOCKSTEP_" .name }}
{{- include "lockstep.refuseOwn" (dict "root" $ "name" $name "where" (print "extraEnv: " .name)) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* How clusterctl reaches any node. */}}
{{- define "lockstep.ctlFlags" -}}
--addr {{ printf "%s.%s.svc.%s:%d" (include "lockstep.fullname" .) .Release.Namespace .Values.clusterDomain (int .Values.service.port) }}
{{- if .Values.tls.enabled }} --tls --cacert /etc/lockstep/tls/ca.crt --cert /etc/lockstep/tls/tls.crt --key /etc/lockstep/tls/tls.key{{ end }}
{{- end -}}
{{/* The same, as arguments of a container. */}}
{{- define "lockstep.ctlArgs" -}}
{{- range splitList " " (include "lockstep.ctlFlags" .) }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "lockstep.ctlEnv" -}}
{{- if .Values.auth.enabled }}
- name: LOCKSTEP_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ include "lockstep.secret" . | quote }}
      key: {{ .Values.auth.passwordKey | quote }}
      # The Job before the upgrade that turns passwords on runs before there is one.
      optional: true
{{- end }}
{{- with .Values.jobs.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "lockstep.jobLabels" -}}
{{ include "lockstep.labels" . }}
app.kubernetes.io/component: "job"
{{- range $k, $v := .Values.jobs.podLabels }}
{{ $k }}: {{ $v | quote }}
{{- end }}
{{- end -}}
{{- define "lockstep.jobAnnotations" -}}
{{- range $k, $v := .Values.jobs.podAnnotations }}
{{ $k }}: {{ $v | quote }}
{{- end }}
{{- end -}}

{{/* What a pod that runs clusterctl has beside its container. */}}
{{- define "lockstep.ctlPod" -}}
restartPolicy: Never
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "lockstep.tlsMount" -}}
{{- if .Values.tls.enabled }}
- name: tls
  mountPath: /etc/lockstep/tls
  readOnly: true
{{- end }}
{{- end -}}
{{- define "lockstep.tlsVolume" -}}
{{- if .Values.tls.enabled }}
- name: tls
  secret:
    secretName: {{ include "lockstep.tlsSecret" . | quote }}
    defaultMode: 0440
{{- end }}
{{- end -}}
{{/* What clusterctl's pods mount beside their folder for temporary files. */}}
{{- define "lockstep.jobMounts" -}}
{{ include "lockstep.tlsMount" . }}
{{- with .Values.jobs.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- define "lockstep.jobVolumes" -}}
{{ include "lockstep.tlsVolume" . }}
{{- with .Values.jobs.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
