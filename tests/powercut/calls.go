package powercut

import (
	"fmt"
	"strings"
)

// take applies a call of the traced process to the disk. A call that the model does not know is an
// error and never ignored. If the process was killed before a call returned, that is also an error
// if the call may have changed something.
func (d *disk) take(c call) error {
	switch c.name {
	case "open", "openat", "creat", "openat2":
		return d.opened(c)
	case "mkdir", "mkdirat":
		return d.name(c, stepMake, c.target())
	case "unlink", "unlinkat", "rmdir":
		return d.name(c, stepRemove, c.target())
	case "rename", "renameat", "renameat2":
		return d.renamed(c)
	case "fsync", "fdatasync":
		return d.synced(c)
	case "write", "pwrite64", "ftruncate", "fallocate":
		return d.content(c)
	case "mmap":
		return d.mapped(c)
	case "sync", "syncfs":
		return fmt.Errorf("%s is not in the model", c.name)
	}
	for _, a := range c.args {
		if d.has(a.path) || d.has(string(a.text)) {
			return fmt.Errorf("%s is not in the model", c.name)
		}
	}
	return nil
}

// has reports whether a path is in the disk's folder.
func (d *disk) has(path string) bool { return strings.HasPrefix(path, d.root+"/") }

// target is the path that a call about names changes.
func (c call) target() string {
	if strings.HasSuffix(c.name, "at") {
		return at(c.args[0], c.args[1])
	}
	return at(arg{}, c.args[0])
}

// done reports whether a call took place. It returns an error if that is unknown.
func (c call) done() (bool, error) {
	if !c.over {
		return false, errUndecided
	}
	return c.ret >= 0, nil
}

// errUndecided means that the process was killed within a call, so it is unknown whether the call
// took place.
var errUndecided = fmt.Errorf("killed within a call")

func (d *disk) opened(c call) error {
	var path, flags string
	switch c.name {
	case "open":
		path, flags = at(arg{}, c.args[0]), c.args[1].word
	case "openat":
		path, flags = at(c.args[0], c.args[1]), c.args[2].word
	default:
		path = at(arg{}, c.args[len(c.args)-2])
	}
	if !d.has(path) {
		return nil
	}
	if flags == "" || strings.Contains(flags, "O_SYNC") || strings.Contains(flags, "O_DSYNC") || strings.Contains(flags, "O_DIRECT|") || strings.Contains(flags, "O_APPEND") {
		return fmt.Errorf("%s of %s with %s is not in the model", c.name, path, flags)
	}
	if !strings.Contains(flags, "O_CREAT") && !strings.Contains(flags, "O_TRUNC") {
		return nil
	}
	if done, err := c.done(); !done {
		return err
	}
	f, exists := d.live[path]
	if !exists {
		d.step(step{verb: stepMake, path: path, file: &file{}, ended: c.ended})
	} else if strings.Contains(flags, "O_TRUNC") {
		f.take(change{ended: c.ended})
	}
	return nil
}

func (d *disk) step(s step) {
	d.live.take(s)
	d.steps = append(d.steps, s)
}

func (d *disk) name(c call, verb, path string) error {
	if !d.has(path) {
		return nil
	}
	done, err := c.done()
	if done {
		d.step(step{verb: verb, path: path, ended: c.ended})
	}
	return err
}

func (d *disk) renamed(c call) error {
	var from, to string
	if c.name == "rename" {
		from, to = at(arg{}, c.args[0]), at(arg{}, c.args[1])
	} else {
		from, to = at(c.args[0], c.args[1]), at(c.args[2], c.args[3])
	}
	if !d.has(from) && !d.has(to) {
		return nil
	}
	done, err := c.done()
	if done {
		d.step(step{verb: stepRename, path: from, to: to, ended: c.ended})
	}
	return err
}

// synced applies a sync. A call that did not return promises nothing. If the sync of a file failed,
// the writes that it covered are lost; if that of a folder failed, its changes stay unsynced.
func (d *disk) synced(c call) error {
	path := c.args[0].path
	if !c.over {
		return nil
	}
	if c.ret != 0 {
		if f := d.live[path]; f != nil {
			f.forget(c.began)
		}
		return nil
	}
	if path == d.root {
		d.syncFolder(c.began)
		return nil
	}
	f, known := d.live[path]
	switch {
	case !known && d.has(path) && !strings.HasSuffix(path, " (deleted)"):
		return fmt.Errorf("sync of %s, which the model does not have", path)
	case known && f == nil:
		d.syncFolder(c.began)
	case known && !d.deafFiles:
		f.sync(c.began)
	}
	return nil
}

func (d *disk) syncFolder(began int) {
	if !d.deafFolders {
		d.syncNames(began)
	}
}

// content applies writes and changes of length.
func (d *disk) content(c call) error {
	path := c.args[0].path
	if !d.has(path) || strings.HasSuffix(path, " (deleted)") {
		return nil
	}
	f := d.live[path]
	if f == nil {
		return fmt.Errorf("%s of %s, which the model does not have", c.name, path)
	}
	if done, err := c.done(); !done {
		return err
	}
	ch := change{ended: c.ended}
	switch c.name {
	case "ftruncate":
		ch.size = c.args[1].number()
	case "fallocate":
		if c.args[1].word != "0" {
			return fmt.Errorf("fallocate with mode %s is not in the model", c.args[1].word)
		}
		ch.size = max(f.length(), c.args[2].number()+c.args[3].number())
	default:
		ch.data = c.args[1].text
		if c.ret != int64(len(ch.data)) {
			return fmt.Errorf("%s wrote %d of %d bytes", path, c.ret, len(ch.data))
		}
		// A write without an offset goes to the end, because no traced code seeks.
		if c.name == "pwrite64" {
			ch.offset = c.args[3].number()
		} else {
			ch.offset = f.length()
		}
		if len(ch.data) == 0 {
			return nil
		}
	}
	f.take(ch)
	return nil
}

// mapped refuses writable mappings. bbolt reads through a mapping; if it wrote through one, the
// trace would not show that.
func (d *disk) mapped(c call) error {
	if len(c.args) < 5 || !d.has(c.args[4].path) {
		return nil
	}
	if strings.Contains(c.args[2].word, "PROT_WRITE") && strings.Contains(c.args[3].word, "MAP_SHARED") {
		return fmt.Errorf("%s is written through a mapping", c.args[4].path)
	}
	return nil
}
