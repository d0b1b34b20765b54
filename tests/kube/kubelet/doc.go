// Package kubelet runs the pods of a real Kubernetes API server as processes of
// this machine: the part of kubelet, container runtime, network, storage and DNS that
// the chart needs, for all nodes of a cluster at once.
//
// A container is a process in namespaces of its own (network, mounts, processes, host
// name), in a root that holds the image, the volumes and nothing else, as the user and
// with the groups that the pod says. It is given the environment, configuration and
// secrets that the pod names, is asked the probes, is started anew by the pod's rule,
// and is ended by SIGTERM and, after the grace period, by SIGKILL. What became of it
// is told to the API server, whose controllers and scheduler do the rest.
//
// A pod that wants what is not known here does not run, and is complained of: nothing
// is left out in silence but limits of memory and processor time, seccomp profiles,
// and NetworkPolicies. The address of a Service is not served; its name stands for the
// pods behind it that are ready.
package kubelet
