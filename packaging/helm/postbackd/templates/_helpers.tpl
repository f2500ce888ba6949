{{- define "postbackd.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "postbackd.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "postbackd.metadata" -}}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "postbackd.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* The configuration file: a line for each setting, and for each element of a list. */ -}}
{{- define "postbackd.configuration" -}}
listen = 0.0.0.0:8080
{{- if eq .Values.store "sqlite" }}
store = sqlite:/var/lib/postbackd
{{- end }}
{{- if not (hasKey .Values.settings "log-format") }}
log-format = json
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- range (kindIs "slice" $value | ternary $value (list $value)) }}
{{ $name }} = {{ . }}
{{- end }}
{{- end }}
{{- end }}
