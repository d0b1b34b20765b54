// Package kubelet runs the pods of a real Kubernetes API server as processes of this machine.
// It is the part of kubelet, container runtime, network, storage and DNS that the chart needs,
// for all nodes of a cluster at once.
//
// A container is a process in namespaces of its own (network, mounts, processes, host name).
// Its root folder holds the image, the volumes and nothing else. It runs as the user and with
// the groups of the pod, and gets the environment, configuration and secrets that the pod
// names. The kubelet runs its probes, restarts it by the pod's rule, and ends it by SIGTERM
// and, after the grace period, by SIGKILL. It reports the state to the API server, whose
// controllers and scheduler do the rest.
//
// A pod that needs something unknown here does not run, and the kubelet complains. It ignores
// in silence only limits of memory and processor time, seccomp profiles, and NetworkPolicies.
// The address of a Service is not served; its name stands for the ready pods behind it.
package kubelet
