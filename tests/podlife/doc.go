// Package podlife plays the life of the chart's StatefulSet with real processes.
//
// It runs what is deployed: the command line, environment, lockstep.conf, probes, grace period and
// the scale-down Job come from the rendered chart (deploy/k8s/test/golden; a test here checks that
// this is still the chart). The rest is the minimum of a cluster:
//
//   - A pod is a process in a network namespace, as user 10060, in a root of its
//     own in which it can write only to its own folders. Each time it is made it
//     has another address, as in a cluster.
//   - One bridge joins the pods. A name server of ours answers for the names of
//     the existing pods, for the headless Service and, with the pods that are
//     ready, for the Service for clients.
//   - The test is the kubelet (probes, restarts, SIGTERM and the grace period), the
//     StatefulSet's controller, and Helm (the hook before an upgrade).
//
// Clients append numbers to lists without a pause: each acknowledged number must be there once, and
// each without an answer at most once.
//
// The tests need root and iproute2; otherwise they are skipped. There is no container runtime,
// scheduler or API server in them.
package podlife
