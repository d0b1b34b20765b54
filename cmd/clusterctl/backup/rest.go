package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"lockstep/engine/acl"
	users "lockstep/proto/acl"
)

// rest reads and checks the files that do not belong to a shard.
func (m *Manifest) rest(ctx context.Context, from Source, told func(int64)) (all []users.Record, settings map[string]string, err error) {
	err = m.Users.check(ctx, from, told, func(in io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(in, users.FileBytesMax+1))
		if err == nil {
			all, err = users.Parse(strings.Split(string(text), "\n"), users.Options{})
		}
		return err
	})
	if err == nil {
		err = m.Settings.check(ctx, from, told, func(in io.Reader) error { return json.NewDecoder(in).Decode(&settings) })
	}
	return all, settings, err
}

// RestoreSettings sets the settings of a backup, and returns their names.
func RestoreSettings(ctx context.Context, t *Target, m *Manifest, from Source) ([]string, error) {
	_, settings, err := m.rest(ctx, from, nil)
	if err != nil {
		return nil, err
	}
	c := t.Dial(0)
	defer c.Close()
	names := slices.Sorted(maps.Keys(settings))
	for _, name := range names {
		if err := c.ConfigSet(ctx, name, settings[name]).Err(); err != nil {
			return nil, fmt.Errorf("setting %s: %w", name, err)
		}
	}
	return names, nil
}

// Users lists what happened to the users of a backup.
type Users struct {
	Set []string `json:"set"`
	// Kept are users that the cluster had with other rules. They were not changed.
	Kept []string `json:"kept"`
}

// RestoreUsers makes the users of a backup. It does not change users that the cluster
// has, unless replace is given. The default user comes last: after that the caller's
// password may no longer be valid.
func RestoreUsers(ctx context.Context, t *Target, m *Manifest, from Source, replace bool) (*Users, error) {
	all, _, err := m.rest(ctx, from, nil)
	if err != nil {
		return nil, err
	}
	done := &Users{}
	c := t.Dial(0)
	defer c.Close()
	conn := c.Conn()
	defer conn.Close()
	have, err := rulesOf(ctx, conn)
	if err != nil || len(all) == 0 {
		return done, err
	}
	slices.SortFunc(all, func(a, b users.Record) int {
		switch {
		case a.Name == b.Name:
			return 0
		case a.Name == users.Default:
			return 1
		case b.Name == users.Default:
			return -1
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, r := range all {
		rules, there := have[r.Name]
		untouched := r.Name == users.Default && rules == acl.DefaultRules
		switch {
		case there && rules == r.Rules:
			continue
		case there && !untouched && !replace:
			done.Kept = append(done.Kept, r.Name)
			continue
		}
		if err := setUser(ctx, conn, r); err != nil {
			return done, fmt.Errorf("user %s: %w", r.Name, err)
		}
		done.Set = append(done.Set, r.Name)
	}
	return done, nil
}

// rulesOf are the rules of the cluster's users by name.
func rulesOf(ctx context.Context, conn *redis.Conn) (map[string]string, error) {
	lines, err := conn.Do(ctx, "ACL", "LIST").StringSlice()
	if err != nil {
		return nil, err
	}
	rules := map[string]string{}
	for _, line := range lines {
		words := strings.SplitN(line, " ", 3)
		if len(words) < 2 || words[0] != "user" {
			return nil, errors.New("a node's answer to ACL LIST makes no sense")
		}
		rules[words[1]] = strings.Join(words[2:], " ")
	}
	return rules, nil
}

func setUser(ctx context.Context, conn *redis.Conn, r users.Record) error {
	// This does the same as reset, but without the word sanitize-payload, which reset leaves
	// behind.
	args := []any{"ACL", "SETUSER", r.Name, "off", "resetpass", "resetkeys", "resetchannels", "-@all", "clearselectors"}
	for _, rule := range acl.Fields(r.Rules) {
		args = append(args, rule)
	}
	return conn.Do(ctx, args...).Err()
}
