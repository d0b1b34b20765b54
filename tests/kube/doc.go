// Package kube installs the Helm chart, by helm itself, into a Kubernetes cluster that
// is real but for its machines: API server, controllers and scheduler are those that
// Kubernetes publishes, built from its module, and so is etcd; kubelet, which plays the
// nodes, starts what the pods say as processes of this machine. So the real programs
// are founded, probed, rolled, scaled, evicted and removed by the real controllers,
// while clients write.
//
// It is a module of its own, for Kubernetes' dependencies are many: to build it for the
// first time takes ten minutes and two gigabytes. `make kube` runs it. It takes root
// and iproute2.
package kube
