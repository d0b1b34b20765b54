package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"lockstep/tests/kube/kubelet/box"
)

// volume is a volume of a pod.
type volume struct {
	name, dir string
	// show returns the files of an object that the volume shows. It is nil if the volume is for the
	// pod's own files.
	show  func() (map[string][]byte, error)
	mode  fs.FileMode
	group int // -1 means none
	// shown holds the files that are in the volume now. version is the number of their folder.
	shown   map[string][]byte
	version int
}

// mount makes a volume if it does not exist yet.
func (p *pod) mount(api *corev1.Volume) error {
	if p.volumes[api.Name] != nil {
		return nil
	}
	v := &volume{name: api.Name, dir: filepath.Join(p.dir, "volumes", api.Name), group: -1}
	if s := p.api.Spec.SecurityContext; s.FSGroup != nil {
		v.group = int(*s.FSGroup)
	}
	if err := p.find(v, api); err != nil {
		return err
	}
	if err := os.MkdirAll(v.dir, 0o755); err != nil {
		return err
	}
	if v.show != nil {
		if err := v.refresh(); err != nil {
			return err
		}
	} else if err := v.own(); err != nil {
		return err
	}
	p.volumes[api.Name] = v
	return nil
}

// find sets the source of a volume.
func (p *pod) find(v *volume, api *corev1.Volume) error {
	core := p.k.factory.Core().V1()
	switch {
	case api.EmptyDir != nil:
		if err := os.MkdirAll(v.dir, 0o777); err != nil {
			return err
		}
		return os.Chmod(v.dir, 0o777)
	case api.PersistentVolumeClaim != nil:
		claim, err := core.PersistentVolumeClaims().Lister().PersistentVolumeClaims(p.namespace).Get(api.PersistentVolumeClaim.ClaimName)
		if err != nil {
			return err
		}
		bound, err := core.PersistentVolumes().Lister().Get(claim.Spec.VolumeName)
		if err != nil {
			return err
		}
		v.dir = bound.Spec.HostPath.Path
		return nil
	case api.ConfigMap != nil:
		v.mode = fs.FileMode(*api.ConfigMap.DefaultMode)
		v.show = func() (map[string][]byte, error) {
			object, err := core.ConfigMaps().Lister().ConfigMaps(p.namespace).Get(api.ConfigMap.Name)
			if err != nil {
				return nil, err
			}
			data := maps.Clone(object.BinaryData)
			if data == nil {
				data = map[string][]byte{}
			}
			for name, text := range object.Data {
				data[name] = []byte(text)
			}
			return picked(data, api.ConfigMap.Items)
		}
		return nil
	case api.Secret != nil:
		v.mode = fs.FileMode(*api.Secret.DefaultMode)
		v.show = func() (map[string][]byte, error) {
			object, err := core.Secrets().Lister().Secrets(p.namespace).Get(api.Secret.SecretName)
			if err != nil {
				return nil, err
			}
			return picked(object.Data, api.Secret.Items)
		}
		return nil
	}
	return fmt.Errorf("volume %s is of a kind that is not known here", api.Name)
}

// picked returns the parts of an object that a volume shows, under the names that the volume gives
// them. Without items it returns all parts.
func picked(data map[string][]byte, items []corev1.KeyToPath) (map[string][]byte, error) {
	if len(items) == 0 {
		return data, nil
	}
	shown := map[string][]byte{}
	for _, item := range items {
		text, there := data[item.Key]
		if !there {
			return nil, fmt.Errorf("there is no %s in it", item.Key)
		}
		shown[item.Path] = text
	}
	return shown, nil
}

// strange returns a description of a source that this kubelet does not have, or "".
func strange(v *corev1.Volume) string {
	var items []corev1.KeyToPath
	optional := false
	switch {
	case v.EmptyDir != nil:
		if v.EmptyDir.Medium != "" {
			return "a folder in memory"
		}
	case v.PersistentVolumeClaim != nil:
		if v.PersistentVolumeClaim.ReadOnly {
			return "a claim that is read only"
		}
	case v.ConfigMap != nil:
		items, optional = v.ConfigMap.Items, v.ConfigMap.Optional != nil && *v.ConfigMap.Optional
	case v.Secret != nil:
		items, optional = v.Secret.Items, v.Secret.Optional != nil && *v.Secret.Optional
	default:
		return "a kind of its own"
	}
	if optional {
		return "an object that may be missing"
	}
	for _, item := range items {
		if item.Mode != nil || filepath.Base(item.Path) != item.Path {
			return "a part with a mode or a folder of its own"
		}
	}
	return ""
}

// own gives a writable volume to the pod's group, as the real kubelet does if the folder does not
// belong to the group already.
func (v *volume) own() error {
	info, err := os.Stat(v.dir)
	if err != nil || v.group < 0 || info.Mode()&fs.ModeSetgid != 0 {
		return err
	}
	return filepath.WalkDir(v.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o660
		if d.IsDir() {
			mode |= 0o110 | fs.ModeSetgid
		}
		return errors.Join(os.Chown(path, -1, v.group), os.Chmod(path, mode))
	})
}

// refresh updates the files from the object. The files are links into a folder that is exchanged
// atomically.
func (v *volume) refresh() error {
	if v.show == nil {
		return nil
	}
	data, err := v.show()
	if err != nil {
		if v.shown != nil {
			return nil // the object was deleted, and the files stay
		}
		return err
	}
	if v.shown != nil && maps.EqualFunc(v.shown, data, slices.Equal) {
		return nil
	}
	v.version++
	name := fmt.Sprintf("..%d", v.version)
	dir := filepath.Join(v.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for file, text := range data {
		if err := v.write(filepath.Join(dir, file), text); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join("..data", file), filepath.Join(v.dir, file)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	next := filepath.Join(v.dir, "..next")
	if err := os.Symlink(name, next); err != nil {
		return err
	}
	v.shown = data
	return os.Rename(next, filepath.Join(v.dir, "..data"))
}

// write writes a file that the pod's group may read.
func (v *volume) write(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	mode := v.mode
	if v.group >= 0 {
		mode |= 0o440
		if err := os.Chown(path, -1, v.group); err != nil {
			return err
		}
	}
	return os.Chmod(path, mode)
}

// at returns the path of a part of a volume.
func (v *volume) at(part string) (string, error) {
	return filepath.EvalSymlinks(filepath.Join(v.dir, part))
}

// makeTargets makes the files and folders on which volumes are mounted.
func makeTargets(b *box.Box) error {
	targets := b.Mounts
	for _, device := range []string{"/dev/null", "/dev/zero", "/dev/urandom"} {
		targets = append(targets, box.Mount{Source: device, Target: device})
	}
	for _, m := range targets {
		target := filepath.Join(b.Root, m.Target)
		info, err := os.Stat(m.Source)
		if err != nil {
			return err
		}
		if info.IsDir() {
			err = os.MkdirAll(target, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil {
			err = os.WriteFile(target, nil, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
