package kubelet

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// environment returns the variables of a container, or an error that names what is missing.
func (c *container) environment() ([]string, error) {
	known := map[string]string{}
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME=" + c.p.hostname(), "KUBERNETES_SERVICE_HOST=10.96.0.1", "KUBERNETES_SERVICE_PORT=443"}
	for i := range c.api.Env {
		e := &c.api.Env[i]
		value := expansion.Expand(e.Value, expansion.MappingFuncFor(known))
		if from := e.ValueFrom; from != nil {
			var err error
			if value, err = c.p.value(from); err != nil && optional(from) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.Name, err)
			}
		}
		known[e.Name] = value
		env = append(env, e.Name+"="+value)
	}
	return env, nil
}

// optional reports whether a variable may be missing because its source is missing.
func optional(from *corev1.EnvVarSource) bool {
	c, s := from.ConfigMapKeyRef, from.SecretKeyRef
	return c != nil && c.Optional != nil && *c.Optional || s != nil && s.Optional != nil && *s.Optional
}

// expand replaces the variables in arguments.
func expand(args, env []string) []string {
	known := map[string]string{}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		known[name] = value
	}
	var all []string
	for _, arg := range args {
		all = append(all, expansion.Expand(arg, expansion.MappingFuncFor(known)))
	}
	return all
}

// value returns the value of a variable from its source.
func (p *pod) value(from *corev1.EnvVarSource) (string, error) {
	core := p.k.factory.Core().V1()
	switch {
	case from.FieldRef != nil:
		return p.field(from.FieldRef.FieldPath)
	case from.ConfigMapKeyRef != nil:
		object, err := core.ConfigMaps().Lister().ConfigMaps(p.namespace).Get(from.ConfigMapKeyRef.Name)
		if err != nil {
			return "", err
		}
		if value, ok := object.Data[from.ConfigMapKeyRef.Key]; ok {
			return value, nil
		}
		return "", fmt.Errorf("the ConfigMap %s has no %s", object.Name, from.ConfigMapKeyRef.Key)
	case from.SecretKeyRef != nil:
		object, err := core.Secrets().Lister().Secrets(p.namespace).Get(from.SecretKeyRef.Name)
		if err != nil {
			return "", err
		}
		if value, ok := object.Data[from.SecretKeyRef.Key]; ok {
			return string(value), nil
		}
		return "", fmt.Errorf("the Secret %s has no %s", object.Name, from.SecretKeyRef.Key)
	}
	return "", fmt.Errorf("nobody here knows where it is from")
}

// field returns the value of a field of the pod itself.
func (p *pod) field(path string) (string, error) {
	switch path {
	case "metadata.name":
		return p.name, nil
	case "metadata.namespace":
		return p.namespace, nil
	case "metadata.uid":
		return string(p.uid), nil
	case "spec.nodeName":
		return p.node, nil
	case "status.podIP":
		return p.leg.Addr, nil
	}
	return "", fmt.Errorf("nobody here knows %s", path)
}
