// Package podlife plays the life of the chart's StatefulSet with real processes.
//
// What runs is what is deployed: the command line, environment, lockstep.conf,
// probes, grace period and the scale-down Job are read from the rendered chart
// (deploy/k8s/test/golden, of which a test here says whether it is still that of
// the chart). Around it stands the least that a cluster has to be:
//
//   - a pod is a process in a network namespace, in a root of its own that only
//     its own folders of can be written, as user 10060; each time it is made it
//     has another address, as in a cluster;
//   - one bridge joins them, and a name server of ours answers for the names of
//     the pods that exist, of the headless Service, and, with the pods that are
//     ready, of the Service for clients;
//   - the test is kubelet (probes, restarts, SIGTERM and the grace period), the
//     StatefulSet's controller, and Helm (the hook before an upgrade).
//
// Clients append numbers to lists without a rest: each that was acknowledged must
// be there once, each whose answer did not come at most once.
//
// It takes root and iproute2; without them the tests are skipped. There is no
// container runtime, scheduler or API server in it.
package podlife
