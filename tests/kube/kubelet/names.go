package kubelet

import (
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Domain is the end of all names of the cluster.
const Domain = "cluster.local"

// Lookup is the cluster's DNS. It returns the addresses behind SERVICE.NAMESPACE.svc.DOMAIN, and
// behind POD.SERVICE.NAMESPACE.svc.DOMAIN if the Service has no address of its own.
func (k *Kubelet) Lookup(name string) []string {
	name, ok := strings.CutSuffix(name, ".svc."+Domain)
	parts := strings.Split(name, ".")
	if !ok || len(parts) < 2 || len(parts) > 3 {
		return nil
	}
	host, service, namespace := "", parts[len(parts)-2], parts[len(parts)-1]
	if len(parts) == 3 {
		host = parts[0]
	}
	object, err := k.factory.Core().V1().Services().Lister().Services(namespace).Get(service)
	if err != nil || host != "" && object.Spec.ClusterIP != corev1.ClusterIPNone {
		return nil
	}
	all := k.Endpoints(namespace, service, host)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Endpoints returns the addresses of the ready pods of a Service. If host is set, it returns only
// the pod of that name.
func (k *Kubelet) Endpoints(namespace, service, host string) (all []string) {
	of := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service})
	slices, _ := k.factory.Discovery().V1().EndpointSlices().Lister().EndpointSlices(namespace).List(of)
	for _, slice := range slices {
		for _, e := range slice.Endpoints {
			ready := e.Conditions.Ready == nil || *e.Conditions.Ready
			if ready && (host == "" || e.Hostname != nil && *e.Hostname == host) {
				all = append(all, e.Addresses...)
			}
		}
	}
	return all
}
