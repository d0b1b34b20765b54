// Package chart has no code of its own: its tests render the Helm chart beside
// it, without a cluster, and hold what comes out against the Kubernetes types,
// against rules, against what was rendered before (golden), and against the
// lockstepd that is to read it. It is a module of its own, so that nobody who
// builds the server needs Helm.
package chart
