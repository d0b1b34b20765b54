package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockstep/cmd/clusterctl/backup"
)

// target is the first node that answers.
func (o *options) target(ctx context.Context) (*backup.Target, error) {
	addr, err := o.answering(ctx)
	if err != nil {
		return nil, err
	}
	return &backup.Target{Addr: addr, User: o.user, Password: o.password, TLS: o.secure.config, Timeout: o.timeout}, nil
}

// bucketFlags are the flags for S3-compatible storage.
func bucketFlags(f *pflag.FlagSet, b *backup.BucketOptions) {
	f.StringVar(&b.Endpoint, "s3-endpoint", "", "URL of the storage for s3:// (or from AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; default: Amazon's)")
	f.StringVar(&b.Region, "s3-region", "", "region of the storage (or from AWS_REGION, AWS_DEFAULT_REGION)")
	f.StringVar(&b.AccessKey, "s3-access-key", "", "access key for the storage (or from AWS_ACCESS_KEY_ID, or the files or the role that Amazon's tools use)")
	f.StringVar(&b.SecretKey, "s3-secret-key", "", "secret key for the storage (or from AWS_SECRET_ACCESS_KEY, which other users of this machine cannot see)")
	f.IntVar(&b.PartMB, "s3-part-mb", 16, "size of an upload's parts, in MB; the file of a shard has at most 10000, and one of each file is in memory")
}

func newBackup(opt *options) *cobra.Command {
	var to, verify string
	var keep int
	var bucket backup.BucketOptions
	cmd := &cobra.Command{
		Use:   "backup [FOLDER | s3://BUCKET/PREFIX]",
		Short: "Write a consistent backup of the whole cluster",
		Long: `Write a consistent backup of the whole cluster into a folder or into S3-compatible
storage: an RDB file of each shard (redis-server can load it, too), the users, the
settings, and a manifest with counts and checksums. The backup has every write
that was acknowledged before it began. Clients go on writing meanwhile. Before the
backup counts, clusterctl reads back what it wrote.

  clusterctl backup --to /backups/monday
  clusterctl backup s3://backups/cluster/monday
  clusterctl backup --verify /backups/monday
  clusterctl backup /backups/$(date +%F) --keep 14

With --keep, clusterctl then deletes the oldest backups of this cluster beside the
new one, until that many are left. It counts and deletes only backups of this
cluster that have all their files and no other file.

The target must be empty or not exist. Without a ` + backup.ManifestName + ` a folder is no backup.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" && len(args) == 1 {
				to, args = args[0], nil
			}
			if (to == "") == (verify == "") || len(args) > 0 {
				return errors.New("name the target, FOLDER or s3://BUCKET/PREFIX; or --verify and the backup to check")
			}
			if keep < 0 || keep > 0 && verify != "" {
				return errors.New("--keep is the number of backups to keep when one has been made; 0 keeps all")
			}
			store, err := backup.OpenStore(to+verify, &bucket)
			if err != nil {
				return err
			}
			if verify != "" {
				return opt.verifyBackup(cmd, store)
			}
			return opt.makeBackup(cmd, store, keep)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "folder or s3:// address to write to")
	cmd.Flags().IntVar(&keep, "keep", 0, "number of backups of this cluster to keep there, including the new one; 0 keeps all")
	cmd.Flags().StringVar(&verify, "verify", "", "folder or s3:// address of a backup to check, without the cluster")
	bucketFlags(cmd.Flags(), &bucket)
	return cmd
}

// backedUp is what backup prints.
type backedUp struct {
	*backup.Manifest
	Older *backup.Pruned `json:"older,omitempty"`
}

func (o *options) makeBackup(cmd *cobra.Command, to backup.Store, keep int) error {
	t, err := o.target(cmd.Context())
	if err != nil {
		return err
	}
	c := t.Dial(0)
	defer c.Close()
	// Check early, if this node can tell: Fetch refuses a backup that holds the mark.
	mark, err := backup.Marked(cmd.Context(), c)
	if err != nil && !redis.HasErrorPrefix(err, "MOVED") {
		return refused{fmt.Errorf("no backup was made: %w", err)}
	}
	if mark != nil {
		return refused{fmt.Errorf("no backup was made: the cluster does not hold all of %s, which is being loaded or broke off (key %s)", mark.What, backup.MarkKey)}
	}
	writing, checking := newBar(cmd, "keys", false), newBar(cmd, "checking", true)
	m, err := backup.Fetch(cmd.Context(), t, to, writing.tell, checking.tell)
	writing.end()
	checking.end()
	if err != nil {
		return refused{fmt.Errorf("no backup was made: %w", err)}
	}
	if err := backup.Note(cmd.Context(), c, m); err != nil {
		fmt.Fprintln(stderr(cmd), "the backup could not be noted in the cluster, which shows an older one as its newest:", err)
	}
	made := backedUp{Manifest: m}
	if keep > 0 {
		made.Older, err = backup.Prune(cmd.Context(), to, m, keep)
	}
	if err := o.print(cmd, made, func() { printBackup(cmd, "written to "+to.String(), m); printOlder(cmd, made.Older) }); err != nil {
		return err
	}
	if err != nil {
		return uncertain{fmt.Errorf("the backup was made and is whole, but not all older ones could be deleted: %w", err)}
	}
	return nil
}

func printOlder(cmd *cobra.Command, older *backup.Pruned) {
	if older == nil {
		return
	}
	for _, place := range older.Deleted {
		fmt.Fprintln(cmd.OutOrStdout(), "deleted the older", place)
	}
	for _, place := range older.Damaged {
		fmt.Fprintf(cmd.OutOrStdout(), "%s lacks a file, or has a file that does not belong to it: it was kept, and does not count\n", place)
	}
	for _, place := range older.Closed {
		fmt.Fprintf(cmd.OutOrStdout(), "%s cannot be read for lack of permission: it was kept, and does not count\n", place)
	}
}

func (o *options) verifyBackup(cmd *cobra.Command, from backup.Source) error {
	b := newBar(cmd, "checking", true)
	m, err := backup.Verify(cmd.Context(), from, b.tell)
	b.end()
	if err != nil {
		return err
	}
	return o.print(cmd, m, func() { printBackup(cmd, "whole: "+from.String(), m) })
}

func printBackup(cmd *cobra.Command, what string, m *backup.Manifest) {
	files := m.Files()
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s in %s, %s\n", what, &m.Total, counted(len(files.Names), "file"), sizeText(files.Bytes))
}

// loading are the flags of verbs that bring files into a cluster.
type loading struct {
	rate, workers int
	force         bool
}

func (l *loading) flags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&l.rate, "rate", 0, "most keys a second; 0 sends as fast as the cluster takes them")
	cmd.Flags().IntVar(&l.workers, "workers", 4, "number of batches at a time")
	cmd.Flags().BoolVar(&l.force, "force", false, "load into a cluster that is not empty: keys of the same name are replaced, others stay")
}

// loaded is what a verb that brings files into a cluster prints.
type loaded struct {
	*backup.Tally
	// Resumed is true if an interrupted load was continued. Compared is true if the cluster holds
	// exactly what the files hold.
	Resumed  bool          `json:"resumed"`
	Compared bool          `json:"compared"`
	Settings []string      `json:"settings,omitempty"`
	Users    *backup.Users `json:"users,omitempty"`
}

// markTarget marks the cluster, which must be empty or hold the beginning of the same
// load. The caller does the rest under the context that markTarget returns.
func (l *loading) markTarget(cmd *cobra.Command, t *backup.Target, mark *backup.Mark) (context.Context, *loaded, error) {
	ctx, resumed, err := mark.Start(cmd.Context(), t, l.force)
	if err != nil {
		return nil, nil, refused{fmt.Errorf("nothing was done: %w", err)}
	}
	if resumed {
		fmt.Fprintf(stderr(cmd), "this cluster has the beginning of %s; continuing\n", mark.What)
	}
	return ctx, &loaded{Resumed: resumed}, nil
}

// load brings files into a cluster and compares, if it was empty.
func (l *loading) load(ctx context.Context, cmd *cobra.Command, t *backup.Target, from backup.Source, files *backup.Files, mark *backup.Mark, into *loaded) error {
	b := newBar(cmd, "loading", true)
	err := backup.Load(ctx, &backup.LoadOptions{
		Target: *t, KeysPerSec: l.rate, Workers: l.workers, Patience: loadPatience, Progress: b.tell,
	}, from, files)
	b.end()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && cmd.Context().Err() == nil {
			err = cause
		}
		hint := "the same command continues it"
		if !mark.IntoEmpty {
			hint = "the same command starts it again"
		}
		return uncertain{fmt.Errorf("not all was loaded: %w; %s", err, hint)}
	}
	if !mark.IntoEmpty {
		return nil
	}
	if into.Tally, err = backup.Compare(ctx, t, from, files); err != nil {
		return uncertain{err}
	}
	into.Compared = true
	return nil
}

// endLoading removes the mark.
func endLoading(cmd *cobra.Command, t *backup.Target, mark *backup.Mark) error {
	if err := mark.End(cmd.Context(), t); err != nil {
		return uncertain{fmt.Errorf("all was loaded, but the key %s could not be deleted: %w", backup.MarkKey, err)}
	}
	return nil
}

func (o *options) printLoaded(cmd *cobra.Command, l *loaded) error {
	return o.print(cmd, l, func() {
		out := cmd.OutOrStdout()
		if l.Compared {
			fmt.Fprintf(out, "all was loaded and compared: %s, digest %.16s\n", l.Tally, l.Digest)
		} else {
			fmt.Fprintln(out, "all was loaded; the cluster was not empty before, so the two were not compared")
		}
		if len(l.Settings) > 0 {
			fmt.Fprintf(out, "settings put into force: %s\n", strings.Join(l.Settings, ", "))
		}
		if l.Users != nil && len(l.Users.Set) > 0 {
			fmt.Fprintf(out, "users put back, with their passwords: %s\n", strings.Join(l.Users.Set, ", "))
		}
		if l.Users != nil && len(l.Users.Kept) > 0 {
			fmt.Fprintf(out, "users that the cluster had before, and that are as they were: %s\n", strings.Join(l.Users.Kept, ", "))
		}
	})
}
