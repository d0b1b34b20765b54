// Package kube uses helm to install the chart into a Kubernetes cluster. Everything but the
// machines is real. API server, controllers and scheduler are built from the module that Kubernetes
// publishes, and etcd is real, too. Package kubelet plays the nodes, and starts the containers of
// the pods as processes of this machine. So the real controllers found, probe, roll, scale, evict
// and remove the real programs, while clients write.
//
// It is a module of its own because Kubernetes has many dependencies: the first build takes ten
// minutes and two gigabytes. `make kube` runs it. It needs root and iproute2.
package kube
