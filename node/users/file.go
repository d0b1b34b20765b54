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

// usersFile keeps the last known users in the data folder. A node serves clients before it has
// received the meta group's log again. Without the file it might meanwhile take a default user
// without a password for the cluster's.
const usersFile = identity.UsersFile

// keptUsers is the content of the file. It has passwords only as SHA-256.
type keptUsers struct {
	Changes uint64      `json:"changes"`
	Users   []meta.User `json:"users"`
}

// remember starts with the users of the file. Without a file this node never had any users, and it
// asks the meta group; if no answer comes, it does not start.
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

// ask waits until this node has seen every user that the meta group had at the time of the call. It
// appends an entry that changes nothing and so comes after all of them.
func (u *Users) ask(ctx context.Context) error {
	if _, err := u.Member.Meta.Do(ctx, &meta.ChangeUsers{First: true}); err != nil {
		return fmt.Errorf("the cluster's users could not be asked for: %w", err)
	}
	u.Users()
	return u.keep()
}

// keep writes the users into the file, if the file is older.
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
