package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"lockstep/cmd/clusterctl/backup"
)

// restoring are the flags of restore.
type restoring struct {
	loading
	from                string
	noUsers, noSettings bool
	bucket              backup.BucketOptions
}

func newRestore(opt *options) *cobra.Command {
	var r restoring
	cmd := &cobra.Command{
		Use:   "restore [FOLDER | s3://BUCKET/PREFIX]",
		Short: "Load a backup into a new cluster",
		Long: `Load a backup into a new, empty cluster, of any number of shards. clusterctl first
checks the whole backup. Keys keep the time at which they expire; keys that have
expired meanwhile are left out. At the end clusterctl compares the cluster with
the backup.

It sets the settings before it loads the keys. It makes the users after the
comparison, the default user last. It does not change users that the cluster
already has, unless you give --force.

To continue a restore that broke off, give the same command again.

  clusterctl restore --from /backups/monday -a new-cluster:6379`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.from == "" && len(args) == 1 {
				r.from, args = args[0], nil
			}
			if r.from == "" || len(args) > 0 {
				return errors.New("name the backup: FOLDER or s3://BUCKET/PREFIX")
			}
			from, err := backup.OpenStore(r.from, &r.bucket)
			if err != nil {
				return err
			}
			return r.restore(cmd, opt, from)
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.from, "from", "", "folder or s3:// address of the backup")
	f.BoolVar(&r.noUsers, "no-users", false, "do not restore the users")
	f.BoolVar(&r.noSettings, "no-settings", false, "do not restore the settings")
	r.flags(cmd)
	bucketFlags(f, &r.bucket)
	return cmd
}

func (r *restoring) restore(cmd *cobra.Command, opt *options, from backup.Source) error {
	b := newBar(cmd, "checking", true)
	m, err := backup.Verify(cmd.Context(), from, b.tell)
	b.end()
	if err != nil {
		return refused{fmt.Errorf("nothing was done: %w", err)}
	}
	t, err := opt.target(cmd.Context())
	if err != nil {
		return err
	}
	mark := backup.MarkOf(m, from)
	ctx, l, err := r.markTarget(cmd, t, &mark)
	if err != nil {
		return err
	}
	defer mark.Abandon(t)
	if !r.noSettings {
		if l.Settings, err = backup.RestoreSettings(ctx, t, m, from); err != nil {
			return uncertain{fmt.Errorf("no keys were loaded: %w; --no-settings leaves settings out", err)}
		}
	}
	if err := r.load(ctx, cmd, t, from, m.Files(), &mark, l); err != nil {
		return err
	}
	// This comes before the users: once the default user is back, this program may have no access.
	if err := endLoading(cmd, t, &mark); err != nil {
		return err
	}
	if !r.noUsers {
		if l.Users, err = backup.RestoreUsers(cmd.Context(), t, m, from, r.force); err != nil {
			return uncertain{fmt.Errorf("all keys were loaded, but not all users are back: %w; %s of the backup has them", err, backup.UsersFile)}
		}
	}
	return opt.printLoaded(cmd, l)
}
