package users

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/ground/durable"
)

// usersFile keeps, in the data folder, the users as they were last. A node serves
// clients before the meta group's log has come to it again, and must not take a
// default user without a password for the cluster's meanwhile.
const usersFile = identity.UsersFile

// keptUsers is what the file says. Passwords are in it as SHA-256 alone.
type keptUsers struct {
	Changes uint64      `json:"changes"`
	Users   []meta.User `json:"users"`
}

// remember begins with the users of the file. Where there is none, this node
// never had any: then it asks the meta group, and does not go on without an
// answer.
func (u *Users) remember(ctx context.Context) error {
	data, err := os.ReadFile(filepath.Join(u.Member.Folder.Dir(), usersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return u.ask(ctx)
	}
	var kept keptUsers
	if err == nil {
		err = json.Unmarshal(data, &kept)
	}
	if err != nil {
		return fmt.Errorf("%s, which holds the cluster's users, cannot be read: %w; without the file the node asks the others", usersFile, err)
	}
	view := &meta.View{Users: kept.Users, UserChanges: kept.Changes}
	u.now.Store(&usersAt{records: Records(view), changes: kept.Changes, pass: "\x00"})
	u.Users()
	return nil
}

// ask waits until this node has seen every user that the meta group had when it
// asked: an entry that changes nothing comes after theirs.
func (u *Users) ask(ctx context.Context) error {
	if _, err := u.Member.Meta.Do(ctx, &meta.ChangeUsers{First: true}); err != nil {
		return fmt.Errorf("the cluster's users could not be asked for: %w", err)
	}
	u.Users()
	return u.keep()
}

// keep writes the users into the file, if it says something older.
func (u *Users) keep() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.now.Load()
	if u.kept && u.keptAt == now.changes {
		return nil
	}
	k := keptUsers{Changes: now.changes}
	for _, r := range now.records {
		k.Users = append(k.Users, meta.User{Name: meta.Text(r.Name), Rules: meta.Text(r.Rules), Made: r.Made})
	}
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if err := durable.Replace(filepath.Join(u.Member.Folder.Dir(), usersFile), data, 0o600); err != nil {
		return err
	}
	u.kept, u.keptAt = true, now.changes
	return nil
}
